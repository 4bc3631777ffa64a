"""A study as a value: its options, which logs take part, and how it is reproduced."""

import gzip
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest
import typer

from experiments.cli import command_for, names
from experiments.framework.claims import Claim
from experiments.framework.options import FirstSeed, Seeds
from experiments.framework.records import Field, Records
from experiments.framework.study import Chosen, Study, Where, command_of, logs_at_hand, perform
from gas.errors import BadInput, Missing
from gas.report.blocks import Report
from gas.report.rendering import template
from workloads import LogError

COMMON = {"traces", "log", "month", "seeds", "quick", "output", "workers", "shard", "dask"}


@dataclass(frozen=True)
class Run:
    log: str
    seed: int

    @property
    def configuration(self):
        return {"log": self.log, "seed": self.seed}


@dataclass(frozen=True)
class Found:
    pairs: list
    absent: list

    @property
    def done(self):
        return [(run.log, run.configuration, result) for run, result in self.pairs]


def options(
    seed: FirstSeed = 0,
    seeds: Seeds = 3,
    fast: Annotated[bool, typer.Option("--fast/--slow", help="Which.")] = True,
    factor: Annotated[float, typer.Option("--factor", metavar="X", help="Of it.")] = 1.0,
):
    """Count.

    What it is for.
    """
    if seed == 13:
        raise BadInput("--seed 13: is bad luck")
    return {"seed": seed, "seeds": seeds, "fast": fast, "factor": factor}


def run(configuration, *, files):
    return {"jobs": 10 * configuration["seed"] + len(files), "moldable": 0}


RUNS = Records(
    "a row for each run",
    lambda found: [{"seed": run.seed, "jobs": result["jobs"]} for run, result in found.pairs],
    {"": (Field("seed", "of the run"), Field("jobs", "that it counted"))},
)

STUDY = Study(
    "counting",
    options,
    traces={"KTH", "CTC"},
    runs=lambda options, logs: (
        [Run(log.name, options["seed"] + i) for log in logs for i in range(options["seeds"])],
        ["nothing"],
    ),
    run=run,
    summarise=lambda computed: Found(computed.pairs, computed.at_hand.absent),
    report=lambda found, origin: Report("Counting", f"{len(found.pairs)} runs", (), "; ".join(found.absent)),
    tables={"counting-runs": RUNS},
    claims=lambda found: {"": [Claim("there are runs", bool(found.pairs), f"{len(found.pairs)}")]},
    quick={"seeds": 1, "fast": False},
)


@pytest.fixture(autouse=True)
def sources(monkeypatch):
    """Sources of tests are not followed."""
    for module in ("dependencies", "execution"):
        monkeypatch.setattr(f"experiments.framework.{module}.version_of", lambda run: "1")


BY_MONTH = replace(STUDY, by_month=True)
WITH_OWN = replace(STUDY, own_logs=True)


def asked(*arguments):
    """Return what the command of a study passes on for a command line."""
    return command_for(STUDY).main([str(one) for one in arguments], standalone_mode=False)


@pytest.mark.parametrize("name", names())
def test_every_study_has_the_same_options_beside_its_own(name):
    from importlib import import_module

    study = import_module(f"experiments.{name}.study").STUDY
    command = command_for(study)
    assert (study.name, command.name) == (name, name)
    there = {parameter.name for parameter in command.params}
    assert there >= (COMMON if study.traces else COMMON - {"traces", "log", "month"})
    assert "Gas keeps its results" in command.help
    assert all(value != usual(study)[option] for option, value in study.quick.items())


def usual(study):
    import inspect

    return {name: one.default for name, one in inspect.signature(study.options).parameters.items()}


def test_a_study_is_computed_and_written(made_logs, tmp_path, capsys):
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1)
    assert (tmp_path / "counting-runs.csv").read_text() == "seed,jobs\n0,2\n1,12\n2,22\n0,2\n1,12\n2,22\n"
    dictionary = (tmp_path / "counting-columns.csv").read_text().splitlines()
    assert dictionary[1:] == ["counting-runs,,seed,,of the run", "counting-runs,,jobs,,that it counted"]
    assert "| `jobs` |  | that it counted |" in (tmp_path / "counting.md").read_text()
    assert {path.name for path in tmp_path.glob("counting*.md")} == {"counting.md", "counting-cost.md"}
    assert len(list((tmp_path / "runs").iterdir())) == 6
    assert 'yes: "there are runs": 6' in capsys.readouterr().out


def test_a_log_can_be_chosen_and_the_report_says_that_others_were_not(made_logs, tmp_path):
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--log", "KTH", "--seeds", 1)
    assert (tmp_path / "counting-runs.csv").read_text() == "seed,jobs\n0,1\n"
    assert "CTC was not chosen" in (tmp_path / "counting.md").read_text()


