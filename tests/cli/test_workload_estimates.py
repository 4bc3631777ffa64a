"""`gas workload estimates`: a log with the estimates of a model."""

import gzip
import io

import numpy as np
import pytest

from workloads import lublin, parse_swf, read_swf, write_swf
from workloads.estimate_models import MODELS, with_estimates
from workloads.estimates import accuracy

NEEDED = {"uniform": ["--set", "factor=4"]}


@pytest.fixture
def log_file(tmp_path):
    """A log with wait times and rough estimates."""
    log = lublin.generate(500, 64, generator=np.random.default_rng(1))
    log = log.with_columns(
        wait=np.arange(500) % 7 * 60,
        user=np.arange(500) % 5,
        executable=np.arange(500) % 3,
        requested_time=np.ceil(log.run_time / 3600 + 0.5) * 3600,
    )
    path = tmp_path / "machine.swf"
    write_swf(log, path)
    return path


@pytest.mark.parametrize("model", MODELS)
def test_the_log_with_the_estimates_of_each_model_is_written(gas, tmp_path, log_file, model):
    path = tmp_path / "x.swf"
    done = gas("workload", "estimates", model, log_file, "--seed", 7, *NEEDED.get(model, []), "-o", path)
    assert (done.code, done.out) == (0, "")
    constants = {"factor": 4} if model == "uniform" else {}
    expected = with_estimates(read_swf(log_file), model, seed=7, **constants)
    assert (read_swf(path).requested_time == expected.requested_time).all()
    assert read_swf(path).header == expected.header
    assert f"{model}: " in done.err
    assert "of 500 jobs changed" in done.err


def test_a_packed_file_has_the_same_bytes_inside(gas, tmp_path, log_file):
    for name in ("a.swf", "b.swf.gz"):
        gas("workload", "estimates", "exact", log_file, "-o", tmp_path / name)
    assert gzip.decompress((tmp_path / "b.swf.gz").read_bytes()) == (tmp_path / "a.swf").read_bytes()


def test_without_a_file_the_log_goes_to_standard_output(gas, monkeypatch, log_file):
    class Output(io.StringIO):
        buffer = io.BytesIO()

    monkeypatch.setattr("sys.stdout", Output())
    assert gas("workload", "estimates", "doubled", str(log_file)).code == 0
    log = parse_swf(Output.buffer.getvalue())
    assert (log.requested_time == 2 * read_swf(log_file).requested_time).all()


def test_json_compares_the_estimates_before_and_after(gas, tmp_path, log_file):
    path = tmp_path / "x.swf"
    done = gas("workload", "estimates", "history", log_file, "--set", "deviations=2", "--json", "-o", path)
    before, after = read_swf(log_file), read_swf(path)
    summary = done.json
    assert summary["schema"] == "gas.workload.estimates/1"
    assert (summary["model"], summary["seed"], summary["constants"]) == ("history", 0, {"deviations": 2})
    assert summary["jobs"] == 500
    assert summary["changed"] == np.sum(before.requested_time != after.requested_time)
    for name, log in (("before", before), ("after", after)):
        run, asked = log.run_time, log.requested_time
        assert summary["underestimated"][name] == np.mean(run > asked)
        assert summary["mean_accuracy"][name] == pytest.approx(accuracy(run, asked).mean())
        assert summary["distinct_estimates"][name] == len(set(asked.tolist()))


def test_the_same_is_told_in_words(gas, log_file, tmp_path):
    done = gas("workload", "estimates", "exact", log_file, "-o", tmp_path / "x.swf")
    assert ", 1.000 now" in done.err
    assert "shorter than the run time: 0.0% before, 0.0% now" in done.err


def test_a_log_without_estimates_has_none_to_compare(gas, tmp_path):
    write_swf(lublin.generate(20, 64, generator=np.random.default_rng(1)), tmp_path / "bare.swf")
    done = gas("workload", "estimates", "exact", tmp_path / "bare.swf", "--json")
    assert done.json["mean_accuracy"] == {"before": None, "after": 1.0}
    assert "none before, 1.000 now" in gas("workload", "estimates", "exact", tmp_path / "bare.swf").err


def test_its_help_is_its_own_and_that_of_workload_names_it(gas):
    own = gas("workload", "estimates", "--help").out
    assert own.startswith("Usage: gas workload estimates [OPTIONS]")
    assert "--jobs" not in own
    assert "gas workload estimates MODEL LOG" in gas("workload", "--help").out
    assert gas("workload", "estimates", "-h").out == own


def test_its_help_says_what_each_model_needs_of_a_log(gas):
    told = gas("workload", "estimates", "--help").out.partition("the fields of the log")[2]
    needs = {words[0]: " ".join(words[1:]) for words in map(str.split, told.splitlines()) if words}
    for model, what in {
        "exact": "run times;",
        "uniform": "run times;",
        "mualem-feitelson": "run times;",
        "tsafrir": "run times, and estimates",
        "doubled": "estimates;",
        "history": "users, wait and run times;",
        "last-two": "users, wait and run times;",
    }.items():
        assert needs[model].startswith(what)
    assert set(MODELS) <= set(needs)
    assert "one job in ten gets 0.99 of its run time" in " ".join(told.split())


