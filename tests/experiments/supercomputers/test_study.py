"""``gas experiment supercomputers``: charges and equilibria, and the whole study on made-up logs."""

import csv
import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest
from study_files import contents

from experiments.framework.logs import find_logs
from experiments.supercomputers.results import GAMES, SHARES, Options, break_even, equilibrium, pooled, trial_runs
from gas.errors import BadInput

SMALL = ("--seeds", 1, "--percent", 20, "--months", 1)
SHORT = ("--seeds", 1, "--percent", 10, "--months", 1, "--no-other-settings")


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "supercomputers", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The study with all settings: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("supercomputers")
    return folder, *run_once(folder, made_logs, *SMALL)


# -------------------------------------------------------------------------------------------- charges, and equilibria


def test_in_equilibrium_one_more_gains_nothing():
    assert equilibrium((0, 50, 100), (30.0, 10.0, -10.0)) == 75
    assert equilibrium((0, 50, 100), (30.0, -10.0, 40.0)) == 37.5  # the first of two
    assert equilibrium((0, 50, 100), (30.0, 0.0, 10.0)) == 50


def test_all_give_way_where_it_always_gains_and_none_where_the_first_one_loses():
    assert equilibrium((0, 50, 100), (1.0, 2.0, 1.0)) == 100
    assert equilibrium((0, 50, 100), (-1.0, 5.0, 5.0)) == 0
    assert equilibrium((0, 50, 100), (0.0, 5.0, 5.0)) == 0


def result(applications, gain, extra, extra_time, waiting=None):
    figures = {"mean": gain, "extra": extra, "extra_time": extra_time}
    of_waiting = {"mean": None, "extra": None, "extra_time": None} if not waiting else figures
    return {"applications": applications, "waiting": waiting or 0, "gain": {"all": figures, "waiting": of_waiting}}


def test_the_break_even_charge_takes_away_all_that_is_gained():
    runs = [result(10, 30.0, 0.5, 200.0), result(30, 10.0, 0.1, 40.0)]
    assert pooled(runs, "mean") == 15.0
    assert break_even(runs, "seconds") == pytest.approx(15.0 / 0.2)
    assert break_even(runs, "share") == pytest.approx(15.0 / 80.0)
    assert break_even([result(10, -30.0, 0.5, 200.0)], "seconds") == -60.0
    assert break_even([result(10, 0.0, 0.0, 0.0)], "seconds") == 0.0
    assert pooled([result(10, 4.0, 0, 0), result(10, 8.0, 0, 0, waiting=5)], "mean", "waiting") == 8.0


# ------------------------------------------------------------------------------------------------------------ the runs


def test_machines_stand_together_month_by_month_with_every_temptation_share_and_seed(made_logs):
    runs, left_out = trial_runs(Options(seeds=2, percent=20, months=2, others=False), find_logs(made_logs)[0])
    together = list(dict.fromkeys(run.places for run in runs))
    assert [[str(place) for place in places] for places in together] == [
        ["CTC 1996-07", "KTH 1996-10"], ["CTC 1996-08", "KTH 1996-11"],
    ]  # fmt: skip
    assert not left_out
    assert len(runs) == len(together) * 2 * (2 + len(GAMES) * len(SHARES))
    assert len({json.dumps(run.configuration, sort_keys=True) for run in runs}) == len(runs)


def test_months_with_hardly_an_application_are_left_out(made_logs):
    logs = find_logs(made_logs)[0]
    runs, left_out = trial_runs(Options(percent=10, months=3), logs)
    assert {str(place) for run in runs for place in run.places} == {
        "CTC 1996-07", "KTH 1996-10", "CTC 1996-09", "KTH 1996-11",
    }  # fmt: skip
    assert [words.split(": ")[1].split(" has ")[0] for words in left_out] == ["1996-08", "1996-12"]
    assert all("too few for 10 applications" in words for words in left_out)
    with pytest.raises(BadInput, match="--percent"):
        trial_runs(Options(percent=1), logs)


def test_one_machine_is_not_several(made_logs):
    only = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    with pytest.raises(BadInput, match="need two logs"):
        trial_runs(Options(), only)


# ---------------------------------------------------------------------------------------------------------- the report


def test_the_report_says_what_was_gained_and_what_it_should_cost(reported):
    folder, out, err = reported
    text = (folder / "supercomputers.md").read_text()
    for section in (
        "What is compared",
        "All applications choose alike",
        "What submitting everywhere gains, and what it costs all users",
        "The charge",
        "Machines and months",
        "Other settings",
        "Limits",
        "To make this report again",
    ):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    assert "CTC 1996-07 + KTH 1996-10" in text
    for game in GAMES:
        assert game.name in out
    assert (folder / "supercomputers-temptation.svg").exists()
    assert "Traceback" not in out + err


def test_nobody_is_tempted_whose_neighbours_estimates_are_true(reported):
    with (reported[0] / "supercomputers-runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    true = [row for row in rows if row["setting"] == "estimates are the run times" and row["share"] == "0"]
    assert len(true) == len(GAMES)
    assert all(float(row["gain_all_mean"]) <= 0 for row in true)
    assert all(float(row["gain_all_mean"]) == 0 for row in true if row["some_do"] != "everywhere")


def test_rows_hold_what_all_applications_did(reported):
    with (reported[0] / "supercomputers-runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert int(row["submissions"]) - int(row["withdrawn"]) == int(row["applications"])
        if row["share"] in ("0", "100"):
            assert int(row["some"]) == int(row["applications"]) * int(row["share"]) // 100
        if row["some_do"] in ("home", "home-static"):
            assert float(row["away_from_home"]) == 0
    # Where no application gives way, it does not matter to what.
    chosen = [row for row in rows if row["others_do"] == "choose" and row["share"] == "0"]
    by_setting = {}
    for row in chosen:
        by_setting.setdefault(row["setting"], set()).add(row["mean"])
    assert len(chosen) == 2 * len(by_setting)
    assert all(len(means) == 1 for means in by_setting.values())


def test_two_workers_and_shards_give_the_same_bytes(gas, made_logs, tmp_path):
    once, parts = tmp_path / "once", tmp_path / "parts"
    run_once(once, made_logs, *SHORT)
    command = ("experiment", "supercomputers", "--traces", made_logs, "--output", parts, "--workers", 2, *SHORT)
    for part in ("2/2", "1/2"):
        assert gas(*command, "--shard", part).code == 0
        assert not (parts / "supercomputers.md").exists()
    kept = sorted((parts / "runs").iterdir())
    assert gas(*command).code == 0
    assert sorted((parts / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(parts) == contents(once)


def test_without_two_logs_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "supercomputers", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
