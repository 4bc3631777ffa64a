"""A month under a set-up: the same turn-around times as in the other studies, and the effect of each choice."""

from dataclasses import asdict

import numpy as np
import pytest

from experiments.framework.logs import find_logs, load_log
from experiments.moldable.benchmarks import Form
from experiments.moldable.terms import BASE
from experiments.power.run import power_run
from experiments.setups.run import setup_run
from experiments.setups.setups import CHOICES, named, settings_of
from workloads import write_swf


@pytest.fixture(scope="module")
def kth(made_logs):
    return next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")


def run(log, text, month="1996-10", runs=8):
    configuration = {
        "log": log.sha256, "processors": 100, "month": month, "runs": runs, "seed": 0,
        "settings": settings_of(named(text)),
    }  # fmt: skip
    return setup_run(configuration, files={log.sha256: str(log.path)})


def test_the_usual_set_up_is_the_one_of_the_study_of_one_moldable_job(kth):
    here = run(kth, "usual")["outcomes"]
    configuration = {
        "log": kth.sha256, "processors": 100, "month": "1996-10", "runs": 8, "seed": 0, "mix": BASE.mix,
        "opponent": BASE.opponent, "form": asdict(Form()), "policy": "s3", "begin": "empty", "load": 1.0,
        "estimates": "users",
    }  # fmt: skip
    there = power_run(configuration, files={kth.sha256: str(kth.path)})["outcomes"]
    assert here == [{name: row[name] for name in ("benchmark", "gas", "static")} for row in there]


@pytest.fixture(scope="module")
def busy(kth, tmp_path_factory):
    """The log with four times the jobs in a month, some of which exceed their estimates."""
    folder = tmp_path_factory.mktemp("busy")
    log = load_log(kth.path, kth.sha256)
    faster = np.trunc(log.submit / 4 + 18 * 86400)
    estimates = np.where(np.arange(len(log)) % 3 == 0, np.trunc(0.8 * log.run_time) + 1, log.requested_time)
    write_swf(log.with_columns(submit=faster, requested_time=estimates), folder / kth.path.name)
    return find_logs(folder)[0][0]


@pytest.fixture(scope="module")
def usual(busy):
    return run(busy, "usual", runs=60)["outcomes"]


OTHERS = [f"{choice.name}={other}" for choice in CHOICES for other in choice.others]


@pytest.mark.parametrize("text", [text for text in OTHERS if text not in ("largest=256", "largest=512", "begin=warm")])
def test_every_alternative_changes_what_comes_out(busy, usual, text):
    # A machine of 100 processors has no sizes beyond 128, and the month before has few jobs here.
    assert run(busy, text, runs=60)["outcomes"] != usual


def test_a_warm_month_has_the_jobs_of_the_one_before_and_replaces_none_of_them(kth):
    cold, warm = run(kth, "usual", "1996-11"), run(kth, "begin=warm", "1996-11")
    assert warm["jobs"] > cold["jobs"]
    assert [one["benchmark"] for one in warm["outcomes"]] == [one["benchmark"] for one in cold["outcomes"]]


def test_with_run_times_as_estimates_gas_never_loses(kth):
    found = run(kth, "estimates=perfect", runs=20)["outcomes"]
    assert len(found) == 20
    assert all(one["gas"] <= one["static"] for one in found)
