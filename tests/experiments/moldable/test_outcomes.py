"""One moldable job at a time in a month: which benchmark replaces which job, and the message if too few can."""

import numpy as np

from experiments.framework.logs import find_logs
from experiments.moldable.months import Options, month_runs
from experiments.moldable.outcomes import Outcome, month_with_substitutes, rows_of
from experiments.moldable.terms import BASE, PERFECT
from experiments.power.run import power_run
from experiments.walk.run import walk_run
from workloads import apply_overrun


def test_a_month_with_too_few_jobs_is_left_out_and_says_why(made_logs):
    log = find_logs(made_logs)[0][0]
    run = month_runs(Options(seeds=1, runs=12, others=False), [log], (BASE,))[0][0]
    for of_month in (power_run, walk_run):
        result = of_month(run.configuration | {"runs": 10_000}, files={log.sha256: str(log.path)})
        assert result["outcomes"] == []
        assert "10000 substitutes: the log has only" in result["too_few"]


def test_true_estimates_leave_the_work_of_the_month_as_it_was(made_logs):
    log = find_logs(made_logs)[0][0]
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), [log], (BASE, PERFECT))
    files = {log.sha256: str(log.path)}
    users, known = (
        apply_overrun(month_with_substitutes(run.configuration, files).jobs, "kill")
        for run in (next(run for run in runs if run.terms == terms) for terms in (BASE, PERFECT))
    )
    assert (users.run_time == known.run_time).all()
    assert (known.estimate == np.maximum(known.run_time, 1)).all()


def test_outcomes_are_kept_without_what_there_was_not():
    found = Outcome("EP", "B", 0, 5, 9, 4, 2, 3, 1, 5, 1.0, 7, ("no arrivals",))
    (row,) = rows_of([found])
    assert row["still_loses"] == ["no arrivals"]
    assert "predicting" not in row
    assert found.regret == 1
