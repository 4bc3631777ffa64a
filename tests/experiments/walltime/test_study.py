"""``gas experiment walltime``: what is simulated, averaged and compared, and the whole study on made-up logs."""

import csv
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from experiments.framework.execution import computed
from experiments.framework.logs import SOURCES, find_logs, load_log, log_in
from experiments.published import walltime_gains, walltime_spread, walltime_text
from experiments.walltime.account import account_section, class_rows
from experiments.walltime.accuracy import KEYS, WINDOWS
from experiments.walltime.cells import gain_cells, text_cells
from experiments.walltime.claims import advantages, claims
from experiments.walltime.report import banner
from experiments.walltime.results import (
    ADJUSTMENTS,
    CHANGES,
    INTREPID,
    MEASURES,
    NEIGHBOURS,
    PERCENTILES,
    QUEUES,
    TRACES,
    LogRun,
    Options,
    Results,
    Terms,
    adjusted,
    study_runs,
)
from experiments.walltime.run import walltime_run
from experiments.walltime.tables import TABLES
from gas.simulation.adjusting import simulate_adjusted
from gas.simulation.metrics import metrics, weighted_wait
from gas.simulation.months import months
from gas.simulation.simulate import simulate
from workloads import Header, rigid_jobs, write_swf
from workloads.adjustment import Scheme
from workloads.lublin import generate
from workloads.selection import in_months, months_of

LOGS = {
    "KTH-SP2-1996-2": ("1996-09-23", "Europe/Stockholm", 100, "Lars Made-Up"),
    "SDSC-SP2-1998-4.2-cln": ("1998-05-01", "US/Pacific", 128, "Victor <Made> & Up"),
    "intrepid": ("2009-01-05", "US/Central", 163840, "Susan Made-Up"),
}


def made_log(path, name, *, seed, jobs=320, days=95):
    """Write a log of few users who ask for few different times, and use about the same share of them every time."""
    first, zone, processors, thanks = LOGS[name]
    generator = np.random.default_rng(seed)
    log = generate(jobs, min(processors, 128), generator=generator, load=0.9)
    slower = days * 86400 / log.submit[-1]
    user = generator.integers(1, 5, jobs)
    run_time = np.trunc(log.run_time * slower)
    share = np.clip(np.array([0.1, 0.4, 0.7, 1.1])[user - 1] + generator.normal(0, 0.05, jobs), 0.02, None)
    request = 900 * 4 ** np.ceil(np.log(np.maximum(run_time / share, 900) / 900) / np.log(4))
    begin = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone))
    header = Header.of(
        [
            ("Version", "2.2"), ("Computer", "made up"), ("Acknowledge", thanks),
            ("UnixStartTime", int(begin.timestamp())), ("TimeZoneString", zone), ("MaxProcs", processors),
        ]
    )  # fmt: skip
    columns = {
        "submit": np.trunc(log.submit * slower), "run_time": run_time, "requested_time": request, "user": user,
        "wait": generator.integers(0, 600, jobs), "group": 1 + user % 2,
    }  # fmt: skip
    write_swf(log.with_columns(**columns).with_header(header), path / f"{name}.swf.gz")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walltime-logs")
    for seed, name in enumerate(LOGS):
        made_log(folder, name, seed=seed)
    return folder


@pytest.fixture(scope="module")
def logs(made):
    return find_logs(made, [source for source in SOURCES if source.trace in TRACES])[0]


@pytest.fixture(scope="module")
def reported(made, tmp_path_factory):
    """The whole study of the made-up logs, by the command: its folder, and what it printed."""
    from gas.cli.main import run

    folder, out, err = tmp_path_factory.mktemp("walltime"), io.StringIO(), io.StringIO()
    arguments = ["experiment", "walltime", "--traces", made, "--output", folder, "--workers", 1]
    with redirect_stdout(out), redirect_stderr(err):
        assert run([str(one) for one in arguments]) == 0, err.getvalue()
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def study(reported, logs):
    """The same study, from what the command kept."""
    runs = study_runs(Options(), logs)
    configurations = [run.configuration for run in runs]
    results = computed(walltime_run, configurations, logs, output=reported[0], workers=1)
    return Results(Options(), runs, results, ["no log ANL-Intrepid-2009-*.swf.gz"])


def content(log):
    return load_log(log.path, log.sha256)


def ran(log, terms, files):
    return walltime_run(LogRun(log, "simulation", terms=terms).configuration, files=files)


# ------------------------------------------------------------------------------------------------------------ the runs


def test_a_month_has_the_means_of_the_simulator(study):
    log = study.logs[1]
    jobs = rigid_jobs(content(log), log.source.processors)
    schedule = simulate_adjusted(jobs, Scheme(percentile=70), adjustment="selective", queue="wfp").schedule
    result = study.simulation(log, adjusted("wfp", "selective", 70))
    labels, index = months_of(jobs.submit, content(log).epoch)
    expected = months(schedule, content(log).epoch)
    assert [month["month"] for month in result["months"]] == labels == [month.month for month in expected]
    for number, (ours, theirs) in enumerate(zip(result["months"], expected, strict=True)):
        assert ours["wait"] == pytest.approx(theirs.mean_wait)
        assert ours["slowdown"] == pytest.approx(theirs.mean_slowdown)
        assert ours["weighted"] == weighted_wait(schedule, "wfp", index == number)
        assert 1 <= (ours["alike"] or 1) <= ours["jobs"] + 1e-9
    assert result["all"]["wait"] == pytest.approx(metrics(schedule).mean_wait)
    assert sum(month["jobs"] for month in result["months"]) == result["jobs"] == len(jobs)


