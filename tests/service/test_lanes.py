"""Requests that wait for each other: every user gets a turn, whatever the others do."""

import asyncio
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import TooMany
from gas.service.lanes import Lane, Turns


def test_users_take_turns():
    turns = Turns(places=1, each=1)
    for item in ("a1", "a2", "a3", "b1", "c1", "b2"):
        turns.add(item[0], item)
    order = []
    while (called := turns.next()) is not None:
        order.append(called[1])
        assert turns.next() is None, "there is one place"
        turns.ended(called[0])
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_user_has_only_some_of_the_places():
    turns = Turns(places=3, each=1)
    for item in ("a1", "a2", "b1"):
        turns.add(item[0], item)
    assert [turns.next(), turns.next(), turns.next()] == [("a", "a1"), ("b", "b1"), None]
    turns.ended("a")
    assert turns.next() == ("a", "a2")


def test_who_leaves_the_queue_is_not_called():
    turns = Turns(places=1, each=1)
    turns.add("a", 1)
    turns.add("b", 2)
    turns.withdraw("a", 1)
    turns.withdraw("a", 1)
    assert (turns.waiting("a"), turns.waiting("b")) == (0, 1)
    assert turns.next() == ("b", 2)


arrivals_and_endings = st.tuples(st.sampled_from("aaaaabc"), st.integers(0, 2))


@given(st.integers(1, 4), st.integers(1, 4), st.lists(arrivals_and_endings, max_size=60))
def test_nobody_waits_for_more_than_one_of_each_other_user_and_place(places, each, steps):
    turns, going, passed = Turns(places, each), [], {}
    for number, (user, endings) in enumerate(steps):
        turns.add(user, (user, number))
        passed[user, number] = 0
        for _ in range(endings):
            if going:
                turns.ended(going.pop(0))
        while (called := turns.next()) is not None:
            who, item = called
            going.append(who)
            del passed[item]
            assert len(going) <= places
            assert going.count(who) <= each
            for waits in passed:
                if turns.waiting(waits[0]) and waits == min(w for w in passed if w[0] == waits[0]):
                    passed[waits] += who != waits[0] and going.count(waits[0]) < each
        for (waits, _), count in passed.items():
            assert count <= 2, f"{waits} was passed by more than the two others once each"


def test_every_call_is_made_once_and_its_user_counted():
    lane, lock, now, most = Lane(4, each=2), threading.Lock(), {}, {}

    def call(user):
        with lock:
            now[user] = now.get(user, 0) + 1
            most[user] = max(most.get(user, 0), now[user])
        threading.Event().wait(0.005)
        with lock:
            now[user] -= 1
        return user

    async def all_of_them():
        users = ["a"] * 20 + ["b"] * 3
        return users == await asyncio.gather(*(lane.run(user, partial(call, user)) for user in users))

    assert asyncio.run(all_of_them())
    assert set(now.values()) == {0}
    assert max(most.values()) <= 2


def test_one_too_many_of_a_user_is_refused_and_others_are_not():
    lane, go_on = Lane(1, waiting=2, what="plans"), threading.Event()

    async def ask():
        waiting = [asyncio.create_task(lane.run("alice", go_on.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany, match="2 plans of alice are already waiting") as refused:
            await lane.run("alice", go_on.wait)
        assert refused.value.retry_after > 0
        waiting.append(asyncio.create_task(lane.run("bob", go_on.wait)))
        await asyncio.sleep(0)
        go_on.set()
        assert await asyncio.gather(*waiting) == [True] * 4

    asyncio.run(ask())


def test_who_gives_up_waiting_costs_no_place():
    lane, go_on = Lane(1), threading.Event()

    async def ask():
        first = asyncio.create_task(lane.run("a", go_on.wait))
        impatient = [asyncio.create_task(lane.run(user, go_on.wait)) for user in "abab"]
        await asyncio.sleep(0)
        impatient[0].cancel()
        impatient[2].cancel()
        go_on.set()
        await first
        impatient[1].cancel()  # perhaps just as it is called
        answers = await asyncio.gather(*impatient, return_exceptions=True)
        assert answers[3] is True
        assert await lane.run("c", go_on.wait)

    asyncio.run(ask())
