"""The report on estimates: its tables, its pictures, thanks and origin."""

import csv

from experiments.published import table3


def test_the_report_has_the_tables_pictures_thanks_and_origin(reported):
    folder, out, err = reported
    text = (folder / "estimates.md").read_text()
    for section in (
        "Verdicts",
        "The logs",
        "Table 2: requested and used time",
        "Fig. 8: users' estimates",
        "Fig. 9: estimates from history",
        "Table 3: means by factor",
        "Table 3: CTC",
        "Table 3: KTH",
        "Table 4: twice the users' estimates",
        "Beyond the paper: other estimates",
        "How it was done",
        "Reproducing this report",
    ):
        assert f"## {section}\n" in text
    assert "> Not the full study: logs not found: SDSC-SP2-1998-" in text
    assert "Lars Made-Up" in text
    assert "gas experiment estimates --traces TRACES --seed 0 --seeds 1`" in text
    for name in ("estimates-users", "estimates-history", "estimates-factors"):
        assert (folder / f"{name}.svg").read_bytes().startswith(b"<?xml")
    assert "Dan <Made> & Up" in err
    assert "Table 2: the counts of KTH" in out


def test_tables_hold_our_figures_beside_the_papers(reported):
    with (reported[0] / "estimates-means.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["paper_mean"]) for row in rows] == [row.mean for row in table3()]
    assert all(bool(row["mean"]) == (row["trace"] != "SDSC") for row in rows)
    with (reported[0] / "estimates-runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert {row["estimates"] for row in runs} == {
        "users", "doubled", "uniform", "mualem-feitelson", "tsafrir", "history", "last-two",
    }  # fmt: skip