def test_of_several_versions_of_a_log_the_one_that_is_taken_is_named_and_another_can_be_chosen(
    made_logs, tmp_path, capsys
):
    (log,) = made_logs.glob("KTH-SP2-1996-*")
    (tmp_path / "KTH-SP2-1996-2.swf").write_bytes(gzip.decompress(log.read_bytes()))
    (tmp_path / "KTH-SP2-1996-2.1-cln.swf").write_bytes(gzip.decompress(log.read_bytes()) + b"; another\n")
    found = logs_at_hand(STUDY, tmp_path)
    assert [log.name for log in found.logs] == ["KTH-SP2-1996-2"]
    err = " ".join(capsys.readouterr().err.split())
    assert (
        "KTH: KTH-SP2-1996-2 is used (as recorded, like the logs in the papers); --log KTH-SP2-1996-2.1-cln uses" in err
    )
    found = logs_at_hand(STUDY, tmp_path, chosen=Chosen(["KTH-SP2-1996-2.1-cln"]))
    assert [log.name for log in found.logs] == ["KTH-SP2-1996-2.1-cln"]
    assert "is used" not in capsys.readouterr().err


def test_a_study_that_takes_one_seed_says_so(made_logs, tmp_path):
    def one_seed(seed: FirstSeed = 0):
        """Count."""
        return options(seed, 1)

    command = command_for(replace(STUDY, options=one_seed, quick={}))
    given = ["--traces", str(made_logs), "--output", str(tmp_path), "--workers", "1", "--log", "KTH"]
    command.main([*given, "--seeds", "1"], standalone_mode=False)
    assert (tmp_path / "counting-runs.csv").read_text() == "seed,jobs\n0,1\n"
    with pytest.raises(BadInput, match="--seeds 3: this study takes one seed; leave the option out, or give 1"):
        command.main([*given, "--seeds", "3"], standalone_mode=False)


def test_a_log_that_is_not_of_the_study_is_refused(made_logs):
    with pytest.raises(BadInput, match="--log CM5: is not a log of this study; choose from CTC, KTH"):
        logs_at_hand(STUDY, made_logs, chosen=Chosen(["CM5"]))


@pytest.mark.parametrize(
    ("study", "month", "words"),
    [
        (STUDY, "1996-10", "this study simulates whole logs"),
        (BY_MONTH, "1996-13", "is not a month; write it as 1996-10"),
        (BY_MONTH, "1999-10", "no log has jobs of that month; .*KTH-SP2.* has jobs from 1996-09 to 1996-1[0-2]"),
    ],
)
def test_a_month_that_cannot_be_chosen_is_refused(made_logs, study, month, words):
    with pytest.raises(BadInput, match=words):
        logs_at_hand(study, made_logs, chosen=Chosen(months=[month]))


def test_a_chosen_month_is_all_that_takes_part_and_the_report_says_so(made_logs, tmp_path, gas):
    options = ("--runs", 3, "--traces", made_logs, "--log", "KTH", "--month", "1996-10", "--workers", 1)
    found = gas("experiment", "walk", *options, "--output", tmp_path)
    assert found.code == 0
    assert {line.split(",")[1] for line in (tmp_path / "walk-outcomes.csv").read_text().splitlines()[1:]} == {"1996-10"}
    text = (tmp_path / "walk.md").read_text()
    assert "--traces TRACES --log KTH --month 1996-10 --seed 0 --runs 3" in text
    assert "Restricted to --log KTH, --month 1996-10." in found.out


def test_quick_changes_what_was_not_chosen(made_logs, tmp_path):
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--quick")
    assert (tmp_path / "counting-runs.csv").read_text() == "seed,jobs\n0,2\n0,2\n"
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--quick", "--seeds", 2)
    assert (tmp_path / "counting-runs.csv").read_text().count("\n") == 5


@pytest.mark.parametrize("name", names())
def test_an_option_that_is_given_wins_over_quick_even_with_its_usual_value(name, monkeypatch):
    from importlib import import_module

    study, passed = import_module(f"experiments.{name}.study").STUDY, []
    monkeypatch.setattr("experiments.framework.study.perform", lambda study, given, *_: passed.append(given))
    command, defaults = command_for(study), usual(study)
    words = []
    for option in command.params:
        if option.name in study.quick:
            words += [option.opts[0]] if defaults[option.name] is True else [option.opts[0], str(defaults[option.name])]
    command.main(["--quick"], standalone_mode=False)
    command.main(["--quick", *words], standalone_mode=False)
    hasty, given = passed
    assert {option: hasty[option] for option in study.quick} == dict(study.quick)
    assert {option: given[option] for option in study.quick} == {option: defaults[option] for option in study.quick}


