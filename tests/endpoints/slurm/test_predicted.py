"""How recorded starts are predicted by agents, and the page about it."""

import random
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from made_clusters import NOW, cluster, job, running

from gas.prediction.slurm import Queue
from gas.slurm.accounting import Accounting, Association
from gas.slurm.cluster import Tasks

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
predicted, recorded = import_module("predicted"), import_module("recorded_runs")
attainable = import_module("attainable")
replayed = import_module("replayed")


@pytest.fixture(scope="module")
def found():
    """Return what a Slurm of 8 CPUs did: one job runs, one waits, one is submitted half a minute later."""
    first = job(1, 8, 4, submitted=NOW - 10, user="games")
    waits = job(2, 6, 2, submitted=NOW - 5, user="news")
    comes = job(3, 3, 3, submitted=NOW + 30, user="games", priority=0)
    one = recorded.Recorded("24.11", "1", ("Priorities",), cluster(first, waits), [(NOW + 30, comes)])
    with_first = cluster(running(1, "n0", "n1", cpus=8, end=240, user="games"), waits)
    one.views[3] = replace(with_first, now=NOW + 30, planned=NOW + 28)
    for id, start, end in ((1, 0, 100), (2, 101, 150), (3, 150, 170)):
        one.starts[id, None], one.ends[id, None] = NOW + start, NOW + end
        one.nodes[id, None], one.partitions[id, None] = ("n0", "n1"), "p"
    one.words = {
        1: "--ntasks=8 --time=4 sleep 100 games", 2: "--ntasks=6 --time=2 sleep 49 news",
        3: "--ntasks=3 --time=3 sleep 20 games",
    }  # fmt: skip
    one.said, one.load = {2: (NOW + 10, NOW + 240)}, [1.0, 2.0]
    return one


def test_what_waits_is_watched_and_what_comes_is_submitted(found, monkeypatch):
    monkeypatch.setattr(Queue, "uncompiled", lambda queue, arrivals: False)  # so without machine code, too
    monkeypatch.setattr("gas.prediction.history.learning_is_ready", lambda: True)
    (two, three) = predicted.judged(found, samples=40, by_habits=15)
    assert [(one.job, one.later, one.started, one.said, one.load) for one in (two, three)] == [
        (2, False, 71, 210, 1.5), (3, True, 120, None, 1.5),
    ]  # fmt: skip
    for one in (two, three):
        assert 0 <= one.low <= one.median <= one.high
        assert one.inside, "the job that runs ends as those of its user did"
        assert one.by_habits[0] <= one.by_habits[1]
        assert one.likely >= 0.75


def test_past_waits_are_mixed_in_and_only_what_really_came_true_is_in_the_ledger(found, monkeypatch):
    """How well counts of processors would have held says nothing of a simulation by Slurm's own rules."""
    ledgers = []
    real = predicted.ledger_of
    monkeypatch.setattr(predicted, "ledger_of", lambda *given: ledgers.append(real(*given)) or ledgers[-1])
    _, submitted = (made for _, _, made in predicted.predicted_by_agents(found, samples=20))
    assert submitted.similar.size > 0
    assert not any(outcome.afterwards for file in ledgers for outcome in file.read().outcomes)


def test_run_times_are_drawn_from_those_that_the_user_can_still_reach(found):
    known, habits = attainable.ByHabits(found), recorded.Habits.of("24.11", "1", "games")
    with attainable.observed() as asked:
        for _ in predicted.predicted_by_agents(found, samples=10):
            pass
    snapshot = asked[-1].queue.snapshot({})
    ran = int(snapshot.elapsed[0])
    assert ran > 3, "failures are past"
    known.waits(asked[-1], 10)
    runs, waits = known.draw(snapshot, 1000, known.generator).T
    assert runs.min() > ran
    assert 3 <= waits[waits > 3].min() < waits.max() == 120 + 20, "of the limit of the other"
    chance = random.Random("again")
    again = [one for _ in range(4000) if (one := habits.seconds(240, chance)) > ran]
    assert runs.mean() == pytest.approx(np.mean(again), rel=0.05)
    known.waits(asked[-1], 10, know_running=True)
    told, drawn = known.draw(snapshot, 20, known.generator).T
    assert {*told.tolist()} == {100}
    assert len({*drawn.tolist()}) > 5


