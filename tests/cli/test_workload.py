"""`gas workload`: logs made by models."""

import gzip
import io
import json
import tracemalloc

import numpy as np
import pytest

from workloads import format_swf, lublin, offered_load, parse_swf, read_swf, rigid_jobs, write_swf
from workloads.jann import JannModel, ctc_model, fit

MODELS = ["lublin", "jann", "downey", "feitelson"]


@pytest.fixture
def log_file(tmp_path):
    """A log of a machine of 64 processors."""
    log = lublin.generate(3000, 64, generator=np.random.default_rng(1))
    path = tmp_path / "machine.swf"
    write_swf(log, path)
    return path


@pytest.mark.parametrize("model", MODELS)
def test_a_log_of_each_model_is_written_with_a_summary_on_standard_error(gas, tmp_path, model):
    path = tmp_path / "x.swf"
    done = gas("workload", model, "--jobs", 500, "--processors", 400, "--load", 0.8, "--seed", 7, "-o", path)
    assert (done.code, done.out) == (0, "")
    log = read_swf(path)
    jobs = rigid_jobs(log)
    assert (len(jobs), jobs.machine, log.warnings) == (500, 400, ())
    assert offered_load(jobs) == pytest.approx(0.8, rel=1e-3)
    assert f"{model}: 500 jobs for 400 processors" in done.err
    assert "load 0.800" in done.err
    assert "serial" in done.err
    notes = " ".join(log.header.notes)
    assert f"gas workload {model} --jobs 500 --processors 400 --load 0.8 --seed 7" in notes
    assert "seed 7" in notes


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_bytes_wherever_they_go(gas, tmp_path, model):
    arguments = ("workload", model, "-n", 300, "--estimates", "f=5")
    for name in ("a.swf", "b.swf", "c.swf.gz"):
        assert gas(*arguments, "--seed", 3, "-o", tmp_path / name).code == 0
    first = (tmp_path / "a.swf").read_bytes()
    assert first == (tmp_path / "b.swf").read_bytes()
    assert first == gzip.decompress((tmp_path / "c.swf.gz").read_bytes())
    gas(*arguments, "--seed", 4, "-o", tmp_path / "d.swf")
    assert first != (tmp_path / "d.swf").read_bytes()


def test_without_a_file_the_log_goes_to_standard_output(gas, monkeypatch):
    class Output(io.StringIO):
        buffer = io.BytesIO()

    for options in ((), ("-o", "-")):
        Output.buffer = io.BytesIO()
        monkeypatch.setattr("sys.stdout", Output())
        assert gas("workload", "lublin", "-n", "50", *options).code == 0
        assert len(parse_swf(Output.buffer.getvalue())) == 50


def test_the_command_in_the_header_makes_the_same_log_again(gas, tmp_path):
    asked = ["workload", "feitelson", "-n", 200, "--variant", "Fs", "--set", "time_unit=60", "--set", "think_time=5"]
    gas(*asked, "--estimates", "f=2.5", "--arrivals", "uniform-log", "--load", "0.65", "-o", tmp_path / "a.swf")
    note = read_swf(tmp_path / "a.swf").header.notes[-1]
    again = note.partition("made by: gas ")[2].split()
    assert gas(*again, "-o", tmp_path / "b.swf").code == 0
    assert (tmp_path / "a.swf").read_bytes() == (tmp_path / "b.swf").read_bytes()


def test_json_is_one_object_that_agrees_with_the_log(gas, tmp_path):
    done = gas("workload", "lublin", "-n", 400, "-p", 100, "--json", "-o", tmp_path / "x.swf")
    assert done.code == 0
    jobs = rigid_jobs(read_swf(tmp_path / "x.swf"))
    summary = done.json
    assert (summary["schema"], summary["model"], summary["jobs"], summary["processors"]) == (
        "gas.workload/1",
        "lublin",
        400,
        100,
    )
    assert summary["load"] == pytest.approx(offered_load(jobs))
    assert summary["mean_run_time"] == pytest.approx(jobs.run_time.mean())
    assert summary["longest_run_time"] == jobs.run_time.max()
    assert summary["serial"] == pytest.approx(np.mean(jobs.processors == 1))
    assert summary["power_of_two"] == pytest.approx(np.mean([bin(n).count("1") == 1 for n in jobs.processors.tolist()]))
    assert summary["span"] == jobs.submit[-1] - jobs.submit[0]


