"""A reservation is made once; if its result is unknown, the message says how to find out."""

import time

import pytest
from made_endpoints import Queue, job

from gas.agent.reserving import clock_of, reserve
from gas.endpoints import InDoubt
from gas.errors import Unreachable


class Site(Queue):
    """Reserves, or fails after the request was sent."""

    def __init__(self, fails=False):
        self.name, self.address, self.fails, self.made, self.doubts = "hpc", "hpc:", fails, {}, set()

    def reserve(self, name, processors, start, walltime, key=None):
        if self.fails:
            self.doubts.add(key)
            raise Unreachable("hpc: no answer")
        self.made[key] = job(9, "reserved", name=name, processors=processors, walltime=walltime, expected=start)
        return self.made[key]

    def job_by_key(self, key):
        return self.made.get(key)

    def in_doubt(self, key):
        return key in self.doubts


def test_all_calls_with_one_key_make_one():
    site, asked = Site(), []

    def start():
        asked.append(100)
        return 100

    first = reserve(site, "r", 4, start, 60, key="k", remark=print)
    again = reserve(site, "r", 4, start, 60, key="k", remark=print)
    assert (first.already, again.already, again.job) == (False, True, first.job)
    assert asked == [100], "the clock is asked only where there is something to make"
    assert reserve(site, "r", 4, start, 60, remark=print).already is False
    assert len(site.made) == 2


def test_where_it_is_not_known_the_message_says_how_to_find_out():
    with pytest.raises(InDoubt, match="no answer; the reservation may or may not exist: .*--key k -e hpc") as raised:
        reserve(Site(fails=True), "r", 4, lambda: 100, 60, key="k", remark=print)
    assert raised.value.key == "k"


def test_the_clock_is_that_of_a_scheduler_that_has_one():
    assert abs(clock_of(Site()) - time.time()) < 5
