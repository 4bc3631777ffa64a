"""The report on several machines: the gains, and what hedging should cost."""

import csv

import made_supercomputers

from experiments.supercomputers.report import _lead
from experiments.supercomputers.results import GAMES


def test_the_report_says_what_was_gained_and_what_it_should_cost(reported):
    folder, out, err = reported
    text = (folder / "supercomputers.md").read_text()
    for section in (
        "What is compared",
        "All applications use the same strategy",
        "Submitting everywhere: gain for one user, cost for all",
        "Charges",
        "Machines and months",
        "Other settings",
        "Limits",
        "Reproducing this report",
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
        used = int(row["submissions"]) - int(row["withdrawn"])
        if "coallocate" in (row["others_do"], row["some_do"]):  # an application may be a job on each machine
            assert int(row["applications"]) <= used <= 2 * int(row["applications"])
        else:
            assert used == int(row["applications"])
        if row["share"] in ("0", "100"):
            assert int(row["some"]) == int(row["applications"]) * int(row["share"]) // 100
        if row["some_do"] in ("home", "home-static"):
            assert float(row["away_from_home"]) == 0
    # If no application is replaced, the replacement does not matter.
    chosen = [row for row in rows if row["others_do"] == "choose" and row["share"] == "0"]
    chosen = [row for row in chosen if row["some_do"] != "coallocate"]  # of which there are further settings
    by_setting = {}
    for row in chosen:
        by_setting.setdefault(row["setting"], set()).add(row["mean"])
    assert len(chosen) == 2 * len(by_setting)
    assert all(len(means) == 1 for means in by_setting.values())


def test_of_too_few_months_for_an_interval_nothing_is_called_significant(monkeypatch):
    lead = _lead(made_supercomputers.made_study(0, 0))
    assert "on average (not resolved), and " in lead
    assert "too few months" not in lead
    monkeypatch.setattr(made_supercomputers, "MONTHS", made_supercomputers.MONTHS[:3])
    lead = _lead(made_supercomputers.made_study(0, 0))
    assert "no charge is needed" not in lead
    assert lead.count(" on average (not resolved: too few months for an interval), and ") == len(GAMES)
