"""``gas experiment setups`` on made-up logs: means and counts are those of the runs, recomputed from the CSV alone."""

import csv

import pytest
from study_runs import study_once

from experiments.published import one_apples
from experiments.setups.results import WHO

SHORT = ("--runs", 20, "--changes", 0, "--set-up", "usual", "--set-up", "static=log,begin=warm")
MONTHS = ("--month", "1996-08", "--month", "1996-11")  # of CTC and of KTH


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The folder of the study."""
    return study_once(tmp_path_factory, "setups", made_logs, *SHORT, *MONTHS)[0]


def test_the_csv_alone_gives_how_many_means_each_set_up_meets(reported):
    with (reported / "setups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    paper = {(table.of, who): getattr(table, who)["mean"] for table in one_apples() for who in WHO}
    assert {row["setup"] for row in rows} == {"usual", "static=log,begin=warm"}
    for row in rows:
        cells = {at: float(row["_".join(at)]) for at in paper if row.get("_".join(at))}
        assert len(cells) == int(row["cells"]) == 10  # two logs and three classes
        met = sum(abs(mean / paper[at] - 1) <= 0.25 for at, mean in cells.items())
        assert met == int(row["met"]) <= int(row["met_at_best"])
    assert [int(row["met"]) for row in rows] == sorted((int(row["met"]) for row in rows), reverse=True)


def test_the_report_has_the_papers_words_and_every_set_up(reported):
    text = (reported / "setups.md").read_text(encoding="utf-8")
    assert "a randomly picked static value for the number of processors" in text
    assert "static=log,begin=warm" in text
    assert "2 set-ups were tried" in text


def test_a_set_up_that_is_not_known_is_refused(gas, made_logs, tmp_path):
    found = gas("experiment", "setups", "--traces", made_logs, "--output", tmp_path, "--set-up", "sizes=all")
    assert found.code == 2
    assert "sizes=all is not known; known: static=log" in found.err
