"""The lock of the service: in order of arrival, the dispatcher first, and readable without waiting."""

import threading
import time

import pytest
from eventually import until

from gas.service.turnstile import Turnstile


class Crowd:
    """Threads that queue at a turnstile one by one, and note when they get through."""

    def __init__(self, turnstile):
        self.turnstile, self.through, self.threads = turnstile, [], []

    def join_queue(self, name, first=False):
        def pass_through():
            with self.turnstile.first() if first else self.turnstile:
                self.through.append(name)

        thread = threading.Thread(target=pass_through)
        before = len(self.turnstile._queue)
        thread.start()
        self.threads.append(thread)
        until(lambda: len(self.turnstile._queue) == before + 1)

    def finish(self):
        for thread in self.threads:
            thread.join(10)
        return self.through


def test_who_came_first_gets_through_first_behind_the_dispatcher():
    turnstile = Turnstile()
    crowd = Crowd(turnstile)
    with turnstile:
        for name in ("a", "b", "c"):
            crowd.join_queue(name)
        crowd.join_queue("dispatcher", first=True)
        assert crowd.through == []
    assert crowd.finish() == ["dispatcher", "a", "b", "c"]


def test_its_holder_gets_through_again_and_lets_others_in_at_the_end():
    turnstile = Turnstile()
    crowd = Crowd(turnstile)
    with turnstile:
        crowd.join_queue("other")
        with turnstile, turnstile.first():
            pass
        assert crowd.through == []
    assert crowd.finish() == ["other"]


def test_an_error_inside_lets_the_next_one_through():
    turnstile = Turnstile()
    with pytest.raises(ZeroDivisionError), turnstile:
        raise ZeroDivisionError
    with turnstile:
        pass


def test_never_two_at_once():
    turnstile, inside, most = Turnstile(), [], []

    def work(number):
        for _ in range(200):
            with turnstile.first() if number == 0 else turnstile:
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(most), max(most)) == (1600, 1)


def test_how_long_it_is_held_is_told_without_waiting():
    turnstile = Turnstile()
    assert turnstile.held_for == 0
    with turnstile:
        time.sleep(0.01)
        assert turnstile.held_for >= 0.01
    assert turnstile.held_for == 0
