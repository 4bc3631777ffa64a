"""Accuracy of adjusted walltimes by the record alone: what was known when; the paper's categories and groups."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.walltime.accuracy import (
    BAD,
    CATEGORIES,
    KEYS,
    PERCENTILES,
    Asked,
    adjusted_by,
    asked,
    categories,
    factors,
    figures,
    keys_of,
    spread,
    used,
)
from workloads import Header, rigid_jobs
from workloads.adjustment import Adjuster, Scheme
from workloads.lublin import generate
from workloads.replay import NEVER, knowledge


def jobs_of(ratios, *, user=1, group=1, request=1000, gap=2000):
    """Return jobs one after another that use these shares of their requests."""
    count = len(ratios)
    request = np.broadcast_to(request, count).astype(np.int64)
    run_time = np.round(np.array(ratios) * request).astype(np.int64)
    submit = gap * np.arange(count, dtype=np.int64)
    who = [np.broadcast_to(one, count).astype(np.int64) for one in (user, group)]
    return Asked(*who, request, run_time, submit, submit + run_time)


def busy(seed=0, jobs=400):
    generator = np.random.default_rng(seed)
    submit = np.sort(generator.integers(0, 120 * 86400, jobs))
    request = generator.choice([600, 3600, 7200], jobs)
    run_time = np.ceil(request * generator.beta(0.7, 0.7, jobs)).astype(np.int64)
    end = submit + generator.integers(0, 20000, jobs) + run_time
    return Asked(generator.integers(1, 5, jobs), generator.integers(1, 3, jobs), request, run_time, submit, end)


# ------------------------------------------------------------------------------------------------------ what is known


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("months", [1, None])
def test_a_replay_asks_the_adjuster_of_the_library_job_by_job(key, months):
    jobs = busy()
    adjuster = Adjuster(Scheme(key, months, 85, 0.5, 10))
    expected = np.zeros(len(jobs), np.int64)
    for ended, row in knowledge(jobs.submit, jobs.end):
        who = int(jobs.user[row]), int(jobs.group[row]), int(jobs.request[row])
        if ended:
            adjuster.ended(*who, int(jobs.run_time[row]), int(jobs.end[row]))
        else:
            expected[row] = adjuster.adjusted(*who, int(jobs.submit[row]))
    by = factors(jobs, key, months)[:, PERCENTILES.index(85)]
    assert np.array_equal(adjusted_by(jobs.request, by, 0.5), expected)
    assert (expected < jobs.request).any()


@given(st.integers(0, 119), st.integers(0, 5))
def test_what_ends_later_changes_nothing_that_was_adjusted_before(day, seed):
    jobs, now = busy(seed, 150), day * 86400
    later = jobs.end > now
    changed = replace(jobs, run_time=np.where(later, jobs.request // 7, jobs.run_time))
    before = jobs.submit <= now
    first, then = (factors(one, "user", 1, least=3)[before] for one in (jobs, changed))
    assert np.array_equal(first, then, equal_nan=True)


def test_ten_similar_jobs_must_have_ended():
    by = factors(jobs_of([0.4] * 15), "user", None)
    assert np.isnan(by[:10]).all()
    assert (by[10:] == 0.4).all()


def test_a_job_whose_end_is_unknown_teaches_nothing():
    jobs = jobs_of([0.4] * 15)
    assert np.isnan(factors(replace(jobs, end=np.full(15, NEVER)), "user", None)).all()


def test_the_lower_the_percentile_the_smaller_the_factor():
    by = factors(busy(), "user+group", None)
    known = ~np.isnan(by[:, 0])
    assert known.any()
    assert (np.diff(by[known], axis=1) <= 0).all()


def test_without_history_a_request_stays_as_it_is():
    request = np.array([100, 100, 100])
    assert adjusted_by(request, [np.nan, 0.2, 0.9], 0.5).tolist() == [100, 50, 90]
    assert adjusted_by(request, [np.nan, 0.201, 0.0]).tolist() == [100, 21, 1]


# ---------------------------------------------------------------------------------------------------------- categories


@pytest.mark.parametrize(
    ("run_time", "adjusted", "category"),
    [(5000, 9000, "NA"), (9000, 9000, "NA"), (5000, 5000, "OE"), (5000, 8999, "OE"), (5001, 5000, "UE"),
     (5000 + BAD - 1, 5000, "UE"), (5000 + BAD, 5000, "BE"), (9000, 1, "BE")],
)  # fmt: skip
def test_categories_are_the_papers_and_exactly_half_an_hour_is_bad(run_time, adjusted, category):
    found = categories(*(np.array([one]) for one in (9000, run_time, adjusted)))
    assert found == {name: int(name == category) for name in CATEGORIES}


def test_every_job_is_in_one_category_and_a_floor_only_lengthens():
    jobs = busy()
    by = factors(jobs, "user", None)[:, -1]
    bold, floored = (figures(jobs, adjusted_by(jobs.request, by, floor)) for floor in (0.0, 0.5))
    for found in (bold, floored):
        assert sum(found[name] for name in CATEGORIES) == len(jobs)
    assert floored["UE"] + floored["BE"] <= bold["UE"] + bold["BE"]
    assert floored["NA"] >= bold["NA"]


def test_accuracy_is_one_when_everything_is_known():
    jobs = busy()
    found = figures(jobs, np.maximum(jobs.run_time, 1))
    assert found["accuracy"] == found["median"] == found["at_60"] == 1
    assert set(found["distribution"]) == {1.0}


# ------------------------------------------------------------------------------------------------ what the log tells


def made_log():
    log = generate(40, 16, generator=np.random.default_rng(3), load=0.5)
    run_time = np.full(40, 500.0)
    asked_for = np.where(np.arange(40) < 10, 400.0, 1000.0)
    asked_for[-1] = -1
    header = Header.of([("Version", "2.2"), ("UnixStartTime", 852076800), ("TimeZoneString", "UTC"), ("MaxProcs", 16)])
    changed = log.with_columns(
        submit=np.arange(40) * 5 * 86400.0, wait=np.zeros(40), run_time=run_time, requested_time=asked_for,
        user=np.full(40, 3), group=np.full(40, 2),
    )  # fmt: skip
    return changed.with_header(header)


def test_jobs_that_asked_for_nothing_are_left_out_and_run_times_end_at_the_request():
    jobs = asked(made_log())
    assert len(jobs) == 39
    assert jobs.ratio[:10].tolist() == [1.0] * 10
    assert jobs.ratio[10:].tolist() == [0.5] * 29
    assert jobs.end[0] == 500  # as recorded: what the machine knew
    assert len(asked(made_log(), rigid_jobs(made_log()))) == 40


def test_r_is_counted_by_class_and_quarter():
    log = made_log()
    found = used(log, asked(log))
    assert found["mean"] == pytest.approx((10 + 29 * 0.5) / 39)
    assert (found["classes"][10], found["classes"][19]) == (29, 10)
    assert (found["near_1"], found["above_0.8"]) == (10 / 39, 10 / 39)
    assert (found["up_to_0.5"], found["below_0.2"]) == (29 / 39, 0)
    assert [(one["quarter"], one["jobs"]) for one in found["quarters"]] == [
        ("1997 Q1", 18), ("1997 Q2", 19), ("1997 Q3", 2),
    ]  # fmt: skip


def test_jobs_are_as_similar_as_the_key_says_and_unknown_users_to_none():
    jobs = jobs_of([0.5] * 4, user=[1, 1, 2, -1], group=[5, 6, 5, 5], request=[100, 100, 100, 200])
    assert keys_of(jobs, "all").tolist() == [0, 0, 0, 0]
    by_user, by_group = keys_of(jobs, "user"), keys_of(jobs, "group")
    assert by_user[0] == by_user[1] != by_user[2]
    assert by_user[3] == -1
    assert by_group[0] == by_group[2] == by_group[3] != by_group[1]
    assert len(set(keys_of(jobs, "user+group")[:3].tolist())) == 3


def test_groups_that_all_use_the_same_do_not_vary_but_random_ones_do():
    users = np.repeat([1, 2, 3], [20, 20, 5])
    jobs = jobs_of(np.where(users == 1, 0.2, 0.8), user=users, group=1)
    rows = {row["key"]: row for row in spread(jobs, np.arange(45) % 3, np.random.default_rng(0))}
    assert rows["user"]["groups"] == 2  # that of five jobs is too small
    assert rows["user"]["jobs"] == 40
    assert rows["user"]["mean"] == pytest.approx(0, abs=1e-12)
    assert rows["user"]["at_random"] > 0.2
    assert rows["all"]["mean"] == pytest.approx(jobs.ratio.std())
    assert rows["all"]["mean"] == pytest.approx(rows["all"]["at_random"])
    assert rows["all"]["without"][1] == pytest.approx(jobs.ratio[np.arange(45) % 3 != 1].std())
    assert rows["user"]["without"] == pytest.approx([0, 0, 0], abs=1e-12)
    assert rows["group"]["by_jobs"] == pytest.approx(rows["all"]["mean"])
