"""``gas experiment malleate`` on made-up logs: the report, its table, and verdicts from the table alone."""

import csv
import re
from collections import defaultdict

import numpy as np
import pytest
from made_malleate import made_study
from scipy.special import stdtrit  # scipy.stats has the same, but takes long to import

from experiments.framework.origin import Origin
from experiments.malleate.fairness import CLASSES
from experiments.malleate.report import malleate_report


@pytest.fixture(scope="module")
def table(reported):
    with (reported / "malleate-months.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def fairness(reported):
    with (reported / "malleate-fairness.csv").open() as file:
        return list(csv.DictReader(file))


def changes(table, strategy, percent, group="all", other="rigid", level=0.9):
    """Return the change of the mean turn-around time in per cent and half its interval by log, from the table alone."""
    sums, jobs = defaultdict(float), defaultdict(float)
    for row in table:
        if row["terms"] == "base" and int(row["percent"]) == percent and row["strategy"] in (strategy, other):
            key = row["log"], row["month"], row["strategy"]
            if row["group"] == group:
                sums[key] += float(row["turnaround"])
            if row["group"] == "all":
                jobs[key[:2]] += int(row["jobs"]) / 2
    found = {}
    for log in dict.fromkeys(row["log"] for row in table):
        months = [month for of, month in jobs if of == log and jobs[of, month] >= 50 and (log, month, strategy) in sums]
        one = np.array([sums[log, month, strategy] for month in months])
        two = np.array([sums[log, month, other] for month in months])
        ratio = one.sum() / two.sum()
        width = None
        if len(months) >= 4:
            spread = np.sqrt(((one - ratio * two) ** 2).sum() / (len(months) - 1))
            width = 100 * stdtrit(len(months) - 1, 0.5 + level / 2) * spread / (two.mean() * np.sqrt(len(months)))
        found[log] = 100 * (ratio - 1), width
    return found


def test_the_table_alone_gives_the_changes_of_the_first_look(reported, table):
    page = (reported / "malleate.md").read_text()
    rows = re.findall(r"^\| malleable, own size first \| (.*) \|$", page, re.MULTILINE)
    shown = [cell.strip() for cell in rows[0].split("|")]
    here = changes(table, "malleable-own", 100).values()
    assert shown == [f"{mean:.1f}" + (f" ± {width:.1f}" if width is not None else "") for mean, width in here]


def test_verdicts_are_those_of_the_table_alone(reported, table):
    page = (reported / "malleate.md").read_text()
    for text, strategy, percent, group, other in (
        ("If 100% of the jobs are malleable (own size first)", "malleable-own", 100, "all", "rigid"),
        ("If 100% of the jobs choose their sizes by Gas's predictions", "gas-predicted", 100, "all", "rigid"),
        (
            "Choosing by predictions leaves the mean lower than choosing by walltimes",
            "gas-predicted",
            100,
            "all",
            "gas",
        ),
        ("If 20% of the jobs choose by predictions, their mean falls", "gas-predicted", 20, "adopters", "rigid"),
    ):
        found = changes(table, strategy, percent, group, other, level=0.98)
        surely = changes(table, strategy, percent, group, other, level=1 - 0.02 / len(found)).values()
        known = [width is not None for _, width in surely]
        against = any(width is not None and mean > width for mean, width in surely)
        for_it = all(known) and all(mean + width < 0 for mean, width in found.values())
        expected = "no" if against else "yes" if for_it else "not resolved"
        assert re.search(rf"^\| {expected} \| {re.escape(text)}", page, re.MULTILINE), (text, expected)


@pytest.mark.parametrize(
    ("what", "strategy"),
    [("choose by predictions", "gas-predicted"), ("are malleable", "malleable-own")],
)
def test_verdicts_on_classes_are_those_of_the_table_alone(reported, table, what, strategy):
    page = (reported / "malleate.md").read_text()
    parts = {
        (group, log): level
        for group in CLASSES
        for log, level in changes(table, strategy, 100, group, level=0.98).items()
    }
    strictly = 1 - 0.02 / len(parts)
    among = {
        (group, log): level
        for group in CLASSES
        for log, level in changes(table, strategy, 100, group, level=strictly).items()
    }
    against = any(width is not None and mean > width for mean, width in among.values())
    for_it = all(width is not None and mean + width < 0 for mean, width in parts.values())
    expected = "no" if against else "yes" if for_it else "not resolved"
    assert f"| {expected} | If 100% of the jobs {what}, the mean falls in each class" in page


@pytest.mark.parametrize(
    ("what", "strategy"),
    [("choose by predictions", "gas-predicted"), ("are malleable", "malleable-own")],
)
def test_verdicts_on_evenness_are_those_of_the_table_alone(reported, fairness, what, strategy):
    page = (reported / "malleate.md").read_text()
    verdicts = []
    logs = dict.fromkeys(row["log"] for row in fairness)
    for log in logs:
        jain = {
            name: {
                row["without"]: float(row["jain"])
                for row in fairness
                if (row["log"], row["percent"], row["strategy"]) == (log, "100", name) and row["jain"]
            }
            for name in (strategy, "rigid")
        }
        rise = {month: value - jain["rigid"][month] for month, value in jain[strategy].items()}
        if not rise:
            verdicts.append(None)
            continue
        without = np.array([value for month, value in rise.items() if month])
        count = len(without)
        error = np.sqrt((count - 1) / max(count, 1) * ((without - without.mean()) ** 2).sum()) if count >= 4 else np.inf
        alone, among = (stdtrit(max(count - 1, 1), 1 - wrong / 2) * error for wrong in (0.02, 0.02 / len(logs)))
        verdicts.append(False if rise[""] + among < 0 else True if rise[""] - alone > 0 else None)
    known = [verdict for verdict in verdicts if verdict is not None]
    expected = "no" if False in known else "yes" if len(known) == len(logs) else "not resolved"
    text = f"If 100% of the jobs {what}, users' mean slowdowns are spread more evenly"
    assert re.search(rf"^\| (no verdict|{expected}) \| {re.escape(text)}", page, re.MULTILINE), expected


def test_adopters_of_a_small_share_are_among_those_of_a_larger_one(table):
    count = {
        int(row["percent"]): int(row["jobs"])
        for row in table
        if row["group"] == "adopters" and row["strategy"] == "gas" and row["month"] == table[0]["month"]
    }
    assert sorted(count.values()) == [count[percent] for percent in sorted(count)]


def test_groups_add_up(table):
    sums = defaultdict(float)
    for row in table:
        for parts in (("adopters", "others"), CLASSES):
            key = (parts, *(row[name] for name in ("log", "percent", "strategy", "month")))
            sums[key] += float(row["turnaround"]) * ((row["group"] in parts) - (row["group"] == "all"))
    assert max(map(abs, sums.values())) < 0.01


def test_the_first_page_says_what_is_compared_and_how_much_is_gained(reported):
    page = (reported / "malleate.md").read_text()
    lead = page.split("##")[0]
    lead = " ".join(lead.split())
    assert re.search(
        r"If all jobs are malleable, the mean turn-around time, .* shorter than with rigid jobs\. If Gas predicts", lead
    )
    assert re.search(r"shorter\. Depending on the log, this is .* of what malleable jobs save", lead)
    assert "Logs do not contain this" in lead


def lead_of(study):
    return malleate_report(study, Origin("1", "0" * 64, (), "gas")).lead


def test_the_first_page_of_logs_on_which_all_strategies_lose_says_so():
    lead = lead_of(made_study(1, effect=1.5))
    assert re.search(
        r"the mean turn-around time, from submission to end, is [\d to]+% longer than with rigid jobs\.", lead
    )
    assert re.search(r"at that size, the mean is [\d to]+% longer\. .*Not every job gains", lead)


def test_the_first_page_of_logs_that_gain_and_logs_that_lose_names_both():
    study = made_study(1, effect=0.5)
    for run, result in study.pairs:
        if run.log.name == "one":
            sums = result["strategies"]["malleable-own"]["all"]
            sums["turnaround"] = [4 * seconds for seconds in sums["turnaround"]]
    assert re.search(r"from submission to end, is \d+% longer to \d+% shorter than with rigid", lead_of(study))


def test_without_months_of_enough_jobs_the_report_says_that_and_not_that_nothing_was_simulated():
    study = made_study(1, effect=0.5)
    for result in study.results:
        for of in result["strategies"].values():
            of["all"]["jobs"] = [49] * len(result["months"])
    report = malleate_report(study, Origin("1", "0" * 64, (), "gas"))
    assert report.lead == (
        "Nothing is compared: no log has a month that was simulated with 50 jobs or more, of which any took time."
    )
    (verdicts,) = [section for section in report.sections if section.title == "Verdicts"]
    here = {row[1]: row[2] for row in verdicts.blocks[0].rows}
    assert here["Choosing by predictions leaves the mean lower than choosing by walltimes."] == (
        "without a value: one, two, three"
    )
    assert here["If all jobs are malleable and speed up by Amdahl's law, the mean also falls."] == "not run"


def test_of_jobs_that_take_no_time_nothing_is_compared():
    study = made_study(1, effect=1.0)
    for result in study.results:
        for of in result["strategies"].values():
            of["all"] |= dict.fromkeys(("turnaround", "wait", "slowdown", "log"), [0.0] * len(result["months"]))
    report = malleate_report(study, Origin("1", "0" * 64, (), "gas"))
    assert report.lead.startswith("Nothing is compared: ")
    assert not re.search(r"\bnan\b", str(report))


def test_where_no_rigid_job_waits_the_other_means_are_shown_all_the_same():
    study = made_study(1, effect=0.5)
    for result in study.results:
        for of in result["strategies"].values():
            of["all"] = {**of["all"], "wait": [0.0] * len(result["months"])}
    report = malleate_report(study, Origin("1", "0" * 64, (), "gas"))
    (means,) = [section for section in report.sections if section.title == "Other means"]
    rows = means.blocks[-1].rows
    assert {row[1] for row in rows} == {"one", "two", "three"}
    assert {row[2] for row in rows} == {""}
