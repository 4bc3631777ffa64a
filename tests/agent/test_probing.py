"""Probes are sent where they are most informative, and no more than requested."""

import numpy as np
import pytest
from made_endpoints import Queue

from gas import Application
from gas.agent.choice import Task
from gas.agent.options import PlanOptions
from gas.agent.probing import spread
from gas.availability import NodeAvailability, Spans
from gas.endpoints import Answer
from gas.errors import Unreachable
from gas.planner import Candidate
from speedup_models import Table

SIZES = {1: 800.0, 2: 400.0, 4: 200.0, 8: 100.0}


class Probed(Queue):
    """Eight nodes that seem free, but real jobs of some sizes start later, or never."""

    def __init__(self, starts, shows_all=True):
        self.name, self.address, self.shows_all = "ada", "ada:", shows_all
        self.starts, self.probed, self.told = starts, [], []
        self.tell = lambda text: None

    def availability(self):
        return NodeAvailability("ada", "estimate", 1000, "1", np.ones(8, np.int64), Spans.of([]), tuple("abcdefgh"))

    def probe(self, requests):
        self.tell("probing")
        if isinstance(self.starts, Exception):
            raise self.starts
        self.probed += [request.processors for request in requests]
        return [self.starts.get(request.processors, 1000) for request in requests]


def planned(endpoint, probes):
    remarks, progress = [], []
    answers = [Answer(endpoint, endpoint.availability(), None, 0.0)]
    app = Application(Table.of(SIZES), safety=1.0, name="app")
    task = Task.of(app, answers, PlanOptions(probes=probes), None, remarks.append, progress.append)
    return task.plan(answers), remarks, progress


def test_without_probes_no_job_is_sent():
    ada = Probed({8: 9000})
    assert planned(ada, 0)[0].best.processors == 8
    assert ada.probed == []


def test_the_best_is_probed_until_one_that_was_probed_is_best():
    ada = Probed({8: 9000, 4: 5000})
    found, remarks, progress = planned(ada, 4)
    assert ada.probed[:2] == [8, 1]
    assert (found.best.processors, found.best.start) == (2, 1000)
    assert found.answers[0].remarks == (
        f"Slurm itself planned real jobs of {', '.join(map(str, sorted(ada.probed)))} processors; "
        "starts of other sizes are computed by Gas",
    )
    assert (remarks, set(progress)) == ([], {"ada: probing"})


def test_no_more_are_sent_than_was_asked_for():
    ada = Probed({8: 9000, 4: 9000, 2: 9000})
    planned(ada, 1)
    assert ada.probed == [8]


def test_a_size_that_gets_no_plan_is_left_out():
    ada = Probed({8: None})
    found, *_ = planned(ada, 2)
    assert 8 not in [c.processors for c in found.plan.candidates]
    assert "; 1 got no plan and are left out; " in found.answers[0].remarks[0]


def test_where_jobs_are_hidden_all_probes_are_spread():
    ada = Probed({}, shows_all=False)
    planned(ada, 4)
    assert sorted(ada.probed) == [1, 2, 4, 8]


def test_who_cannot_be_probed_after_all_is_planned_with_as_before():
    found, remarks, _ = planned(Probed(Unreachable("ada: sbatch does not answer")), 3)
    assert found.best.processors == 8
    assert remarks == ["ada: sbatch does not answer; no more probes"]


@pytest.mark.parametrize("most", range(1, 12))
def test_half_go_to_the_first_and_the_others_to_all_sizes(most):
    candidates = [Candidate("ada", size, 60, 60, 0, "estimate") for size in (5, 9, 1, 3, 8, 2, 7, 4, 6, 10)]
    found = spread(candidates, most)
    assert len(found) <= most
    assert found[: -(-most // 2)] == candidates[: -(-most // 2)]
    assert found == [c for c in candidates if c in found]
