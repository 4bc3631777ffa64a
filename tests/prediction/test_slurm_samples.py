"""Samples of a Slurm queue in plain Python, while its simulator is being compiled."""

from itertools import count

import numpy as np
import pytest
from made_clusters import NOW, cluster, job, running

from gas.prediction import LEAST_SAMPLES
from gas.prediction.forecast import spread_out
from gas.prediction.past import Past
from gas.prediction.slurm import Queue
from gas.prediction.slurm_samples import COARSE, ROUGH
from gas.slurm.sampler import Sampler

HOUR = 3600


def hour_long(id, *nodes, cpus):
    return running(id, *nodes, cpus=cpus, end=HOUR)


def past():
    """Return past jobs that used half of their hour."""
    submit, columns = NOW - 100 * 86_400 * np.arange(100, 0, -1), (np.full(100, one) for one in (4, HOUR, HOUR // 2))
    cpus, walltime, run_time = columns
    return Past(submit, cpus, walltime, run_time, submit + run_time, np.full(100, -1))


def candidate():
    return job(0, 8, 10, priority=1)


@pytest.fixture
def compiling(monkeypatch):
    """A machine that is compiling the simulator; return how often schedulers pass in the samples, and a forecast."""
    passes, run = [], Sampler.run
    monkeypatch.setattr("gas.prediction.slurm.is_ready", lambda kernel: False)
    monkeypatch.setattr("gas.prediction.slurm.WORTH_COMPILING", 0)
    monkeypatch.setattr(Sampler, "run", lambda one, *a, **k: passes.append(one.pace.coarse) or run(one, *a, **k))
    made = cluster(hour_long(1, "n0", cpus=4), *(job(2 + one, 8, 60, priority=9) for one in range(3)))

    def forecast(seconds, samples=25, candidates=1):
        queue, asked = Queue(made, (candidate(),) * candidates), ([60] * candidates, [NOW] * candidates)
        return queue.forecast(
            past(), *asked, {}, samples=samples, seconds=seconds, clock=count().__next__, compiles=lambda: False
        )

    return passes, forecast


def test_while_compiling_as_many_samples_are_made_in_plain_python_as_there_is_time_for(compiling):
    passes, forecast = compiling
    found, remarks = forecast(100_000, samples=12, candidates=2)
    assert (found.starts.shape, found.alone.tolist(), remarks) == ((12, 2), [False, False], [])
    assert set(passes) == {0.0}, "as often as in Slurm"
    found, remarks = forecast(1_200)
    assert LEAST_SAMPLES <= len(found.starts) < 25
    assert found.alone.all()
    many_times = f"simulated {len(found.starts)} times instead of 25, as its simulator is still being compiled"
    assert remarks == [f"its queue was {many_times}; intervals are less accurate: repeat the command in a minute"]


def test_samples_in_plain_python_pass_less_often_where_there_would_be_few(compiling):
    passes, forecast = compiling
    forecast(500)
    assert sorted(set(passes)) == [0.0, COARSE, ROUGH[0]]
    assert passes[0] == 0.0
    assert passes[-1] == ROUGH[0]


def test_a_sample_in_plain_python_is_given_up_midway(compiling):
    found, _ = compiling[1](20)
    assert found.samples < LEAST_SAMPLES
    assert "first use: its simulator is still being compiled" in found.why
    assert "repeat the command in a minute" in str(found)


def test_few_samples_arespread_out(monkeypatch):
    """The extremes of few samples hold less than 90%."""
    made = spread_out(np.array([[NOW, NOW + 5], [NOW + 100, NOW + 5]] * 5))
    assert (made[:2] - NOW).tolist() == [[-12, 5], [112, 5]]
    queue = Queue(cluster(hour_long(1, "n0", cpus=4)), (candidate(),))
    found, _ = queue.forecast(past(), [60], [NOW], {}, samples=100, seconds=20, clock=count().__next__)
    assert (found.starts >= NOW).all()
