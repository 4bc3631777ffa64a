"""Every table and figure of the papers is in a report, or the report says why not."""

import re
from pathlib import Path

import pytest

import experiments
from experiments.framework.claims import Claim
from experiments.framework.items import Compared, Pair, items_section
from experiments.published import items

FOLDER = Path(experiments.__file__).parent
PAPERS = {
    "backfilling": {f"Table {n}" for n in range(1, 5)} | {f"Fig. {n}" for n in range(1, 10)},
    "supercomputers": {f"Table 5.{n}" for n in range(1, 18)}
    | {f"Fig. {n}" for n in ("1.1", "1.2", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7")}
    | {f"Fig. 5.{n}" for n in range(1, 12)},
    "walltime": {f"Table {n}" for n in range(1, 4)} | {f"Fig. {n}" for n in range(1, 18)},
}


def names_of(item):
    """Return the single names behind a range such as Fig. 5.2 to 5.8."""
    match = re.fullmatch(r"(.*?)(\d+)\.(\d+) to \2\.(\d+)", item.name)
    if not match:
        return [item.name]
    kind, chapter, first, last = match.groups()
    return [f"{kind}{chapter}.{n}" for n in range(int(first), int(last) + 1)]


@pytest.mark.parametrize("paper", PAPERS)
def test_no_table_and_no_figure_is_missing(paper):
    assert PAPERS[paper] <= {name for item in items() if item.paper == paper for name in names_of(item)}


@pytest.mark.parametrize("item", items(), ids=lambda item: f"{item.paper} {item.name}")
def test_an_item_is_in_a_section_of_a_study_or_says_why_it_is_in_none(item):
    assert bool(item.study) is bool(item.section) is not bool(item.absent)
    if item.study:
        sources = "".join(path.read_text() for path in sorted((FOLDER / item.study).glob("*.py")))
        assert f'"{item.section}' in sources


def test_the_list_counts_figures_within_a_tenth_signs_that_are_resolved_and_statements():
    pairs = (Pair(100, 105, True), Pair(100, 120, False), Pair(100, 99), Pair(100, None))
    statements = tuple(Claim("", holds, "", untested="not resolved") for holds in (True, True, False, None))
    compared = {item.name: Compared(()) for item in items() if item.study == "backfilling"}
    compared |= {"Table 1": Compared(pairs, "another log", statements), "Fig. 6": Compared((), "", statements[3:])}
    section = items_section("backfilling", "backfilling", compared)
    table = section.blocks[1]
    row = next(row for row in table.rows if row[0] == "Table 1")
    assert row[2:] == ("Table 1", "3 of 4", "2", "1 of 2", "2 of 3; 1 not resolved", "another log")
    figure = next(row for row in table.rows if row[0] == "Fig. 6")
    assert figure[3:] == ("", "", "", "1 not resolved", "")
    other = next(row for row in table.rows if row[0] == "Table 2")
    assert other[2:] == ("gas experiment estimates", "", "", "", "", "")


def test_an_item_of_the_study_cannot_be_left_out():
    with pytest.raises(ValueError, match="Table 3, Fig. 9, Table 4: reproduced by estimates"):
        items_section("backfilling", "estimates", {"Table 2": Compared(()), "Fig. 8": Compared(())})


def test_items_of_other_studies_may_be_left_out():
    section = items_section("supercomputers", "walk", {"Fig. 4.3": Compared((), "no figures printed")}, every=False)
    assert [row[0] for row in section.blocks[1].rows] == ["Fig. 4.3"]
