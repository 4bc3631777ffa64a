"""The report on walltimes: what was replaced, the paper's tables and figures, whom to thank."""

import csv
import re

from study_runs import items_in

from experiments.walltime.results import (
    QUEUES,
    TRACES,
)


def test_the_report_says_at_the_top_what_was_replaced(reported):
    folder, out, _ = reported
    text = (folder / "walltime.md").read_text()
    assert text.index("> The paper's log, of Intrepid") < text.index("## ")
    assert "This study uses KTH-SP2-1996-2 and SDSC-SP2-1998-4.2-cln instead" in text
    assert "--intrepid FILE" in text
    assert "Not the full study" not in text
    assert "was not found" in out
    assert "selective adjustment is better" in out


def test_the_papers_categories_of_jobs_are_explained_where_they_are_first_named(reported):
    text = (reported[0] / "walltime.md").read_text()
    for name, meaning in {
        "NA": "not adjusted",
        "OE": "adjusted and long enough",
        "UE": "too short by less than 30 minutes",
        "BE": "too short by 30 minutes or more",
    }.items():
        assert re.search(rf"\b{name}\b.{{{len(meaning) + 2}}}", text)[0] == f"{name}: {meaning}"
    assert "half an hour or more" not in text


def test_the_report_has_the_papers_tables_and_figures_and_whom_to_thank(reported):
    folder, _, err = reported
    text = (folder / "walltime.md").read_text()
    for section in (
        "Verdicts",
        "Selective against regular",
        "Average improvements",
        "By month: WFP",
        "By month: FCFS",
        "With months apart, as in the paper",
        "Other schemes, and exact walltimes",
        "Figures in the paper's text and ours",
        "The logs",
        "Table 2: how similar jobs vary",
        "How it was done",
        "Reproducing this report",
    ):
        assert f"## {section}\n" in text
    assert "Lars Made-Up" in text
    assert "Victor <Made> & Up" in err
    assert "gas experiment walltime --traces TRACES`" in text
    monthly = [f"{queue}-{trace.lower()}" for queue in QUEUES for trace in TRACES]
    other = ["use", "accuracy", "categories", "short", "cumulative", "tested", "gains", "gains-apart"]
    for name in monthly + other:
        assert (folder / f"walltime-{name}.svg").read_bytes().startswith(b"<?xml")
    with (folder / "walltime-published.csv").open() as file:
        assert {row["trace"] for row in csv.DictReader(file)} == {"KTH", "SDSC"}
    assert "SDSC-SP2-1998-4.2-cln, a simulation" in (folder / "walltime-cost.md").read_text()


def test_the_list_of_items_counts_printed_figures_of_each_log_and_statements(reported):
    rows = items_in((reported[0] / "walltime.md").read_text())
    assert rows["Table 1"][2] == "The logs"
    assert rows["Table 3"][6] == "3 of 3"
    assert rows["Fig. 12"][6] == "1 of 1"
    assert rows["Table 2"][3] == "10 of 10"  # five rows, two logs
    assert rows["Fig. 14"][3] == "10 of 10"  # four gains and the best month
    assert re.fullmatch(r"\d of \d|1 not resolved|1 no verdict", rows["Fig. 9"][6])
    assert {rows[f"Fig. {n}"][7] for n in (1, 2, 4, 14)} == {rows["Table 2"][7]} != {""}
