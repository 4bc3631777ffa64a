"""``gas experiment bushel``: the whole study on made-up logs."""

import csv
import os
import signal
import subprocess
import sys
import time

import pytest
from study_files import contents

from experiments.bushel.claims import beyond, claims, likeness
from experiments.bushel.results import DRAWN, DRAWN_PERCENTS, KINDS, OPPONENTS, PERCENTS, Options, Results, bushel_runs
from experiments.framework.logs import find_logs
from experiments.moldable.terms import TERMS
from experiments.published import bushel, bushel_details, load_ratios

SHORT = ("--seeds", 1, "--no-other-terms")


def command(logs, output, *options):
    given = ["experiment", "bushel", "--traces", logs, "--output", output, *SHORT, *options]
    return [sys.executable, "-m", "gas", *map(str, given)]


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The study with one worker: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("bushel")
    done = subprocess.run(command(made_logs, folder, "--workers", 1), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


def test_the_paper_has_thirty_and_sixty_scenarios():
    assert sum(one.mix == "thirds" for one in bushel()) == 30
    assert sum(one.mix != "thirds" for one in bushel()) == 60
    assert all(one.gas < one.static for one in bushel())
    assert {one.percent for one in bushel()} == set(PERCENTS)


def test_the_closer_look_is_at_scenarios_of_the_tables():
    means = {(one.trace, one.percent): (one.gas, one.static) for one in bushel() if one.mix == "thirds"}
    for table, percent in bushel_details():
        assert (table.gas["mean"], table.static["mean"]) == means[table.of, percent]


def test_table_5_8_has_columns_of_other_tables():
    others = {(one.trace, one.mix, one.percent): one.load_ratio for one in bushel()}
    for percent in PERCENTS:
        assert load_ratios()["CTC", percent] == others["CTC", "restricted", percent]
        assert load_ratios()["KTH", percent] == others["KTH", "unrestricted", percent]
        assert load_ratios()["SDSC", percent] not in (
            others["SDSC", "restricted", percent],
            others["SDSC", "unrestricted", percent],
        )


def test_every_share_of_every_mix_is_run_with_every_seed_and_other_terms_with_one(made_logs):
    logs = find_logs(made_logs)[0]
    runs = bushel_runs(Options(seeds=2), logs)
    of_log = [run for run in runs if run.site.trace == "KTH"]
    base = 2 * (len(KINDS) * len(PERCENTS) + len(DRAWN_PERCENTS))
    assert len(of_log) == base + 2 * (len(TERMS) - 2) + 2 * (len(DRAWN) - 1)
    assert {run.seed for run in of_log if run.kind not in (*KINDS.values(), DRAWN[0])} == {0}
    assert len(bushel_runs(Options(seeds=2, others=False), logs)) == 2 * base


def test_the_report_stands_beside_the_paper_and_says_what_it_is(reported):
    folder, out, err = reported
    text = (folder / "bushel.md").read_text()
    assert "> Not the full study" in text
    for section in (
        "Does it hold? Static: the size of the job that gives way",
        "Beyond the paper",
        "Which opponent did the paper have?",
        "Table 5.8: load ratios",
        "Tables 5.12 to 5.14",
        "Every job moldable",
        "Bursts of single users",
    ):
        assert f"## {section}" in text
    for figure in ("4,457", "8,078", "2,406", "0.9801", "81,768"):
        assert figure in text  # the paper's
    assert "16,829 |" not in text  # of a log that is not here
    assert "beyond the paper:" in out
    assert "Traceback" not in out + err


def test_the_tables_figures_are_those_of_the_results(reported):
    folder = reported[0]
    with (folder / "bushel-results.csv").open() as file:
        rows = {(row["log"], row["moldable_by"], row["percent"]): row for row in csv.DictReader(file)}
    row = rows["KTH", KINDS["thirds", "uniform"].name, "5"]
    line = [line for line in (folder / "bushel.md").read_text().splitlines() if line.startswith("| 5.11 KTH")][1]
    assert f"{float(row['gas_mean']):,.0f}" in line
    assert f"{float(row['static_mean']):,.0f}" in line
    assert int(row["moldable"]) == int(row["jobs"]) * 5 // 100


@pytest.mark.thorough
def test_a_study_that_was_killed_with_four_workers_goes_on_and_ends_with_the_same_bytes(
    gas, made_logs, reported, tmp_path
):
    given = command(made_logs, tmp_path, "--workers", 4)
    child = subprocess.Popen(given, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    while len(list(tmp_path.glob("runs/*.json"))) < 60 and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "bushel.md").exists()
    assert gas(*given[3:-1], 1).code == 0
    assert contents(tmp_path) == contents(reported[0])


def figures(gas, static, percent):
    """Return a made-up result."""
    worlds = {"before": 90.0, "static": static, "gas": gas}
    return {
        "jobs": 1000, "moldable": 10 * percent, "choices": 2.0, "load_ratio": 1.0, "loses": 2 * percent,
        "requested_load_ratio": 1 - percent / 100, "gas": {"mean": gas}, "static": {"mean": static},
        "others": worlds, "others_wait": worlds, "all": worlds, "gas_work": 1, "static_work": 1,
    }  # fmt: skip


def made_study(made_logs, result_of):
    options = Options(seeds=1, others=False)
    runs = bushel_runs(options, find_logs(made_logs)[0])
    return Results(options, runs, [result_of(run) for run in runs])


def test_claims_hold_where_they_do(made_logs):
    def good(run):
        mix = getattr(run.kind, "mix", "thirds")
        return figures(100.0 + run.percent, 1000.0 if mix == "unrestricted" else 500.0, run.percent)

    study = made_study(made_logs, good)
    for opponent in OPPONENTS:
        found = claims(study, opponent)
        assert [claim.holds for claim in found] == [True, True, True, True, True, True, False]
        assert "in 20 of 20" in found[0].here  # two logs
        assert "in 40 of 40" in found[1].here
    # Beside static requests, beside the log as it was (which made them take 90 s), for both opponents; then all jobs
    # moldable.
    assert [claim.holds for claim in beyond(study)] == [True, False, True, False, True]
    assert "in 0 of 60" in beyond(study)[1].here


def test_and_fail_where_they_do_not(made_logs):
    def bad(run):
        mix = getattr(run.kind, "mix", "thirds")
        static = 90.0 + 10 * run.percent if mix == "restricted" else 90.0 + run.percent
        return figures(100.0, static, run.percent) | {"loses": 0, "requested_load_ratio": 1 + run.percent}

    found = claims(made_study(made_logs, bad), "own")
    assert [claim.holds for claim in found] == [False] * 7


def test_a_scenario_with_too_few_jobs_is_missing_and_counted(made_logs):
    def short(run):
        few = run.percent > 30 and getattr(run.kind, "opponent", "") == "own"
        return {"jobs": 1000, "moldable": 0} if few else figures(100.0, 300.0, run.percent)

    study = made_study(made_logs, short)
    assert study.percents("KTH", KINDS["thirds", "own"]) == [5, 10, 15, 20, 25, 30]
    assert "in 8 more too few jobs" in claims(study, "own")[0].here
    assert "too few" not in claims(study, "uniform")[0].here


def test_likeness_is_the_geometric_mean_of_ours_over_the_papers(made_logs):
    printed = {(one.trace, one.mix, one.percent): one for one in bushel()}

    def twice(run):
        one = printed.get((run.site.trace, getattr(run.kind, "mix", ""), run.percent))
        if one is None:
            return figures(1.0, 1.0, run.percent)
        own = run.kind.opponent == "own"
        return figures(2 * one.gas, one.static / 3 if own else one.static, run.percent)

    own, uniform = likeness(made_study(made_logs, twice))
    assert (own.gas, own.static, own.furthest_static) == (pytest.approx(2), pytest.approx(1 / 3), pytest.approx(3))
    assert (uniform.static, uniform.scenarios) == (pytest.approx(1), 60)
