"""What limits say of a queue is looked at again where a start or an end may change it."""

from dataclasses import replace

from made_clusters import job
from slurm_standing import NOW, a_cluster, an_accounting

from gas.slurm.accounting import Bounds
from gas.slurm.forward import run_forward
from gas.slurm.restraints import Restraints


def test_starts_are_those_that_come_of_looking_at_every_start_and_end_and_second(monkeypatch):
    """One account has a limit of its own; both count for the QOS."""
    own = {"account": "lab", "qos": "normal", "partitions": ("main",), "submitted": NOW}
    users = ("me", "other", "me", "me", "other", "me", "other", "me")
    jobs = tuple(job(at, 8, user=user, priority=99 - at, **own) for at, user in enumerate(users, 1))
    limited = an_accounting(mine=Bounds(group_tres={"cpu": 20.0}), normal=Bounds(group_jobs=3))
    made = replace(a_cluster(limited), jobs=jobs)
    seconds = {number: 40 + 13 * number % 50 for number in range(1, 9)}
    found = run_forward(made, seconds).starts
    monkeypatch.setattr(Restraints, "_kinds", lambda self: (True, True))
    assert run_forward(made, seconds).starts == found
    assert len(found) == 8
    assert max(one.start for one in found) > NOW + 40