def test_that_short_estimates_end_jobs_is_said_where_there_are_any(gas, tmp_path, log_file):
    said = "gas simulate kills jobs at their estimates unless --overrun extend is given"
    short, enough = (gas("workload", "estimates", m, log_file, "-o", tmp_path / "x.swf") for m in ("history", "exact"))
    assert said in short.err
    assert said not in enough.err


@pytest.mark.parametrize("model", ["history", "last-two"])
def test_a_model_of_users_refuses_a_log_without_any_and_names_those_that_do_not_need_them(
    gas, tmp_path, log_file, model
):
    write_swf(read_swf(log_file).with_columns(user=np.full(500, -1)), tmp_path / "nobody.swf")
    done = gas("workload", "estimates", model, tmp_path / "nobody.swf", "-o", tmp_path / "x.swf")
    assert done.code == 2
    assert "nobody.swf: names no users (field 12)" in done.err
    assert f"{model} learns from earlier jobs of the same user, so it needs users" in done.err
    assert "exact, uniform, mualem-feitelson, tsafrir and doubled do not" in done.err
    assert not (tmp_path / "x.swf").exists()


def test_a_log_that_knows_users_but_no_programs_has_a_past(gas, tmp_path, log_file):
    write_swf(read_swf(log_file).with_columns(executable=np.full(500, -1)), tmp_path / "users.swf")
    done = gas("workload", "estimates", "last-two", tmp_path / "users.swf", "--json")
    assert (done.code, done.json["unnamed"]) == (0, {"user": 0})
    assert done.json["changed"] > 400
    done = gas("workload", "estimates", "history", tmp_path / "users.swf", "-o", tmp_path / "x.swf")
    assert (done.code, "names no programs: earlier jobs are matched by user and size only" in done.err) == (0, True)


def test_how_many_jobs_have_no_user_or_program_is_said(gas, tmp_path, log_file):
    some = np.arange(500)
    log = read_swf(log_file)
    log = log.with_columns(user=np.where(some < 30, -1, log.user), executable=np.where(some > 487, -1, log.executable))
    write_swf(log, tmp_path / "some.swf")

    def run(model, *options):
        return gas("workload", "estimates", model, tmp_path / "some.swf", *(options or ["-o", tmp_path / "x.swf"]))

    assert "of 500 jobs, 30 without a user: their estimates are unchanged" in run("last-two").err
    assert "of 500 jobs, 30 without a user and 12 without a program: estimated from all" in run("history").err
    assert run("history", "--json").json["unnamed"] == {"user": 30, "executable": 12}
    assert run("exact", "--json").json["unnamed"] == {}
    assert "without a user" not in run("exact").err


def test_a_word_is_a_constant_too(gas, tmp_path, log_file):
    for reading in ("idle", "window"):
        done = gas("workload", "estimates", "history", log_file, "--set", f"forget={reading}", "-o", tmp_path / reading)
        assert done.code == 0
        assert f"forget {reading}" in read_swf(tmp_path / reading).header.notes[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lasttwo", "machine.swf"], 'there is no model of estimates "lasttwo"; did you mean "last-two"?'),
        (["x", "machine.swf"], "known: doubled, exact, history"),
        (["uniform", "machine.swf"], "uniform: needs the largest factor on run times, for example --set factor=3"),
        (["uniform", "machine.swf", "--set", "factor"], "--set factor: write NAME=VALUE"),
        (["uniform", "machine.swf", "--set", "factor=inf"], "--set factor=inf: is not a finite number"),
        (["uniform", "machine.swf", "--set", "factor=x"], "factor must be a number, not 'x'"),
        (["uniform", "machine.swf", "--set", "factor=0"], "factor 0 would put estimates below run times"),
        (["exact", "machine.swf", "--set", "factor=2"], "--set factor: the model has no such constant"),
        (["doubled", "machine.swf", "--set", "fctor=2"], 'no such constant; did you mean "factor"?'),
        (["doubled", "machine.swf", "--set", "log=2"], "--set log: the model has no such constant; known: factor"),
        (["tsafrir", "machine.swf", "--set", "longest=60"], "longest estimate of 60 s"),
        (["exact", "nowhere.swf"], "nowhere.swf: cannot be read: No such file"),
        (["exact", "machine.swf", "-o", "machine.swf"], "-o machine.swf: would overwrite an input"),
        (["exact", "machine.swf", "-o", "-", "--json"], "both write to standard output"),
        (["exact", "machine.swf", "-o", "nowhere/x.swf"], "nowhere/x.swf: cannot be written: No such file"),
        (["exact"], "Missing argument 'LOG'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_with_the_way_out(gas, arguments, said, log_file, monkeypatch):
    monkeypatch.chdir(log_file.parent)
    before = log_file.read_bytes()
    done = gas("workload", "estimates", *arguments)
    assert done.code == 2
    assert said in done.err.splitlines()[-1]
    assert done.out == ""
    assert log_file.read_bytes() == before


def test_a_log_whose_ends_nobody_knows_has_no_history(gas, tmp_path):
    log = lublin.generate(20, 64, generator=np.random.default_rng(1)).with_columns(user=np.ones(20))
    write_swf(log, tmp_path / "bare.swf")
    done = gas("workload", "estimates", "last-two", tmp_path / "bare.swf")
    assert (done.code, done.out) == (2, "")
    assert "bare.swf: without wait times and run times, ends of jobs are not known" in done.err
