"""The report on a bushel of applications shows the paper's figures, and says what it is."""

import csv

from study_runs import items_in

from experiments.bushel.report import _compared as bushel_items
from experiments.bushel.results import KINDS


def test_the_report_stands_beside_the_paper_and_says_what_it_is(reported):
    folder, out, err = reported
    text = (folder / "bushel.md").read_text()
    assert "> Not the full study" in text
    for section in (
        "Verdicts against static requests: the size of the job that is replaced",
        "Beyond the paper",
        "The paper's static request",
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


def test_the_list_of_items_has_means_load_ratios_signs_and_statements(reported):
    rows = items_in((reported[0] / "bushel.md").read_text())
    assert rows["Table 5.11"][3] == "20 of 20"
    assert rows["Table 5.17"][3].endswith("of 60")
    assert rows["Table 5.8"][3].endswith("of 30")
    assert rows["Fig. 5.9 to 5.11"][6]
    assert rows["Section 6.1: Bushel of AppLeS"][6]
    assert all(rows[f"Table 5.{n}"][7] for n in range(8, 18))
    assert "Figures are missing" in rows["Table 5.9"][7]  # of SDSC, which is not at hand
    assert "Figures are missing" not in rows["Table 5.11"][7]


def test_where_no_job_can_keep_its_size_the_other_static_request_is_compared(made_study, figures):
    def result_of(run):
        found = figures(100.0, 200.0, run.percent)
        own = getattr(run.kind, "opponent", "") == "own"
        return {**found, "moldable": 0} if own and run.percent == 50 else found

    pairs = bushel_items(made_study(result_of))["Table 5.14"]
    assert [pair.ours for pair in pairs.pairs if pair.ours is not None] == [100.0, 200.0]  # the made-up means
    assert "compared with uniform static requests" in pairs.cause
    assert "uniform" not in bushel_items(made_study(result_of))["Table 5.13"].cause