def test_an_interval_of_draws_contains_another_one_as_often_as_requested():
    generator = np.random.default_rng(2)
    found = [attainable.middle_of(np.sort(generator.integers(0, 10**6, 60))) for _ in range(300)]
    assert np.mean([high - low for low, high in found]) / 10**6 == pytest.approx(0.9, abs=0.01)


def test_at_each_instant_it_answers_what_was_known_then(found):
    slurm = replayed.Replayed(found)
    slurm.user = "news"
    slurm.now = NOW + 30
    assert [(one.id, one.state) for one in slurm.jobs()] == [(1, "RUNNING"), (2, "PENDING"), (3, "PENDING")]
    lines = slurm.accounting("p", 90).decode().splitlines()
    assert lines[0] == replayed.FIELDS
    assert lines[-1] == f"1|games|4:00|30|{NOW - 10}|{NOW}|Unknown|8|1|RUNNING|wrap", "only that had started"
    submitted = [int(line.split("|")[4]) for line in lines[1:]]
    assert len(submitted) == 3 * replayed.WEEKS + 1
    assert max(submitted[:-1]) < NOW - replayed.WEEK + recorded.SPREAD + 1


def test_those_who_ask_have_their_own_account(found):
    accounting = Accounting("games", (Association("lab", "games"),), default_account="lab")
    known = replace(found.cluster, accounting=accounting, jobs=tuple(
        replace(one, account={"games": "lab", "news": "dept"}[one.user]) for one in found.cluster.jobs
    ))  # fmt: skip
    slurm = replayed.Replayed(replace(found, cluster=known))
    for user, account in (("news", "dept"), ("games", "lab")):
        slurm.user = user
        seen = slurm.cluster("a").accounting
        assert (seen.user, seen.default_account) == (user, account)
        assert seen.associations == accounting.associations


def test_in_the_past_tasks_of_an_array_last_equally_long_and_kills_come_up_to_30_s_late(found, monkeypatch):
    monkeypatch.setattr(replayed, "WEEKS", 40)
    array = replace(found.cluster.jobs[1], array=2, tasks=Tasks((range(3),)))
    made = replace(found, cluster=replace(found.cluster, jobs=(found.cluster.jobs[0], array)))
    lasted = {}
    for (name, user, limit, _, start, end, state), _ in replayed._past(made):
        lasted.setdefault(name.partition("_")[0], set()).add((user, limit, end - start, state))
    assert {len(one) for one in lasted.values()} == {1}
    late = [ran - limit for one in lasted.values() for _, limit, ran, state in one if state == "TIMEOUT"]
    assert len({*late}) > 3
    assert 0 <= min(late) < 10 < max(late) <= 20, "they sleep for 20 s more"


def test_the_page_compares_with_similar_jobs_and_with_squeue():
    one = predicted.Predicted("24.11.5", "1", 2, False, 6, "longer", 50, 100, 200, 600, 120, 1.5)
    other = replace(one, seed="2", said=None, started=300, later=True)
    page = predicted.page_of([one, other])
    assert "2 starts in 2 queues" in page
    assert "| waiting soon after the opening | 1 | 100% | 100% | 150 | 100% | 0 | 20 | 1 | 480 | 20 |" in page
    assert "| submitted later | 1 | 0% | 0% | 150 |" in page
    assert "predicted only once" not in page
    assert "attainable" not in page
    ends = {"simulated": (60, 180), "by_habits": (80, 160), "with_running": (100, 140), "likely": 0.97}
    section = predicted.page_of([replace(one, **ends), other]).partition("## What is attainable")[2]
    assert "1 of the starts are compared, in 1 queues" in section
    assert "| Gas | 150 | 150 | 150.00 | 150.00 | - | - | 150 | 100% | 97% | 150 |" in section
    assert "| true distributions ± 3 s, as in Gas | 86 | 86 | 86.00 | 86.00 | - | - | 86 | 100% | - | 86 |" in section
    page = predicted.page_of([one, replace(other, seed="1000")])
    assert "| in queues predicted only once, after the last change | 1 |" in page
