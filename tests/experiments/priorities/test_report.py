"""The study of classes of jobs: the outcomes of urgent and of other jobs, and the statements of its report."""

import numpy as np
import pytest
from made_priorities import made_study
from recomputed import by, chosen, ratio, table, verdict

from experiments.framework.groups import LATER, drawn_month
from experiments.framework.logs import find_logs
from experiments.framework.results import Seeded
from experiments.priorities.report import TABLES, Share, claims, month_runs
from experiments.priorities.run import priorities_run
from gas.simulation.simulate import simulate


@pytest.fixture(scope="module")
def run(made_logs):
    """A month of a made-up log."""
    return month_runs(Seeded(), find_logs(made_logs)[0])[0][0]


def test_urgent_jobs_are_a_higher_class_of_the_simulator_and_each_job_is_compared_with_itself(run):
    files = {run.log.sha256: str(run.log.path)}
    result = priorities_run(run.configuration, files=files)
    jobs, drawn, first = drawn_month(run.configuration, files)
    plain = simulate(jobs, "s3")
    assert result["jobs"] == len(jobs)
    for share, one in zip(run.settings, result["settings"], strict=True):
        urgent = drawn < share.percent
        classes = simulate(jobs, "s3", priorities=np.where(urgent, 1, 0))
        assert one["percent"] == share.percent
        for group, of in (("urgent", urgent), ("others", ~urgent)):
            apart = (classes.end - plain.end)[of & (np.arange(len(jobs)) >= first)]
            assert one[group]["turnaround"] - one[group]["turnaround_before"] == apart.sum()
            assert (one[group]["later"], one[group]["sooner"]) == ((apart > LATER).sum(), (apart < -LATER).sum())
    assert [one["broken"] for one in result["settings"]] == [0, 0, 0]
    assert any(one["urgent"]["sooner"] for one in result["settings"])


def expected(rows):
    """Return the verdicts in the order of the report."""
    logs = sorted({row["log"] for row in rows})

    def of_logs(names, scale, plus, **columns):
        found = []
        for log in logs:
            of = chosen(rows, log=log, **columns)
            months = [chosen(of, month=month) for month in sorted({row["month"] for row in of})]
            sums = [[sum(float(row[name]) for row in month) for month in months] for name in names]
            found.append(by(ratio(*sums), scale, plus))
        return found

    def change(what, **columns):
        return of_logs((what, f"{what}_before"), 100, -100, **columns)

    return [
        "no" if any(int(row["broken"]) for row in rows) else "yes",
        verdict(change("wait", percent=10, group="urgent"), high=-50),
        verdict(change("turnaround", percent=10, group="others"), low=0),
        verdict(of_logs(("later", "jobs"), 100, 0, percent=10, group="others"), high=20),
        verdict(change("turnaround", percent=50, group="urgent"), high=0),
        verdict(change("turnaround", percent=50), low=-5, high=5),
    ]


@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    assert [claim.verdict for claim in claims(study)] == expected(table(study, TABLES, "priorities-months"))


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert [claim.verdict for claim in claims(made_study(0, 1))][:3] == ["yes", "yes", "yes"]
    assert [claim.verdict for claim in claims(made_study(0, -1))][1:3] == ["no", "no"]


def test_a_single_promise_that_was_broken_is_told():
    study = made_study(0, 1)
    study.results[0]["settings"][0]["broken"] = 1
    assert claims(study)[0].holds is False
    assert "1 broken" in claims(study)[0].here


def test_without_other_shares_the_smallest_alone_is_simulated(made_logs):
    runs, _ = month_runs(Seeded(others=False), find_logs(made_logs)[0])
    assert {run.settings for run in runs} == {(Share(10),)}


@pytest.mark.thorough
def test_the_report_says_who_gains_and_who_pays(gas, made_logs, tmp_path):
    done = gas("experiment", "priorities", "--traces", made_logs, "-o", tmp_path, "--workers", 1, "--quick")
    assert done.code == 0, done.err
    text = (tmp_path / "priorities.md").read_text()
    for section in ("Who gains, and who pays", "Verdicts", "How it was done", "Reproducing this report"):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "0 broken" in done.out
    assert (tmp_path / "priorities-changes.svg").exists()