def test_json_alone_writes_no_log(gas):
    done = gas("workload", "downey", "-n", 20, "--json")
    assert json.loads(done.out)["jobs"] == 20


# Estimates


@pytest.mark.parametrize(
    ("estimates", "holds"),
    [
        ("exact", lambda run, asked: (asked == np.maximum(run, 1)).all()),
        ("f=3", lambda run, asked: (asked >= run).all() and (asked <= 3 * run).all() and (asked > run).any()),
        ("mualem-feitelson", lambda run, asked: (asked < run).any() and (asked > run).any() and asked.max() <= 86_400),
        ("none", lambda run, asked: (asked == -1).all()),
    ],
)
def test_estimates_can_be_chosen_and_change_nothing_else(gas, tmp_path, estimates, holds):
    gas("workload", "feitelson", "-n", 500, "--estimates", estimates, "-o", tmp_path / "x.swf")
    gas("workload", "feitelson", "-n", 500, "-o", tmp_path / "plain.swf")
    log, plain = read_swf(tmp_path / "x.swf"), read_swf(tmp_path / "plain.swf")
    short_enough = log.run_time < 80_000
    assert holds(log.run_time[short_enough], log.requested_time[short_enough])
    for name in ("submit", "run_time", "allocated_processors"):
        assert (getattr(log, name) == getattr(plain, name)).all()


# Options of models


def test_lublin_takes_types_and_constants(gas, tmp_path):
    gas("workload", "lublin", "-n", 300, "--types", "batch", "--set", "batch.p_serial=0", "-o", tmp_path / "x.swf")
    log = read_swf(tmp_path / "x.swf")
    assert set(log.queue.tolist()) == {1}
    assert (log.allocated_processors == 1).mean() < 0.1
    gas("workload", "lublin", "-n", 300, "--set", "longest_ln_run_time=5", "-o", tmp_path / "y.swf")
    assert read_swf(tmp_path / "y.swf").run_time.max() <= 148  # e^5


def test_feitelson_takes_variants(gas, tmp_path):
    means = {}
    for variant in ("F", "Fl"):
        done = gas("workload", "feitelson", "-n", 2000, "--variant", variant, "--json")
        means[variant] = done.json["mean_run_time"]
    assert means["Fl"] > 3 * means["F"]


def test_downey_takes_sizes_and_constants(gas, tmp_path):
    done = gas("workload", "downey", "-n", 200, "--sizes", "power-of-two", "--set", "largest_parallelism=9", "--json")
    assert (done.json["power_of_two"], done.json["largest_job"]) == (1, 8)


def test_downeys_run_times_are_those_of_downeys_speed_up_model(gas, tmp_path):
    """A = 1 leaves only the sequential time; otherwise run time · speed-up gives work within its limits."""
    gas(
        "workload",
        "downey",
        "-n",
        500,
        "--set",
        "largest_parallelism=1",
        "--set",
        "longest_work=1000",
        "-o",
        tmp_path / "x",
    )
    log = read_swf(tmp_path / "x")
    assert set(log.allocated_processors.tolist()) == {1}
    assert 10 <= log.run_time.min() <= log.run_time.max() <= 1000


# Jann


def test_jann_is_that_of_the_ctc_sp2_unless_another_is_named(gas, tmp_path):
    gas("workload", "jann", "-n", 100, "-o", tmp_path / "x.swf")
    log = read_swf(tmp_path / "x.swf")
    assert rigid_jobs(log).machine == ctc_model().machine == 322
    assert "Dan Dwyer and Steve Hotovy" in log.acknowledgements


