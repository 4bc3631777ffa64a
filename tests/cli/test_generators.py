"""Generators of logs: the options of each model, and a command in the header that generates the log again."""

import shlex

import pytest

from gas.cli.generators import Request, check_model, generated
from gas.errors import BadInput

MODELS = ("lublin", "jann", "downey", "feitelson")


def request(model="lublin", /, *, jobs=30, processors=None, load=None, seed=1, estimates="none", **own):
    own = {name.replace("_", "-"): value for name, value in own.items()}
    return Request(model, jobs, processors, load, seed, estimates, own)


@pytest.mark.parametrize("model", MODELS)
def test_a_request_is_its_log_and_the_seed_changes_it(model):
    processors = 512 if model == "jann" else 64
    one, again, other = (generated(request(model, processors=processors, seed=seed)) for seed in (1, 1, 2))
    assert len(one) == 30
    assert one.submit.tolist() == again.submit.tolist() != other.submit.tolist()
    assert one.header == again.header


@pytest.mark.parametrize("model", MODELS)
def test_the_header_names_the_command_that_generates_it(model):
    asked = request(model, processors=512, load=0.7, estimates="f=2")
    words = shlex.split(asked.command())
    assert words[:5] == ["gas", "workload", model, "--jobs", "30"]
    assert asked.command() in " ".join(generated(asked).header.notes)


def test_a_command_has_the_options_that_were_given_and_of_files_their_names_only():
    asked = request(
        "jann", processors=512, seed=7, fit="/data/CTC.swf", ranges="powers-of-two", save_model="/tmp/model.toml"
    )
    assert asked.command() == (
        "gas workload jann --jobs 30 --processors 512 --seed 7 --estimates none --fit CTC.swf --ranges powers-of-two"
    )
    several = request("downey", set=["sigma=1", "b = 2"])
    assert shlex.split(several.command())[-4:] == ["--set", "sigma=1", "--set", "b = 2"]


def test_an_unknown_model_is_refused_with_the_nearest():
    with pytest.raises(BadInput, match='there is no model "lublim"; did you mean "lublin"'):
        check_model("lublim", {})


def test_an_option_of_another_model_names_its_owners():
    assert check_model("downey", {"sizes": "average", "set": []}) == "downey"
    with pytest.raises(BadInput, match="--arrivals: applies to downey and feitelson, not to lublin"):
        check_model("lublin", {"arrivals": "poisson"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request(jobs=0), "--jobs 0: must be from 1 to 2147483647"),
        (request(processors=0), "--processors 0: must be from 1 to 16777216"),
        (request(processors=2**24 + 1), "--processors 16777217: must be from 1"),
        (request(estimates="exakt"), '--estimates exakt: is not known; did you mean "exact"'),
        (request(estimates="f=x"), "--estimates f=x: write f=FACTOR with a number of at least 1"),
        (request(set=["al"]), "--set al: write NAME=VALUE with a number"),
        (request(set=["al=nan"]), "--set al=nan: write NAME=VALUE with a number"),
        (request(set=["batch.a7=1"]), "--set batch.a7: the model has no such constant"),
        (request(set=["nothing=1"]), "--set nothing: the model has no such constant"),
        (request("downey", sizes="mean"), '--sizes "mean": is not known'),
        (request("downey", set=["sigmaa=1"]), "--set sigmaa: the model has no such constant"),
        (request("feitelson", variant="G"), '--variant "G": is not known'),
        (request("jann", fit="a", model="b"), "--fit and --model: cannot be used together"),
        (request("jann", ranges="fives"), "--ranges: needs --fit LOG"),
        (request("jann", processors=8), "--processors 8: is too small for the model of .*, whose largest jobs need"),
        (request("jann", model="/nowhere/m.toml"), "/nowhere/m.toml: cannot be read: No such file"),
        (request(jobs=10**18), "--jobs 1000000000000000000: must be from 1 to 2147483647"),
        (request(load=1e-300), "^--load 1e-300: the arrivals would span more than 2..53 s; give a larger load"),
        (request(estimates="f=1e308"), "factor 1e.308 makes estimates beyond 2..53 s"),
        (request(set=["batch.aarr=1e6"]), "nearly all interarrival times are longer than longest_ln_interarrival 13"),
        (request(set=["longest_ln_run_time=0"]), "nearly all run times are longer than longest_ln_run_time 0 allows"),
        (request(set=["longest_ln_run_time=1e18"]), "too large or too small to compute; use less extreme values"),
        (request(set=["batch.anum=1e18"], load=0.5), "^--set batch.anum=1e18, --load 0.5: .* too large or too small"),
        (request(set=["machine=0"]), "machine 0 must be 1 or more"),
        (
            request("feitelson", set=["think_time=1e308"]),
            "^--set think_time=1e308: .* too large or too small to compute",
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_the_way_out(asked, message):
    with pytest.raises(BadInput, match=message):
        generated(asked)


def test_a_constant_that_is_set_changes_the_log():
    plain, changed = (generated(request("feitelson", jobs=200, set=own)) for own in ([], ["time_unit=60"]))
    assert plain.run_time.tolist() != changed.run_time.tolist()


@pytest.mark.parametrize(
    ("estimates", "holds"),
    [
        ("none", lambda asked, ran: (asked == -1).all()),
        ("exact", lambda asked, ran: (asked >= ran).all() and (asked - ran < 1).all()),
        ("f=3", lambda asked, ran: (asked >= ran).all() and (asked <= 3 * ran + 1).all() and (asked > ran + 1).any()),
        ("mualem-feitelson", lambda asked, ran: (asked > 2 * ran).mean() > 0.5),
    ],
)
def test_estimates_are_those_of_the_model_that_is_named(estimates, holds):
    log = generated(request(jobs=200, estimates=estimates))
    assert holds(log.requested_time, log.run_time)
    assert f"estimates: {estimates}" in log.header.notes
