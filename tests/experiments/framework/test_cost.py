"""The cost of studies: kept with each result, shown beside the report, and how it grows."""

import math
from functools import partial

import pytest

from experiments.framework.cost import Entry, cost_report, growth
from experiments.framework.ledger import Ledger
from gas.report.rendering import markdown


def slow_run(configuration, *, seconds):
    import time

    time.sleep(seconds)
    return {"jobs": configuration["jobs"]}


def entries(jobs_power, moldable_power, sizes):
    return [
        Entry("KTH", jobs, moldable, 1e-3 * jobs**jobs_power * max(moldable, 1) ** moldable_power, 2**27)
        for jobs, moldable in sizes
    ]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("workers", [1, 2])
def test_each_result_is_kept_with_its_time_and_memory(tmp_path, workers):
    run = partial(slow_run, seconds=0.05)
    ledger = Ledger(tmp_path, "1")
    wanted = [{"jobs": jobs} for jobs in (1, 2, 3)]
    assert ledger.cost(run, wanted[0]) is None
    ledger.run(run, wanted, workers=workers)
    for one in wanted:
        cost = ledger.cost(run, one)
        assert cost.seconds >= 0.05
        assert cost.peak_bytes > 2**20
    ledger.keep(run, wanted[0], {"jobs": 1})
    assert ledger.cost(run, wanted[0]) is None
    assert ledger.find(run, wanted[0]) == {"jobs": 1}


def test_the_powers_with_which_time_grows_are_found():
    sizes = [(100, 10), (200, 10), (400, 40), (800, 20)] * 2
    assert growth(entries(2, 1, sizes)) == (pytest.approx(2), pytest.approx(1))
    assert growth(entries(1, 0, [(100, 7), (300, 7), (900, 7)] * 2)) == (pytest.approx(1), None)
    assert growth(entries(1, 0.5, [(100, 7), (100, 70), (100, 700)] * 2)) == (None, pytest.approx(0.5))


def test_growth_is_not_stated_for_sizes_that_hardly_differ():
    assert growth(entries(1, 1, [(100, 7), (101, 7), (102, 7)] * 2)) == (None, None)
    assert growth(entries(1, 0, [(100 * i, 7) for i in range(1, 6)])) == (None, None)
    both = [(100, 7), (200, 14), (400, 28)] * 2
    assert growth(entries(1, 1, both)) == (None, None)  # it is unknown which of the two it was


def test_the_report_names_time_memory_and_growth():
    text = markdown(cost_report("gas experiment power", entries(1, 1, [(100, 10), (200, 10), (400, 40), (800, 20)])))
    assert "4 computations" in text
    assert "128 MiB" in text
    assert "| KTH | 4 |" in text
    assert "gas experiment power" in text
    assert "moldable jobs" in text


def test_of_a_study_without_moldable_jobs_none_are_mentioned():
    assert "moldable" not in markdown(cost_report("gas experiment priorities", entries(1, 0, [(100, 0), (200, 0)])))


def test_a_log_without_jobs_costs_something_too():
    there = Entry("KTH", 0, 0, 0.01, 2**27), *entries(1, 0, [(100, 7), (300, 7), (900, 7)] * 2)
    assert all(power is None or math.isfinite(power) for power in growth(there))
    assert "7 computations" in markdown(cost_report("gas experiment power", there))
