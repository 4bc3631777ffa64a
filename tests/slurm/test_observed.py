"""The priority of a new job, from those of waiting jobs: as it is calculated where the weights are published."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, NOW, SETTINGS, a_cluster, an_accounting, job

from gas.slurm.accounting import Association, Qos
from gas.slurm.observed import observed
from gas.slurm.priority import own_priority
from gas.slurm.settings import FACTORS, Settings

WEIGHTS = {"age": 0, "association": 0, "fair share": 20_000, "size": 5000, "partition": 500, "QOS": 3000}
QOS = {name: Qos(name, priority) for name, priority in (("normal", 0), ("high", 100), ("low", 10))}
OTHER = replace(MAIN, name="other", job_factor=50)
SHARES = {"me": 0.25, "ann": 0.5, "bob": 0.75, "eve": 1.0}


def accounts(shares, published=True):
    shown = shares if published else dict.fromkeys(shares)
    users = [Association("lab", name, parent="lab", fair_share=share) for name, share in shown.items()]
    chain = (Association("root", parent=""), Association("lab", parent="root"), *users)
    return replace(an_accounting(), associations=chain, qos=QOS, shares_complete=published)


def waiting(shares=SHARES, users=("ann", "bob", "eve"), count=12, published=True, **changes):
    """Return a cluster with jobs that wait, with the priorities that Slurm would give them, and no configuration."""
    assert set(FACTORS) == set(WEIGHTS)
    settings = {"weights": WEIGHTS, **changes}
    there = a_cluster(accounts(shares), partitions=(MAIN, OTHER), **settings)
    jobs = []
    for number in range(count):
        one = job(
            1 + 3 * number % 17, 20 + number, account="lab", least_nodes=1 + number % 2, submitted=NOW - 60,
            qos=("normal", "high", "low")[(number + number // 7) % 3], eligible=NOW,
        )  # fmt: skip
        one = replace(one, user=users[number % len(users)], partitions=(("main", "other")[number % 5 == 0],))
        partition = OTHER if "other" in one.partitions else MAIN
        value = own_priority(there, one, partition).value
        jobs.append(replace(one, id=number + 1, priority=value))
    there = replace(there, jobs=tuple(jobs))
    return there, replace(there, settings=None, accounting=accounts(shares, published))


@pytest.mark.parametrize("changes", [
    {}, {"favour_small": True}, {"priority_flags": frozenset({"SMALL_RELATIVE_TO_TIME"})},
    {"weights": WEIGHTS | {"size": 0}}, {"tres_weights": {"cpu": 700.0}},
])  # fmt: skip
@pytest.mark.parametrize("qos", ["normal", "high", "low"])
def test_it_is_as_it_is_calculated(qos, changes):
    known, unknown = waiting(**changes)
    mine = job(7, 33, qos=qos, account="lab")
    expected, found = own_priority(known, mine, MAIN), own_priority(unknown, mine, MAIN)
    assert (found.sure, found.observed) == (True, 12)
    assert found.value == pytest.approx(expected.value, abs=2)


def test_jobs_that_have_waited_count_for_their_age():
    known, unknown = waiting(weights=WEIGHTS | {"age": 1000})
    old = []
    for at, one in enumerate(known.jobs):
        partition = OTHER if "other" in one.partitions else MAIN
        value = own_priority(known, one, partition, waited=3600 * at).value
        old.append(replace(one, priority=value, eligible=NOW - 3600 * at, submitted=NOW - 3600 * at))
    mine = job(7, 33, qos="high", account="lab")
    found = own_priority(replace(unknown, jobs=tuple(old)), mine, MAIN)
    assert found.value == pytest.approx(own_priority(known, mine, MAIN).value, abs=2)


def test_one_of_which_the_share_is_not_published_is_seen_by_ones_own_jobs():
    known, unknown = waiting(users=("me", "ann", "bob"), published=False)
    mine = job(7, 33, qos="high", account="lab")
    found = own_priority(unknown, mine, MAIN)
    assert found.value == pytest.approx(own_priority(known, mine, MAIN).value, abs=2)
    assert found.share == ""


def test_or_is_taken_to_be_that_of_all_others_which_is_the_same():
    known, unknown = waiting(dict.fromkeys(SHARES, 1.0), published=False)
    mine = job(7, 33, qos="high", account="lab")
    found = own_priority(unknown, mine, MAIN)
    assert (found.value, found.share) == (pytest.approx(own_priority(known, mine, MAIN).value, abs=2), "same")


def test_or_the_best_of_the_account_if_one_has_no_jobs():
    known, unknown = waiting(SHARES | {"me": 1.0}, count=18, published=False)
    mine = job(7, 33, qos="high", account="lab")
    found = own_priority(unknown, mine, MAIN)
    assert (found.value, found.share) == (pytest.approx(own_priority(known, mine, MAIN).value, abs=2), "above")


@pytest.mark.parametrize(("seconds", "share"), [(5, "above"), (900, "")])
def test_a_job_of_ones_own_that_ended_at_once_is_as_none(seconds, share):
    _, unknown = waiting(SHARES | {"me": 1.0}, count=18, published=False)
    start = unknown.now - 1000
    ended = replace(
        job(50, 33, qos="high", account="lab"), state="CANCELLED", nodes=("n1",), start=start, end=start + seconds
    )
    found = own_priority(replace(unknown, jobs=(*unknown.jobs, ended)), job(7, 33, qos="high", account="lab"), MAIN)
    assert found.share == share


def test_few_jobs_or_such_as_do_not_agree_tell_nothing():
    _, unknown = waiting(count=4)
    mine = job(7, 33, qos="high", account="lab")
    assert own_priority(unknown, mine, MAIN).value is None
    assert not own_priority(unknown, mine, MAIN).sure
    _, unknown = waiting()
    wild = tuple(replace(one, priority=one.priority + 977 * one.id**3 % 2999) for one in unknown.jobs)
    assert own_priority(replace(unknown, jobs=wild), mine, MAIN).value is None


def test_a_priority_of_an_administrators_is_left_out():
    known, unknown = waiting(count=18)
    odd = (replace(unknown.jobs[0], priority=99_999), *unknown.jobs[1:])
    mine = job(7, 33, qos="high", account="lab")
    found = own_priority(replace(unknown, jobs=odd), mine, MAIN)
    assert (found.value, found.observed) == (pytest.approx(own_priority(known, mine, MAIN).value, abs=2), 17)


def test_a_qos_that_none_of_them_has_is_unknown_where_its_priority_is():
    _, unknown = waiting()
    hidden = replace(unknown, accounting=replace(unknown.accounting, qos={}))
    assert own_priority(hidden, job(7, 33, qos="other", account="lab"), MAIN).value is None
    assert own_priority(hidden, job(7, 33, qos="high", account="lab"), MAIN).value is not None


def test_priorities_that_count_down_are_the_order_of_submission():
    _, unknown = waiting()
    basic = tuple(replace(one, priority=4_294_901_759 - one.id) for one in unknown.jobs)
    assert observed(replace(unknown, jobs=basic), job(), MAIN).comes_last
    alike = tuple(replace(one, priority=1) for one in unknown.jobs)
    assert observed(replace(unknown, jobs=alike), job(), MAIN).comes_last
    assert own_priority(replace(unknown, jobs=basic), job(), MAIN).sure


def test_a_new_job_precedes_niced_ones_where_priorities_count_down():
    """Seen on 22.05, 24.11 and 26.05: each job has one less than the one before, and less by its own nice."""
    _, unknown = waiting(count=4)
    first = 4_294_901_759
    jobs = tuple(
        replace(one, priority=first - at - nice, nice=nice)
        for at, (one, nice) in enumerate(zip(unknown.jobs, (0, 50, 0, 0), strict=True))
    )
    queue = replace(unknown, jobs=jobs)
    for made in (queue, replace(queue, settings=Settings(priority_type="basic"))):
        assert own_priority(made, job(), MAIN).value == first - 4
        assert own_priority(made, job(nice=30), MAIN).value == first - 34
        assert own_priority(made, job(nice=100), MAIN).comes_last
    by_hand = replace(queue, jobs=(*jobs[:3], replace(jobs[3], priority=500)))
    assert own_priority(replace(by_hand, settings=Settings(priority_type="basic")), job(), MAIN).value == first - 3


def test_an_empty_queue_tells_nothing():
    _, unknown = waiting(count=0)
    assert own_priority(replace(unknown, settings=Settings()), job(), MAIN).unknown
    assert SETTINGS.weights["age"] == 0
