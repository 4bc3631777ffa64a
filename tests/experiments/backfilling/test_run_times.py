"""Run times by size: what is counted."""

import numpy as np

from experiments.backfilling.models import PROCESSORS, generate
from experiments.backfilling.run_times import LIMITS, SIZES, run_times_run
from experiments.framework.logs import find_logs

SIZE = next(iter(SIZES))


def test_each_job_is_counted_once_in_its_class_block_and_limit():
    result = run_times_run({"run_times": "Fsl", "jobs": 1200, "seed": 3}, files={})
    log = generate("Fsl", 1200, 0.7, 3)
    small = log.allocated_processors == 1
    counts = np.array(result["counts"]["1 processor"])
    assert result["jobs"] == sum(np.sum(of) for of in result["counts"].values()) == 1200
    assert counts.sum() == small.sum()
    assert counts[0].sum() == small[:100].sum()  # the first of twelve blocks
    up_to_an_hour = counts.sum(axis=0)[LIMITS <= 3600].sum()
    assert up_to_an_hour == np.count_nonzero(log.run_time[small] <= LIMITS[LIMITS <= 3600].max())
    assert PROCESSORS["Fsl"] == PROCESSORS["F"]


def test_blocks_of_a_log_are_its_months(made_logs):
    log = next(log for log in find_logs(made_logs)[0] if log.source.trace == "CTC")
    configuration = {"run_times": "CTC", "sha256": log.sha256, "processors": 512}
    result = run_times_run(configuration, files={log.sha256: str(log.path)})
    assert result["jobs"] == 500
    assert {len(blocks) for blocks in result["counts"].values()} == {len(result["counts"][SIZE])}
    assert len(result["counts"][SIZE]) > 1
