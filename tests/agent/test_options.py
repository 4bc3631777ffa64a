"""Options of an agent have types, and values out of range are refused at once."""

from datetime import timedelta

import pytest

from gas.agent.options import Forecasting, Instant, PlanOptions, Run, checked_key, checked_samples, percentage
from gas.endpoints import JobDescription
from gas.errors import BadInput


@pytest.mark.parametrize(
    ("given", "at", "written"),
    [
        (1000, 1000, "@1000"),
        (timedelta(hours=2), 7300, "+7200s"),
        (Instant.parse("+2h", "--deadline"), 7300, "+2h"),
        (Instant.parse("@1000", "--deadline"), 1000, "@1000"),
        (Instant.parse("1970-01-01T00:20:00+00:00", "--deadline"), 1200, "1970-01-01T00:20:00+00:00"),
    ],
)
def test_an_instant_is_of_the_clock_or_from_now(given, at, written):
    found = Instant.of(given)
    assert (found.at(100), str(found)) == (at, written)


def test_what_is_no_instant_is_refused_by_its_name():
    for text in ("tomorrow", "+", "@x"):
        with pytest.raises(BadInput, match="--not-before"):
            Instant.parse(text, "--not-before")


@pytest.mark.parametrize("samples", [0, -1, 10_001])
def test_samples_have_bounds(samples):
    with pytest.raises(BadInput, match=f"samples {samples}: must be from 1 to 10,000"):
        Forecasting(samples=samples)
    with pytest.raises(BadInput, match=f"--samples {samples}"):
        checked_samples(samples, "--samples")


@pytest.mark.parametrize("risk", [0, 1, 90, float("nan")])
def test_a_risk_is_a_share_of_the_samples(risk):
    with pytest.raises(BadInput, match="risk"):
        Forecasting(risk=risk)
    with pytest.raises(BadInput, match="sure"):
        Forecasting(sure=risk)


def test_what_is_to_be_sure_needs_a_deadline_and_is_the_cheapest():
    asked = Forecasting(sure=0.95)
    assert PlanOptions(deadline=timedelta(hours=2), forecasting=asked).forecasting is asked
    for options, told in (({}, "add --deadline"), ({"deadline": 5, "tolerance": 0.1}, "leave out --tolerance")):
        with pytest.raises(BadInput, match=told):
            PlanOptions(forecasting=asked, **options)
    with pytest.raises(BadInput, match="leave one out"):
        Forecasting(sure=0.95, risk=0.95)


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "ü"])
def test_a_key_is_a_word(key):
    with pytest.raises(BadInput, match="1 to 200 printable ASCII"):
        checked_key(key)


def test_a_command_is_a_job_of_the_applications_name():
    job = JobDescription("ocean", ("./ocean", "{processors}"))
    assert Run.of(["./ocean", "{processors}"], "ocean") == Run.of(job, "x") == Run(job)
    run = Run(job, simulate=True)
    assert Run.of(run, "x") is run
    with pytest.raises(BadInput, match=r"write a list of words, for example \['./ocean', '-v'\]"):
        Run.of("./ocean -v", "ocean")


def test_a_whole_command_in_one_word_is_refused_unless_a_program_is_called_so(tmp_path):
    program = tmp_path / "my app"
    for job in (JobDescription("x", ("./app -n 4",)), JobDescription("x", ("my app",))):
        for what in (job, Run(job)):
            with pytest.raises(BadInput, match=r"no program is called '.* give its words separately.*sh -c '"):
                Run.of(what, "x")
    program.touch()
    for job in (JobDescription("x", (str(program),)), JobDescription("x", ("my app",), directory=str(tmp_path))):
        assert Run.of(job, "x") == Run(job)
    assert Run.of(["sh", "-c", "./app -n 4"], "x").job.command[2] == "./app -n 4"


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), (" 100% ", 1), ("0%", 0)])
def test_a_percentage_is_a_share(text, share):
    assert percentage(text, "--x") == share


@pytest.mark.parametrize("text", ["5", "x%", "101%", "-1%"])
def test_what_is_none_is_refused(text):
    with pytest.raises(BadInput, match="--x"):
        percentage(text, "--x")