def test_a_part_makes_no_report_and_all_parts_are_the_whole(made_logs, tmp_path):
    for part in ("1/2", "2/2"):
        asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--shard", part)
        assert not (tmp_path / "counting.md").exists()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()} == kept
    assert (tmp_path / "counting.md").exists()


def test_a_narrower_study_in_the_same_folder_says_which_kept_runs_it_leaves_out(made_logs, tmp_path, capsys):
    options = ("--traces", made_logs, "--output", tmp_path, "--workers", 1)
    asked(*options)
    assert "leaves out" not in capsys.readouterr().err
    asked(*options, "--seeds", 1, "--log", "KTH")
    err = " ".join(capsys.readouterr().err.split())
    assert f"{tmp_path / 'runs'} also holds 5 runs that this report leaves out: log CTC" in err
    assert "; seed 1, 2. An earlier report on them is overwritten; its command writes it again" in err
    asked(*options)
    assert "leaves out" not in capsys.readouterr().err


def test_what_a_report_lacks_is_said_before_anything_is_computed(made_logs, tmp_path, monkeypatch):
    template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(Missing, match="reports need jinja2"):
        asked("--traces", made_logs, "--output", tmp_path, "--workers", 1)
    assert list(tmp_path.iterdir()) == []
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--shard", "1/2")  # makes no report


def test_options_are_refused_before_logs_are_read(tmp_path):
    with pytest.raises(BadInput, match="bad luck"):
        perform(STUDY, {**usual(STUDY), "seed": 13}, Where(tmp_path / "none", tmp_path))


def test_without_logs_there_is_nothing_to_study(tmp_path):
    with pytest.raises(
        BadInput,
        match=r"no log to study.*: none of CTC-SP2-1996, KTH-SP2-1996.*; download logs \(gas traces get -d DIR NAME\)",
    ):
        perform(STUDY, usual(STUDY), Where(tmp_path, tmp_path / "out"))


@pytest.mark.parametrize(
    ("given", "chosen", "words"),
    [
        ({}, [], "--seed 0 --seeds 3"),
        ({"seeds": 1, "fast": False}, [], "--seed 0 --seeds 1 --slow"),
        ({"factor": 0.5}, ["KTH"], "--log KTH --seed 0 --seeds 3 --factor 0.5"),
    ],
)
def test_the_command_names_numbers_and_what_is_not_usual(given, chosen, words):
    assert (
        command_of(STUDY, {**usual(STUDY), **given}, Chosen(chosen))
        == f"gas experiment counting --traces TRACES {words}"
    )


def test_kept_results_are_named_by_their_configurations(made_logs, tmp_path):
    asked("--traces", made_logs, "--output", tmp_path, "--workers", 1, "--seeds", 1)
    kept = [json.loads(path.read_text()) for path in Path(tmp_path / "runs").iterdir()]
    assert sorted(one["configuration"]["log"] for one in kept) == ["CTC-SP2-1996-3.1-cln", "KTH-SP2-1996-2.1-cln"]


def own_log(path, *jobs, machine=8):
    """Write a log of jobs of (size, run time, requested time)."""
    path.parent.mkdir(exist_ok=True)
    rows = [
        f"{number} {60 * number} 0 {ran} {size} -1 -1 {size} {asked} -1 1 1 1 1 1 1 -1 -1"
        for number, (size, ran, asked) in enumerate(jobs, 1)
    ]
    path.write_text("\n".join([*([f"; MaxProcs: {machine}"] if machine else []), *rows]) + "\n")
    return str(path)


def test_the_report_says_which_jobs_of_an_own_log_take_no_part(tmp_path, capsys):
    log = own_log(tmp_path / "own.swf", (2, 60, 90), (2, 60, -1), (9, 60, 90), (2, -1, 90))
    perform(WITH_OWN, usual(STUDY), Where(None, tmp_path / "out", 1), Chosen([log]))
    page = (tmp_path / "out" / "counting.md").read_text()
    err = capsys.readouterr().err
    for words in (
        "own.swf: 1 of 4 jobs left out: more processors than the machine",
        "own.swf: 1 of 4 jobs left out: no run time",
        "own.swf: 1 of 2 jobs has no estimate; its run time is used instead",
    ):
        assert f"{words}." in page
        assert f"gas: {words}" in " ".join(err.split())


