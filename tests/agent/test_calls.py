"""One call plans, and one submits, with natural Python values."""

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gas
from gas import AvailabilityList, BadInput, Infeasible, StalePlan
from gas.agent.values import gas_errors_alone
from gas.planner import plan as planned

EXAMPLES = Path(__file__).parent.parent / "examples"
OCEAN, CLUSTER = EXAMPLES / "ocean.toml", EXAMPLES / "cluster.json"
NOW = 1_800_000_000


def best(**wanted):
    return gas.plan(OCEAN, gas.read_availability(CLUSTER), **wanted).best


def test_a_plan_of_files_is_that_of_what_they_hold():
    by_hand = planned(gas.read_application(OCEAN), gas.read_availability(CLUSTER))
    of_files = gas.plan(str(OCEAN), str(CLUSTER), stale_ok=True)
    assert of_files.candidates
    assert of_files.best == by_hand.best


@pytest.mark.parametrize(
    ("wanted", "as_epoch_seconds"),
    [
        ({"tolerance": "25%"}, {"tolerance": 0.25}),
        ({"not_before": timedelta(hours=1)}, {"not_before": NOW + 3600}),
        ({"not_before": "+1h"}, {"not_before": NOW + 3600}),
        ({"deadline": datetime.fromtimestamp(NOW + 14000, UTC)}, {"deadline": NOW + 14000}),
        ({"max_processor_hours": 54}, {"max_processor_hours": 54}),
        ({"algorithm": "walk"}, {"algorithm": "walk"}),
    ],
)
def test_options_are_natural_values(wanted, as_epoch_seconds):
    lists = gas.read_availability(CLUSTER)
    expected = planned(gas.read_application(OCEAN), lists, **as_epoch_seconds)
    found = gas.plan(OCEAN, lists, **wanted)
    assert (found.best, found.candidates) == (expected.best, expected.candidates)


def test_walltimes_by_size_are_an_application():
    assert best().processors == 32
    found = gas.plan({16: "4h", 64: timedelta(hours=1)}, gas.read_availability(CLUSTER))
    assert {(one.processors, one.walltime) for one in found.candidates} <= {(16, 14400), (64, 3600)}


def test_several_lists_are_planned_with_together():
    one, other = (AvailabilityList.of([NOW], [n], scheduler=f"of {n}") for n in (8, 16))
    found = gas.plan(OCEAN, [one, other])
    assert found.best.scheduler == "of 16"
    limited = gas.plan(OCEAN, [one, other], limits={"of 16": gas.Limits(max_processors=4)})
    assert limited.best.scheduler == "of 8"


@pytest.mark.parametrize("schedulers", [CLUSTER, None, AvailabilityList.of([NOW], [8], scheduler="of 8")])
@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"of 16": gas.Limits(4)}, "limits: no availability list is called 'of 16'"),
        ({"of 8": 4}, "limits {'of 8': 4}: write Limits for each list"),
        (4, "limits 4: write Limits for each list"),
    ],
)
def test_limits_that_would_apply_to_nothing_are_refused(schedulers, limits, said):
    with pytest.raises(BadInput, match=said):
        gas.plan(OCEAN, schedulers, limits=limits)


def test_an_old_file_is_refused_and_a_list_at_hand_is_not():
    with pytest.raises(BadInput, match="stale"):
        gas.plan(OCEAN, CLUSTER)
    assert best() is not None


@pytest.mark.parametrize(
    "wanted",
    [
        {"tolerance": "25"},
        {"tolerance": None},
        {"deadline": 1.5},
        {"deadline": NOW - 1},
        {"max_processor_hours": "many"},
        {"max_processor_hours": True},
        {"algorithm": "guess"},
        {"algorithm": [1, 2]},
        {"config": 5},
        {"risk": "90%"},
        {"samples": 10},
        {"predict": "no-such-log"},
        {"predict": "auto"},
        {"predict": "auto", "risk": "100%"},
        {"sure": "90%"},
        {"predict": "auto", "sure": "90%"},
        {"config": "no-such.toml", "stale_ok": True, "predict": 7},
    ],
)
def test_what_cannot_be_is_an_error_of_gas(wanted):
    with pytest.raises(BadInput):
        best(**wanted)


def test_a_mistyped_keyword_names_the_right_one():
    with pytest.raises(TypeError, match='did you mean "tolerance"'):
        best(tolerence="5%")


@pytest.mark.parametrize("call", [gas.plan, gas.submit])
def test_the_signature_shows_every_option(call):
    names = list(inspect.signature(call).parameters)
    assert {"application", "schedulers", "deadline", "tolerance", "predict", "stale_ok"} <= set(names)
    assert "wanted" not in names


def test_a_list_takes_no_jobs():
    with pytest.raises(BadInput, match="accepts no jobs"):
        gas.submit(OCEAN, ["./ocean"], gas.read_availability(CLUSTER))


def test_an_unknown_placeholder_is_refused_before_anything_is_asked():
    with pytest.raises(BadInput, match="procesors"):
        gas.submit(OCEAN, ["./ocean", "{procesors}"], "http://127.0.0.1:9")


def test_errors_are_those_of_gas_whatever_is_wrong():
    assert issubclass(Infeasible, gas.GasError)
    assert issubclass(StalePlan, gas.GasError)
    for broken in ("none.toml", CLUSTER):
        with pytest.raises(gas.GasError):
            gas.plan(broken, CLUSTER)


def test_dir_shows_what_there_is_before_anything_is_imported():
    program = (
        "import sys, gas\n"
        "assert 'lazy_loader' not in sys.modules\n"
        "names = dir(gas)\n"
        "assert {'plan', 'submit', 'Plan', 'Agent', 'GasError'} <= set(names), names\n"
        "assert not [name for name in sys.modules if name.startswith('gas.')]\n"
        "assert dir(gas) == names\n"
        "assert gas.plan.__name__ == 'plan'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("command", [[1, 2], ["./ocean", 4], 5, [], {"a": "b"}])
def test_a_command_is_words(command):
    with pytest.raises(BadInput, match="write each word as text, for example"):
        gas.submit(OCEAN, command, "http://127.0.0.1:9")


def test_errors_name_keywords_not_options_of_the_command_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for call, message in [
        (lambda: gas.plan(OCEAN, "localhost:1"), "schedulers=localhost:1: is an address without a scheme"),
        (lambda: gas.submit(OCEAN, ["ls"], "http://127.0.0.1:9", key="a b"), "key 'a b': must be"),
    ]:
        with pytest.raises(BadInput, match=f"^{message}"):
            call()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("give a scheduler with -e NAME or URL", "give a scheduler with schedulers=NAME or URL"),
        ("old (gas availability --json), or add --stale-ok", "old (gas availability --json), or add stale_ok=True"),
        ("--deadline 9:00: is over (--not-before 10:00)", "deadline 9:00: is over (not_before 10:00)"),
        ("in doubt: gas status --key k -e kth finds out", "in doubt: gas status --key k -e kth finds out"),
        ("give a log (--predict FILE), or leave --predict", "give a log (predict=FILE), or leave predict"),
        ("submit to it (-e http://kth)", "submit to it (schedulers=http://kth)"),
        ("native: --deadline=3 is Slurm's", "native: --deadline=3 is Slurm's"),
    ],
)
def test_options_in_a_message_are_keywords_in_python_and_command_lines_stay(said, meant):
    with pytest.raises(BadInput) as caught, gas_errors_alone():
        raise BadInput(said)
    assert str(caught.value) == meant
