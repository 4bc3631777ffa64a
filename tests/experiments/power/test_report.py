"""The report on the power of choosing a size shows the paper's figures, and says what it is."""

import csv

import numpy as np
import pytest
from study_runs import items_in

from experiments.moldable.terms import BASE, PERFECT, TERMS
from gas.intervals import by_months


@pytest.mark.thorough
def test_on_terms_of_ones_own_the_report_says_so_and_the_command_makes_it_again(gas, made_logs, tmp_path):
    options = ("--runs", 6, "--seeds", 1, "--opponent", "own", "--mix", "unrestricted", "--workers", 1)
    result = gas("experiment", "power", "--traces", made_logs, "-o", tmp_path, *options)
    assert result.code == 0
    text = (tmp_path / "power.md").read_text()
    assert "settings differ from the paper's: mix unrestricted, static request own" in text
    assert "Static requests: the size of the job that is replaced." in text
    assert "--mix unrestricted --opponent own" in text
    with (tmp_path / "power-outcomes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["benchmark"] for row in rows} == {"EP"}
    assert len({row["terms"] for row in rows}) == 2  # and with perfect estimates


def test_the_report_stands_beside_the_paper_and_says_what_it_is(reported):
    folder, out, err = reported
    text = (folder / "power.md").read_text()
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    for section in (
        "Verdicts",
        "What cannot match",
        "Tables 5.1 to 5.7",
        "Why Gas loses",
        "Regret",
        "Other settings",
    ):
        assert f"## {section}" in text
    for figure in ("2,740", "15,174", "869", "13,935"):
        assert figure in text  # the paper's
    for terms in TERMS:
        assert terms.name in text
    assert 'yes: "if walltimes equal run times, Gas never loses' in out
    assert "Traceback" not in out + err


def test_the_tables_figures_are_those_of_the_outcomes(reported):
    with (reported[0] / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == BASE.name]
    assert len({row["seed"] for row in rows}) == 2
    expected = str(by_months(np.array([int(row["gas"]) for row in rows]), [(row["log"], row["month"]) for row in rows]))
    line = next(line for line in (reported[0] / "power.md").read_text().splitlines() if line.startswith("| 5.1 all"))
    assert f"| {expected} |" in line


def test_on_a_true_log_with_true_estimates_nothing_is_lost(reported):
    with (reported[0] / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == PERFECT.name]
    assert len(rows) >= 30
    assert all(row["gas"] == row["best"] == row["promised"] for row in rows)


def test_the_list_of_items_has_figures_signs_and_extremes(reported):
    text = (reported[0] / "power.md").read_text()
    rows = items_in(text)
    assert len(rows["Table 5.1"][3].split()) == 3
    assert rows["Table 5.4"][3] == "10 of 10"
    assert all(rows[f"Table 5.{n}"][7] for n in range(1, 8))
    assert rows["Fig. 5.2 to 5.8"][3] == "2 of 2"
    assert "1 reported" in rows["Fig. 5.2 to 5.8"][6]
    with (reported[0] / "power-outcomes.csv").open() as file:
        of = [row for row in csv.DictReader(file) if row["terms"] == BASE.name]
    factors = [int(row["static"]) / int(row["gas"]) for row in of]
    near = sum(abs(ours / printed - 1) <= 0.1 for ours, printed in ((max(factors), 43794), (1 / min(factors), 17.6)))
    assert rows["Fig. 5.2 to 5.8"][4] == str(near)