def test_jann_can_be_fitted_saved_and_used_without_the_log(gas, tmp_path, log_file):
    saved = tmp_path / "model.toml"
    done = gas("workload", "jann", "--fit", log_file, "--save-model", saved, "-n", 200, "-o", tmp_path / "a.swf")
    assert done.code == 0
    assert f"{saved}: written" in done.err
    assert JannModel.from_toml(saved.read_text()) == fit(read_swf(log_file))
    gas("workload", "jann", "--model", saved, "-n", 200, "-o", tmp_path / "b.swf")
    assert _jobs(tmp_path / "a.swf") == _jobs(tmp_path / "b.swf")
    assert rigid_jobs(read_swf(tmp_path / "a.swf")).machine == 64
    assert "Uri Lublin and Dror Feitelson, for the model" in read_swf(tmp_path / "b.swf").acknowledgements


def _jobs(path):
    return [line for line in path.read_text().splitlines() if not line.startswith(";")]


def test_saving_a_model_alone_writes_no_log_to_standard_output(gas, tmp_path, log_file):
    done = gas("workload", "jann", "--fit", log_file, "--save-model", tmp_path / "m.toml")
    assert (done.code, done.out) == (0, "")


def test_jann_fitted_for_a_smaller_machine_leaves_larger_jobs_out(gas, tmp_path, log_file):
    gas("workload", "jann", "--fit", log_file, "-p", 16, "-n", 500, "-o", tmp_path / "x.swf")
    jobs = rigid_jobs(read_swf(tmp_path / "x.swf"))
    assert jobs.machine == 16
    assert jobs.skipped == {}


def test_jann_can_have_ranges_of_five(gas, tmp_path, log_file):
    saved = tmp_path / "m.toml"
    gas("workload", "jann", "--fit", log_file, "--ranges", "multiples-of-five", "--save-model", saved)
    model = JannModel.from_toml(saved.read_text())
    assert {one.last % 5 for one in model.ranges[:-1]} == {0}


# Pictures


