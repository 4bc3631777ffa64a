"""``gas experiment supercomputers``: charges and equilibria, and the whole study on made-up logs."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout

import pytest
from study_files import contents

from experiments.supercomputers.results import GAMES

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


def test_no_application_is_tempted_where_the_estimates_of_others_are_true(reported):
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


@pytest.mark.thorough
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
