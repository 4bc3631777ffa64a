"""Tables of results of the study of backfilling: their rows, and that the report follows from them."""

import csv
import re

from made_backfilling import BATCHES, made_study
from scipy.special import stdtrit  # scipy.stats has the same, but takes long to import

from experiments.backfilling.tables import TABLES
from experiments.framework.records import as_csv
from experiments.published import table1


def test_the_table_of_cells_holds_every_published_figure(done):
    rows = list(csv.DictReader((done / "cells.csv").read_text().splitlines()))
    assert len(rows) == 2 * len(table1())
    published = [(row.trace, row.month, m, cell) for row in table1() for m, cell in row.cells.items()]
    for row, (trace, month, measure, cell) in zip(rows, published, strict=True):
        assert (row["trace"], row["month"], row["measure"]) == (trace, month, measure)
        assert (float(row["paper_easy"]), float(row["paper_conservative"])) == (cell.easy, cell.conservative)


def test_agreement_follows_from_the_figures_in_the_table(done):
    rows = list(csv.DictReader((done / "cells.csv").read_text().splitlines()))
    compared = [row for row in rows if row["easy"]]
    assert {row["trace"] for row in compared} == {"CTC", "KTH", "CM5"}
    assert all(not row["agrees"] and "no available log" in row["reasons"] for row in rows if not row["easy"])
    agree, cells = (dict.fromkeys(("CTC", "KTH", "CM5"), 0) for _ in range(2))
    for row in compared:
        ours = float(row["conservative"]) - float(row["easy"])
        paper = float(row["paper_conservative"]) - float(row["paper_easy"]) or float(row["paper_difference_percent"])
        same = (ours > 0) - (ours < 0) == (paper > 0) - (paper < 0)
        days, error = int(row["days"]), float(row["standard_error_percent"])
        resolved = days >= 4 and abs(float(row["difference_percent"])) > stdtrit(days - 1, 0.99) * error
        assert row["agrees"] == (str(same) if resolved else "")
        assert same or not resolved or row["reasons"]
        agree[row["trace"]] += same and resolved
        cells[row["trace"]] += resolved
    text = (done / "backfilling.md").read_text()
    for trace, resolved in agree.items():
        signs = f"{resolved} of {cells[trace]}" if cells[trace] else "-"
        assert re.search(rf"\| {trace} \| \d+ \| \d+ \|.*\| {signs} \|", text)


def test_a_cell_agrees_only_where_its_difference_exceeds_its_98_percent_interval():
    rows = list(csv.DictReader(as_csv(TABLES["cells"].of("cells", made_study(0, 1)).rows).decode().splitlines()))
    known = [row for row in rows if row["difference_percent"]]
    limit = stdtrit(29, 0.99)
    wide = [abs(float(row["difference_percent"])) > limit * float(row["standard_error_percent"]) for row in known]
    assert [row["agrees"] != "" for row in known] == wide
    assert 0 < sum(wide) < len(wide)


def test_each_batch_of_a_model_that_both_schemes_completed_is_a_row():
    study = made_study(0, 1)
    found = TABLES["batches"].of("batches", study).rows
    assert len(found) == len(study.model_runs) * 2 * BATCHES
    (last,) = [
        row for row in found if (row["model"], row["load"], row["policy"], row["batch"]) == ("J", 0.9, "easy", 39)
    ]
    assert last["response"] == study.points("J")[-1][1]["easy"]["together"]["means"]["response"][-1]
