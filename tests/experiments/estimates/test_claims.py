"""The paper's statements on estimates: each has a verdict where its logs are at hand."""

from experiments.estimates.claims import claims
from experiments.estimates.results import Options, Results


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