def test_months_apart_are_simulated_alone(study):
    log = study.logs[0]
    found = study.simulation(log, Terms("fcfs", apart=True))
    for month in found["months"]:
        alone = simulate(rigid_jobs(in_months(content(log), month["month"]), log.source.processors), "easy")
        assert month["wait"] == pytest.approx(metrics(alone).mean_wait)


def test_where_no_user_has_a_history_nothing_changes(study):
    log = study.logs[0]
    files = {log.sha256: str(log.path)}
    for terms in (adjusted("wfp", "regular", least=10_000), adjusted("fcfs", "selective", least=10_000, apart=True)):
        found, base = ran(log, terms, files), study.simulation(log, terms.baseline)
        for ours, without in zip(found["months"], base["months"], strict=True):
            assert ours == without


def test_exact_walltimes_are_never_outlived_nor_kill_a_job(study):
    log = study.logs[0]
    found = study.simulation(log, adjusted("fcfs", "regular", None))
    assert (found["all"]["UE"], found["all"]["BE"], found["all"]["beyond"]) == (0, 0, 0)
    assert found["all"]["accuracy"] > 0.99
    bold = study.simulation(log, adjusted("fcfs", "regular", 70))
    assert bold["all"]["UE"] + bold["all"]["BE"] > 0
    assert bold["all"]["beyond"] > 0


def test_adjusting_makes_walltimes_of_people_with_habits_more_accurate(study):
    for log in study.logs:
        original = study.use(log)["used"]["mean"]
        assert study.accuracy(log, "user+group", 1, 85, 0.0)["accuracy"] > original + 0.05


# ---------------------------------------------------------------------------------------------------------- comparisons


def test_months_are_averaged_from_a_window_after_the_first_submission_on(study):
    assert study.averaged(study.logs[0]) == ["1996-11", "1996-12"]
    assert study.averaged(study.logs[1])[0] == "1998-06"


def test_five_throws_are_averaged_month_by_month(study):
    log = study.logs[1]
    steady = study.steady(log, "wfp", "regular", "wait")
    every = [study.gains(log, adjusted("wfp", "regular", least=least), "wait") for least in (10, *NEIGHBOURS)]
    assert steady == pytest.approx({month: np.mean([gains[month] for gains in every]) for month in every[0]})
    assert study.chance(log, "wfp", "regular", "wait") >= 0


def test_classes_hold_every_job_that_has_a_slowdown(study):
    for log in study.logs:
        result = study.simulation(log, Terms())
        rows = class_rows(study, log, "wfp")
        assert sum(row["jobs"] for row in rows) == result["jobs"] - result["all"]["zero_length"]
        total = sum(row["without"]["slowdown"] for row in rows)
        assert total / sum(row["jobs"] for row in rows) == pytest.approx(result["all"]["slowdown"])


def test_every_published_figure_stands_beside_ours_with_a_reason(study):
    assert {row.key for row in walltime_spread()} == {"all", *KEYS}
    cells = text_cells(study)
    assert {cell.of for cell in cells} == set(walltime_text())
    gains = gain_cells(study)
    assert len(gains) == len(walltime_gains()) * len(study.logs)
    assert all(cell.why for cell in (*cells, *gains))


def test_statements_have_verdicts_and_those_of_nothing_have_none(study):
    found = claims(study)
    assert sum("selective adjustment is no worse than regular" in claim.text for claim in found) == len(QUEUES)
    assert all(claim.here and claim.holds is not None for claim in found)
    assert all(claim.holds is None for claim in claims(Results(Options(), [], [])))
    for log in study.logs:
        for queue in QUEUES:
            every = advantages(study, log, queue)
            assert len(every) == len(PERCENTILES) * len(MEASURES)
            (claim,) = (one for one in found if one.text.startswith(f"{queue.upper()}: selective"))
            assert claim.holds is False or all(one[-1].mean >= 0 for one in every)


def test_the_published_gains_favour_selective_adjustment():
    percent = {(one.queue, one.adjustment, one.percentile, one.measure): one.percent for one in walltime_gains()}
    for measure in MEASURES:
        assert percent["wfp", "selective", 85, measure] > percent["wfp", "regular", 85, measure]
    assert percent["fcfs", "regular", 70, "slowdown"] < 0


# ---------------------------------------------------------------------------------------------------------- the report


