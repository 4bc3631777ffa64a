"""The paper's statements on estimates: each has a verdict if its logs are at hand."""

from dataclasses import replace

from experiments.estimates.claims import claims
from experiments.estimates.own import own_section
from experiments.estimates.results import DOUBLED, EXACT, USERS, LogRun, Options, Results, uniform
from experiments.framework.logs import find_logs
from experiments.published import FACTORS


def test_statements_have_verdicts_where_their_logs_are_at_hand(study):
    found = claims(study)
    assert all(claim.here for claim in found)
    assert sum("Table 4" in claim.text for claim in found) == 2
    assert all(claim.holds is None for claim in found if "each" in claim.text)  # a month is no interval
    nothing = claims(Results(Options(), [], []))
    assert all(claim.holds is None for claim in nothing)


def test_counts_of_another_version_of_a_log_are_not_judged(study):
    (found,) = [claim for claim in claims(study) if "the counts of KTH" in claim.text]
    assert (found.holds, found.verdict) == (None, "not judged")
    assert "of 7" in found.here


def same_under_all_estimates(log, response, lost=0.0):
    means = {"response": response, "slowdown": 1.0, "sums": {"response": [9 * response] * 4, "slowdown": [9.0] * 4}}
    result = {"jobs": 36, "easy": means, "conservative": means, "run_time_lost": lost}
    runs = [LogRun(log, "simulation", terms) for terms in (EXACT, USERS, DOUBLED, *map(uniform, FACTORS))]
    return Results(Options(), runs, [result] * len(runs))


def test_jobs_that_take_no_time_and_never_wait_leave_no_change_in_per_cent(made_logs):
    """A user's own log may consist of such jobs: their mean response time is 0 under all estimates."""
    (log,) = (one for one in find_logs(made_logs)[0] if one.source.trace == "KTH")
    own = replace(log, own=True)
    study = same_under_all_estimates(own, response=0.0)
    assert study.change(own, "easy", "response", EXACT, USERS) is None
    assert study.change(own, "easy", "slowdown", EXACT, USERS).percent.mean == 0
    assert all(claim.holds is None for claim in claims(study) if claim.text.startswith("other logs"))
    assert own_section(study) is not None


def test_estimates_that_end_much_of_the_work_are_not_compared_with_those_that_end_none(made_logs):
    """Walltimes may not be enforced; ending jobs a little late leaves the work the same."""
    (log,) = (one for one in find_logs(made_logs)[0] if one.source.trace == "KTH")
    own = replace(log, own=True)
    for lost, verdict in ((0.003, "not resolved"), (0.2, "not judged")):
        study = same_under_all_estimates(own, response=100.0, lost=lost)
        (found,) = (claim for claim in claims(study) if "users' own estimates give a higher mean" in claim.text)
        assert found.verdict == verdict
        text = str(own_section(study).blocks[0])
        assert ("lose 20% of their run time" in text) == (lost > 0.01)
