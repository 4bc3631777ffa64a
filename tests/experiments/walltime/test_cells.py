"""Every published figure on walltimes is next to ours, with a reason where they differ."""

import pytest

from experiments.framework.logs import SOURCES, find_logs
from experiments.published import walltime_gains, walltime_spread, walltime_text
from experiments.walltime.accuracy import KEYS
from experiments.walltime.cells import gain_cells, text_cells
from experiments.walltime.results import (
    LogRun,
)
from experiments.walltime.run import walltime_run


def test_every_published_figure_stands_beside_ours_with_a_reason(study):
    assert {row.key for row in walltime_spread()} == {"all", *KEYS}
    cells = text_cells(study)
    assert {cell.of for cell in cells} == set(walltime_text())
    gains = gain_cells(study)
    assert len(gains) == len(walltime_gains()) * len(study.logs)
    assert all(cell.why for cell in (*cells, *gains))


@pytest.mark.thorough
def test_r_varies_less_among_sdscs_similar_jobs_the_more_they_share(traces):
    found = find_logs(traces, [source for source in SOURCES if source.trace == "SDSC"])[0]
    if not found:
        pytest.skip("needs SDSC-SP2")
    use = walltime_run(LogRun(found[0], "use").configuration, files={found[0].sha256: str(found[0].path)})
    means = [row["mean"] for row in use["spread"]]
    assert means == sorted(means, reverse=True)
    assert all(row["mean"] < row["at_random"] for row in use["spread"][1:])