def test_the_report_says_at_the_top_what_was_replaced(reported):
    folder, out, _ = reported
    text = (folder / "walltime.md").read_text()
    assert text.index("> Replaced: the paper's log, of Intrepid") < text.index("## ")
    assert "KTH-SP2-1996-2 and SDSC-SP2-1998-4.2-cln stand in" in text
    assert "--intrepid FILE" in text
    assert "Not the full study" not in text
    assert "Replaced: " in out
    assert "selective adjustment is no worse" in out


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
        "Does it hold?",
        "Selective against regular",
        "Average improvements, beside the paper's",
        "By month: WFP",
        "By month: FCFS",
        "With months apart, as in the paper",
        "Other schemes, and exact walltimes",
        "Figures in the paper's text, beside ours",
        "The logs",
        "Table 2: how alike similar jobs are",
        "How it was done",
        "To make this report again",
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


def test_tables_hold_every_month_scheme_and_published_figure(study):
    simulations = [run for run in study.runs if run.kind == "simulation"]
    rows = {name: records.of(name, study).rows for name, records in TABLES.items()}
    assert len(rows["walltime-months"]) == sum(
        len(study.simulation(run.log, run.terms)["months"]) for run in simulations
    )
    assert len(rows["walltime-accuracy"]) == 2 * len(KEYS) * len(WINDOWS) * 14
    each = 2 * len(PERCENTILES) + len(CHANGES) + len(NEIGHBOURS)
    assert len(rows["walltime-gains"]) == 2 * len(QUEUES) * len(ADJUSTMENTS) * each
    assert all(row["reason"] for row in rows["walltime-published"])


def test_a_part_of_a_quick_study_is_part_of_the_whole_one(gas, reported, made, tmp_path):
    command = ("experiment", "walltime", "--traces", made, "--output", tmp_path, "--workers", 1, "--quick")
    assert gas(*command, "--shard", "3/8").code == 0
    assert not (tmp_path / "walltime.md").exists()
    whole, part = (
        {path.name: json.loads(path.read_text())["result"] for path in (folder / "runs").iterdir()}
        for folder in (reported[0], tmp_path)
    )
    assert part
    assert part.items() <= whole.items()


def test_a_quick_study_says_so_and_accounts_for_less(study):
    options = Options(quick=True)
    runs = study_runs(options, study.logs)
    whole = dict(zip(study.runs, study.results, strict=True))
    quick = Results(options, runs, [whole[run] for run in runs])
    assert "Not the full study: two windows" in banner(quick)
    assert len(account_section(quick).blocks) < len(account_section(study).blocks)
    same = [claim for claim in claims(quick) if claim in claims(study)]
    assert len(same) == len(claims(study))  # every statement can be tested


def test_intrepids_log_is_taken_when_it_is_named_or_at_hand(made, tmp_path):
    named = log_in(made / "intrepid.swf.gz", INTREPID)
    (tmp_path / "ANL-Intrepid-2009-1.swf.gz").write_bytes((made / "intrepid.swf.gz").read_bytes())
    ((found,), _, _) = find_logs(tmp_path, [INTREPID])
    assert (found.source, found.sha256) == (named.source, named.sha256)
    runs = study_runs(Options(quick=True), [named])
    few = [run for run in runs if run.kind == "use"]
    files = {named.sha256: str(named.path)}
    study = Results(Options(quick=True), few, [walltime_run(run.configuration, files=files) for run in few])
    assert banner(study).startswith("Intrepid's log is here")
    assert study.use(named)["jobs"] == 320


def test_a_file_that_is_not_there_and_a_folder_without_logs_are_named(gas, made, tmp_path):
    found = gas("experiment", "walltime", "--traces", made, "--intrepid", tmp_path / "none.swf", "--output", tmp_path)
    assert found.code == 2
    assert "none.swf" in found.err
    found = gas("experiment", "walltime", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "ANL-Intrepid-2009" in found.err


def test_in_a_log_that_names_no_user_nothing_is_adjusted_and_no_statement_is_tested(logs, tmp_path):
    whole = content(logs[0])
    unknown = whole.with_columns(user=np.full(len(whole), -1), group=np.full(len(whole), -1))
    write_swf(unknown, tmp_path / f"{logs[0].name}.swf.gz")
    (blank,) = find_logs(tmp_path, [logs[0].source])[0]
    files = {blank.sha256: str(blank.path)}
    runs = [run for run in study_runs(Options(quick=True), [blank]) if run.kind != "simulation"]
    study = Results(Options(quick=True), runs, [walltime_run(run.configuration, files=files) for run in runs])
    for key in KEYS:
        found = study.replay(blank, key, 1)
        assert found["no_history"] == found["jobs"]
        assert all(cell["NA"] == found["jobs"] for cell in found["cells"])
    assert "none is adjusted" in banner(study)
    assert all(claim.holds is None for claim in claims(study))


# ------------------------------------------------------------------------------------------------------- the real logs


def test_r_varies_less_among_sdscs_similar_jobs_the_more_they_share(traces):
    found = find_logs(traces, [source for source in SOURCES if source.trace == "SDSC"])[0]
    if not found:
        pytest.skip("needs SDSC-SP2")
    use = walltime_run(LogRun(found[0], "use").configuration, files={found[0].sha256: str(found[0].path)})
    means = [row["mean"] for row in use["spread"]]
    assert means == sorted(means, reverse=True)
    assert all(row["mean"] < row["at_random"] for row in use["spread"][1:])