def test_malformed_lines_of_an_own_log_are_left_out_as_by_gas_simulate_but_not_those_of_an_archived_log(
    tmp_path, capsys
):
    log = own_log(tmp_path / "own.swf", (2, 60, 90), (2, 60, 90))
    with Path(log).open("a") as file:
        file.write("3 180 x\n")
    study = replace(BY_MONTH, own_logs=True, report=lambda found, origin: Report("Counting", origin.command, ()))
    perform(study, usual(STUDY), Where(None, tmp_path / "out", 1), Chosen([log], months=["1970-01"]))  # reads it again
    words = "own.swf: 1 malformed line left out: wrong number of fields (1)"
    assert f"{words}." in (tmp_path / "out" / "counting.md").read_text()
    assert "1 malformed line left out" in capsys.readouterr().err
    archived = Path(log).rename(tmp_path / "KTH-SP2-1996-2.swf")
    with pytest.raises(LogError, match="line 4: a line has 18 fields"):
        logs_at_hand(WITH_OWN, None, chosen=Chosen([str(archived)]))


def test_of_a_long_log_of_ones_own_quick_takes_some_months_and_says_which(tmp_path):
    """The last of ten months has a single job."""
    rows = [(month * 2_700_000 + 60 * i, 2, 60, 90) for month in range(10) for i in range(30 if month < 9 else 1)]
    lines = [f"{i} {submit} 0 {run} {size} -1 -1 {size} {asked} -1 1 1 1 1 1 1 -1 -1" for i, (submit, size, run, asked)
             in enumerate(rows, 1)]  # fmt: skip
    log = tmp_path / "own.swf"
    log.write_text("\n".join(["; MaxProcs: 8", "; UnixStartTime: 788918400", *lines, ""]))
    study = replace(BY_MONTH, own_logs=True, report=lambda found, origin: Report("Counting", origin.command, ()))
    few = Chosen([str(log)], quick=True)
    (found,) = logs_at_hand(study, None, chosen=few).logs
    months = ("1995-01", "1995-03", "1995-04", "1995-06", "1995-07", "1995-09")
    assert found.months == months
    (found,) = logs_at_hand(study, None, chosen=replace(few, months=["1995-03"])).logs
    assert found.months == ("1995-03",)
    (found,) = logs_at_hand(study, None, chosen=replace(few, quick=False)).logs
    assert found.months == ()
    perform(study, usual(STUDY), Where(None, tmp_path / "out", 1), few)
    page = (tmp_path / "out" / "counting.md").read_text().replace("\\", "")
    assert f"own.swf: --quick takes 6 of its 10 months ({', '.join(months)})." in page
    assert f"--log {log} --seed 0 --seeds 3 --quick" in page


def test_an_own_log_of_which_no_job_can_run_is_refused(tmp_path):
    log = own_log(tmp_path / "own.swf", (9, 60, 90), (2, -1, 90))
    with pytest.raises(BadInput, match="own.swf: none of its 2 jobs can run on 8 processors"):
        logs_at_hand(WITH_OWN, None, chosen=Chosen([log]))


def test_an_own_log_without_a_machine_is_refused_with_a_way_out_that_a_study_has(tmp_path):
    log = own_log(tmp_path / "own.swf", (2, 60, 90), machine=0)
    with pytest.raises(BadInput, match="gas convert LOG NEW.swf --processors N; at most 2 were in use at once"):
        logs_at_hand(WITH_OWN, None, chosen=Chosen([log]))


def test_an_own_log_is_not_taken_for_that_of_a_paper_because_of_its_name(tmp_path):
    """Studies would take the machine and the figures from the paper's log of that name."""
    log = own_log(tmp_path / "KTH.swf", (2, 60, 90))
    (found,) = logs_at_hand(WITH_OWN, None, chosen=Chosen([log])).logs
    assert (found.source.trace, found.source.processors) == ("KTH.swf", 8)


def test_own_logs_of_one_name_are_told_apart_and_a_log_counts_once(tmp_path, capsys):
    logs = [own_log(tmp_path / part / "x.swf", (size, 60, 90)) for size, part in enumerate("abc", 1)]
    (tmp_path / "same.swf").write_text(Path(logs[0]).read_text())
    found = logs_at_hand(WITH_OWN, None, chosen=Chosen([*logs, str(tmp_path / "same.swf")])).logs
    assert [log.source.trace for log in found] == ["x", "x.swf", "x (c)"]
    assert f"left out: {tmp_path}/same.swf: has the same content as {logs[0]}" in capsys.readouterr().err.replace(
        "\n", ""
    )


def test_a_log_that_was_not_chosen_is_named_once(made_logs):
    at_hand = logs_at_hand(replace(STUDY, traces={"KTH", "Par"}), made_logs, chosen=Chosen(["KTH"]))
    assert at_hand.absent == ["Par was not chosen"]


def test_a_misspelt_study_is_named_with_the_nearest_one(gas):
    assert 'there is no study "powr"; did you mean "power"?' in gas("experiment", "powr").err
