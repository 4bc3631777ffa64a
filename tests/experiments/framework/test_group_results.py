"""Studies with two groups of jobs: which months are simulated, and what follows from their sums."""

import numpy as np
import pytest
from made_conditional import made_study

from experiments.conditional.results import Asking, month_runs
from experiments.framework.logs import find_logs
from experiments.framework.results import Seeded
from experiments.framework.verdicts import LEVEL
from gas.errors import BadInput


def test_months_with_few_jobs_are_left_out_and_without_any_there_is_no_study(made_logs):
    logs = find_logs(made_logs)[0]
    runs, left_out = month_runs(Seeded(seeds=2, others=False), logs)
    assert {run.site.trace for run in runs} == {"CTC", "KTH"}
    assert {run.seed for run in runs} == {0, 1}
    assert {one.percent for run in runs for one in run.settings} == {25}
    assert all("fewer than 100" in words for words in left_out)
    assert left_out
    with pytest.raises(BadInput, match="no month"):
        month_runs(Seeded(), [])


def test_changes_are_of_sums_over_the_same_jobs_and_of_all_months():
    study = made_study(3, 1)
    (_, log), asking = study.logs[0], Asking(50, 600)
    of = [one["settings"][run.settings.index(asking)] for run, one in study.pairs if run.log == log]
    after, before = (sum(one[group][name] for one in of for group in ("asked", "others"))
                     for name in ("turnaround", "turnaround_before"))  # fmt: skip
    assert study.change(log, asking, "all")(LEVEL).mean == pytest.approx(100 * (after / before - 1))
    apart = sum(one["asked"]["log"] - one["asked"]["log_before"] for one in of)
    jobs = sum(one["asked"]["jobs"] for one in of)
    assert study.geometric_change(log, asking, "asked")(LEVEL).mean == pytest.approx(100 * (np.exp(apart / jobs) - 1))


def test_where_all_have_a_notice_nothing_is_said_of_others():
    study = made_study(3, 1)
    assert study.change(study.logs[0][1], Asking(100, 600), "others")(LEVEL) is None