@pytest.mark.thorough
def test_the_run_times_can_be_drawn_beside_those_of_logs(gas, tmp_path, log_file):
    picture = tmp_path / "x.svg"
    done = gas("workload", "lublin", "-n", 500, "--plot", picture, "--compare", log_file)
    assert (done.code, done.out) == (0, "")
    text = picture.read_text()
    assert "Lublin-Feitelson model: run times by size" in text
    assert "<!-- lublin -->" in text
    assert "<!-- machine -->" in text


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lubln"], 'there is no model "lubln"; did you mean "lublin"?'),
        (["x"], "known: downey, feitelson, jann, lublin"),
        (["lublin", "--jobs", "0"], "--jobs 0: must be from 1 to 2147483647"),
        (["lublin", "--processors", "4"], "a machine of 4 processors is too small for the model; it needs 8 or more"),
        (["lublin", "--processors", "0"], "--processors 0: must be from 1"),
        (["jann", "--processors", "100"], "need 322; fit a model for this size: --fit LOG -p 100"),
        (["lublin", "--load", "0"], "--load 0: cannot be reached"),
        (["feitelson", "--load", "-0.5"], "--load -0.5: cannot be reached"),
        (["lublin", "--load", "nan"], "--load nan: cannot be reached"),
        (["lublin", "--jobs", "1", "--load", "0.5"], "no load to scale"),
        (["jann", "--types", "one"], "--types: applies to lublin, not to jann"),
        (["jann", "--set", "a=1"], "--set: applies to lublin and downey and feitelson, not to jann"),
        (["lublin", "--types", "batches"], "types 'batches' are not known"),
        (["lublin", "--set", "batch.p_serail=0.1"], 'did you mean "p_serial"?'),
        (["lublin", "--set", "p_serial=0.1"], "--set p_serial: the model has no such constant"),
        (["lublin", "--set", "batch.p_u=7"], "p_u 7.0 is not a share"),
        (["feitelson", "--variant", "Fx"], '--variant "Fx": is not known'),
        (["feitelson", "--set", "time_unit"], "--set time_unit: write NAME=VALUE with a number"),
        (["feitelson", "--set", "time_unit=nan"], "write NAME=VALUE with a number"),
        (["feitelson", "--set", "most_repeats=1.5"], "most_repeats=1.5: must be an integer"),
        (["feitelson", "--arrivals", "weekly"], 'arrivals "weekly" are not known'),
        (["downey", "--sizes", "tiny"], '--sizes "tiny": is not known; known: average, power-of-two, uniform'),
        (["downey", "--set", "longest_work=1"], "shortest_work 10 to longest_work 1 s"),
        (["downey", "--set", "work=1"], "--set work: the model has no such constant"),
        (["lublin", "--estimates", "exakt"], '--estimates exakt: is not known; did you mean "exact"?'),
        (["lublin", "--estimates", "f=x"], "write f=FACTOR"),
        (["lublin", "--estimates", "f=0.5"], "factor 0.5"),
        (["jann", "--fit", "nowhere.swf"], "nowhere.swf: cannot be read: No such file"),
        (["jann", "--model", "nowhere.toml"], "nowhere.toml: cannot be read: No such file"),
        (["jann", "--ranges", "powers-of-two"], "--ranges: needs --fit LOG"),
        (["lublin", "--plot", "x.gif"], "x.gif: the name of a picture must end in"),
        (["lublin", "--compare", "x.swf"], "--compare: needs --plot"),
        (["lublin", "--json", "-o", "-"], "both write to standard output"),
        (["lublin", "-o", "nowhere/x.swf"], "nowhere/x.swf: cannot be written: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_with_the_way_out(gas, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = gas("workload", *arguments)
    assert done.code == 2
    assert said in done.err.splitlines()[-1]
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_model_and_a_log_to_fit_are_one_too_many(gas, log_file):
    done = gas("workload", "jann", "--fit", log_file, "--model", "x.toml")
    assert done.code == 2
    assert "cannot be used together" in done.err


def test_a_file_that_is_no_model_is_refused(gas, log_file, tmp_path):
    done = gas("workload", "jann", "--model", log_file)
    assert done.code == 2
    assert "machine.swf: is not TOML" in done.err
    (tmp_path / "raw").write_bytes(b"\xff\xfe")
    assert "is not text" in gas("workload", "jann", "--model", tmp_path / "raw").err


def test_what_is_read_is_not_written_over(gas, log_file):
    before = log_file.read_bytes()
    for option in ("-o", "--save-model"):
        done = gas("workload", "jann", "--fit", log_file, option, log_file)
        assert done.code == 2
        assert "would overwrite an input" in done.err
    assert log_file.read_bytes() == before


@pytest.mark.thorough
def test_a_large_log_takes_under_300_bytes_a_job_until_it_is_written(gas, tmp_path):
    gas("workload", "jann", "-n", 10, "-o", tmp_path / "x.swf")
    tracemalloc.start()
    done = gas("workload", "jann", "-n", 60_000, "--load", 0.7, "-o", tmp_path / "x.swf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert done.code == 0
    assert peak < 300 * 60_000


def test_the_written_log_is_the_generators_own(gas, tmp_path):
    gas("workload", "lublin", "-n", 100, "--seed", 5, "--estimates", "none", "-o", tmp_path / "x.swf")
    made = lublin.generate(100, 128, generator=np.random.default_rng(5))
    assert _jobs(tmp_path / "x.swf") == [
        line for line in format_swf(made).decode().splitlines() if not line.startswith(";")
    ]


def test_an_interruption_leaves_the_log_that_was_there(gas, tmp_path, monkeypatch):
    path = tmp_path / "x.swf"
    path.write_bytes(b"old")

    def interrupted(log, target):
        target.write(b"; Version")
        raise KeyboardInterrupt

    monkeypatch.setattr("workloads.write_swf", interrupted)
    assert gas("workload", "lublin", "-n", 10, "-o", path).code == 130
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir() if "x.swf" in each.name] == ["x.swf"]
