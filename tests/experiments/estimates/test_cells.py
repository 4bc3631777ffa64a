"""The paper's cells next to ours: each has a place, and each that differs has a reason."""

import pytest

from experiments.estimates.cells import counts, doublings, means, signs
from experiments.estimates.results import (
    LogRun,
    Options,
    Results,
)
from experiments.estimates.run import estimates_run
from experiments.framework.logs import find_logs
from experiments.published import FACTORS, table3


@pytest.mark.thorough
def test_every_cell_of_the_paper_has_a_place_and_those_of_absent_logs_are_empty(study):
    cells = means(study)
    assert [(cell.trace, cell.paper) for cell in cells] == [(row.trace, row.mean) for row in table3()]
    assert all((cell.ours is None) == (cell.trace == "SDSC") for cell in cells)
    changes = [cell for cell in cells if cell.change]
    assert len(changes) == 2 * 2 * 2 * len(FACTORS)  # logs, measures, policies; all but f = 1, and the users' own
    assert signs(cells) == (0, 0)  # two months resolve nothing
    assert sum(row.ours is not None for row in doublings(study)) == 8


def test_every_mean_that_is_off_or_on_the_other_side_has_a_reason(study):
    for cell in means(study):
        of_side = [reason for reason in cell.why if reason.startswith("sign: ")]
        assert bool(of_side) == (cell.agrees is False)
        assert (len(cell.why) > len(of_side)) == (cell.off is not None and abs(cell.off) > 5)


def test_jobs_that_a_log_lacks_lower_a_mean_by_their_share_at_most(study):
    lacks = next(cell for cell in means(study) if cell.trace == "CTC" and cell.off and cell.off < -5)
    assert any(reason.endswith("of the paper's jobs") for reason in lacks.why)
    use = study.asked(study.log("CTC"), "use")["jobs"]
    most = 100 * (79296 / use - 1)
    for cell in means(study):
        if cell.trace == "CTC" and cell.off and cell.off > most:
            assert any(f"by {most:.1f}% at most themselves" in reason for reason in cell.why)


def test_jobs_that_a_cleaned_log_lacks_can_make_a_count_short_and_never_too_high(study):
    for row in counts(study):
        if row.ours is None:
            assert row.paper.trace == "SDSC" or row.paper.parameter == "zero-length jobs"
        else:
            assert row.possible == (row.paper.jobs - row.lacking <= row.ours <= row.paper.jobs)
            assert bool(row.reason) == (row.ours != row.paper.jobs)


def test_the_counts_of_kth_are_the_papers(traces):
    log = next((log for log in find_logs(traces)[0] if log.name == "KTH-SP2-1996-2"), None)
    if log is None:
        pytest.skip("needs KTH-SP2-1996-2, as it was before the archive cleaned it")
    run = LogRun(log, "use")
    study = Results(Options(), [run], [estimates_run(run.configuration, files={log.sha256: str(log.path)})])
    rows = {row.paper.parameter: row for row in counts(study) if row.ours is not None}
    assert len(rows) == 7
    for parameter, row in rows.items():
        # One job is lacking; the edges of the peak at 100% are the only ones in doubt.
        most = 10 if "100%" in parameter else 1
        assert abs(row.ours - row.paper.jobs) <= most
