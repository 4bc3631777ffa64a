"""Priorities while time goes on: calculated anew every period, by age and by what users have used meanwhile."""

from dataclasses import replace

import numpy as np
import pytest
from slurm_standing import MAIN, NOW, a_cluster, an_accounting, job, running

from gas.slurm.ageing import Ageing
from gas.slurm.order import Record
from gas.slurm.settings import FACTORS

PERIOD = 300


def waiting(id, user="me", **more):
    own = {"account": "lab", "qos": "normal", "submitted": NOW} | more
    return replace(job(), id=id, user=user, **own)


def ageing(*jobs, later=0, runs=(), values=None, enforced=("limits",), changes=None, **weighted):
    """Return the priorities of some jobs, of which the last come later."""
    weights = dict.fromkeys(FACTORS, 0) | {key.replace("_", " "): value for key, value in weighted.items()}
    made = replace(a_cluster(an_accounting(), weights=weights), jobs=(*jobs, *runs))
    made = replace(
        made, settings=replace(made.settings, values=values or {}, enforced=frozenset(enforced), **(changes or {}))
    )
    mine = [Record(one, MAIN) for one in jobs]
    return Ageing(made, mine, np.arange(len(jobs)) >= len(jobs) - later)


def after(found, seconds, since=None):
    found.calculate(NOW + seconds, np.array([NOW] * len(found.records) if since is None else since))
    return found.values.tolist()


def test_published_ones_stay_until_the_next_calculation_and_grow_with_age():
    found = ageing(waiting(1, priority=500), waiting(2, priority=900), age=86400)
    assert after(found, PERIOD - 1) == [500, 900]
    assert after(found, PERIOD) == [500 + PERIOD, 900 + PERIOD]
    assert after(found, 2 * PERIOD - 1) == [500 + PERIOD, 900 + PERIOD]
    assert after(found, 2 * 86400) == [500 + 86400, 900 + 86400]  # PriorityMaxAge


def test_who_may_not_start_yet_does_not_age():
    found = ageing(waiting(1, priority=500), age=86400)
    assert after(found, PERIOD, since=[0]) == [500]


def test_calculations_are_counted_from_when_slurmctld_started():
    """Seen on 22.05 and 26.05: a pass in the same second of a minute still sees the priorities of before."""
    found = ageing(waiting(1, priority=500), age=86400, values={"BOOT_TIME": str(NOW - 250)})
    assert after(found, 50) == [500]
    assert after(found, 51) == [551]


@pytest.mark.parametrize(("enforced", "expected"), [("limits", [1000, 2000]), ("associations", [2000, 2000])])
def test_use_of_jobs_that_have_ended_since_counts_where_limits_are_enforced(enforced, expected):
    """The running job of mine ends before the calculation; the other user has used nothing."""
    run = running(9, 4, 600, user="me")
    found = ageing(waiting(1, "me", priority=2000), waiting(2, "other", priority=2000), runs=(run,),
                   enforced={enforced}, fair_share=2000)  # fmt: skip
    assert after(found, 1) == [2000, 2000]
    found.ended((9, None), NOW + 100)
    assert after(found, PERIOD) == expected


def test_use_of_running_jobs_counts():
    found = ageing(waiting(1, "me", priority=2000), waiting(2, "other", priority=2000), fair_share=2000)
    found.began((2, None), replace(running(2, 4, 600, user="other"), id=2), NOW + 10)
    assert after(found, PERIOD) == [2000, 1000]


def test_a_candidate_without_an_account_has_the_fair_share_of_the_users_default_account():
    """It is not submitted yet, so Slurm has not filled in the account."""
    found = ageing(waiting(1, "me", priority=2000, account=""), runs=(running(9, 4, 600, user="me"),), fair_share=2000)
    assert after(found, PERIOD) == [1000]
    of_other = ageing(waiting(1, "other", priority=2000, account=""), runs=(running(9, 4, 600, user="me"),),
                      fair_share=2000)  # fmt: skip
    assert after(of_other, PERIOD) == [2000], "whose default account is not published"


def test_without_fair_tree_a_user_counts_with_what_runs_that_was_submitted_before():
    """Seen on 22.05: use of jobs behind the user's first waiting one counts a calculation later."""
    jobs = waiting(5, "me", priority=2000), waiting(6, "other", priority=2000)
    classic = {"priority_flags": frozenset({"NO_FAIR_TREE"})}
    found = ageing(*jobs, runs=(running(9, 4, 600, user="me"),), fair_share=2000, changes=classic)
    assert after(found, PERIOD) == [2000, 2000]
    assert after(found, 2 * PERIOD)[0] < 2000
    found = ageing(*jobs, runs=(running(4, 4, 600, user="me"),), fair_share=2000, changes=classic)
    mine, others = after(found, PERIOD)
    assert mine < others == 2000, "accounts' use counts a calculation later"


def test_a_job_that_is_submitted_gets_its_own():
    found = ageing(waiting(1, priority=500), waiting(2), later=1, partition=1000)
    found.arrives(np.array([1]))
    assert found.values.tolist() == [500, 1000]


@pytest.mark.parametrize(
    ("job", "later", "expected"),
    [
        ({}, 0, 0), ({}, 1, 1), ({"submitted": NOW - 1000}, 0, 0), ({"submitted": NOW - 10}, 0, 1),
        ({"submitted": NOW - 1000, "reason": "PartitionDown"}, 0, 1),
    ],
)  # fmt: skip
def test_the_size_counts_what_a_job_would_get_once_it_has_been_tried(job, later, expected):
    """Seen on 22.05, 24.11 and 26.05: published sizes of jobs that no scheduler has tried count what they ask for."""
    mine = waiting(2, priority=500, **{"submitted": NOW - 400, "cpus": 1, "tasks_asked": 1, "exclusive": True} | job)
    made = ageing(waiting(1, priority=500), mine, later=later, size=1000, values={"BOOT_TIME": str(NOW - 250)})
    more = (4 - 1) / 40 / 2 * 1000
    assert after(made, 49) == [500, 500]
    assert after(made, 50, since=[0, 0]) == [500, 500], "who may not start yet is not tried"
    assert after(made, 350)[1] - 500 == pytest.approx(expected * more, abs=1)


def test_without_factors_new_jobs_come_last():
    found = ageing(waiting(1, priority=500), waiting(2), waiting(3), later=2)
    found = Ageing(replace(found.cluster, settings=replace(found.cluster.settings, priority_type="basic")),
                   found.records, np.array([False, True, True]))  # fmt: skip
    assert found.values.tolist() == [500, 499, 498]


def test_fair_share_that_cannot_be_calculated_stays_and_that_is_said():
    made = ageing(waiting(1, priority=500), fair_share=1000)
    made = replace(made.cluster, accounting=replace(made.cluster.accounting, shares_complete=False))
    found = Ageing(made, [Record(waiting(1, priority=500), MAIN)], np.array([False]))
    assert found.remarks == ["fair share stays as it was"]
    assert after(found, PERIOD) == [500]
