"""Gas plans with the schedulers that answer; for all others there is an error in place of a list."""

from dataclasses import dataclass

import pytest
from made_endpoints import Queue, node_list

from gas.agent import schedulers
from gas.agent.schedulers import called, find_by_key, gather, lists_of, seconds_since
from gas.endpoints import Endpoint, FileEndpoint
from gas.errors import BadInput, Infeasible, NotFound, Unreachable
from gas.planner import Limits


@dataclass
class Site(Endpoint):
    """Accepts jobs, optionally on a second account."""

    name: str
    address: str = "site:"
    limits: Limits = Limits()  # noqa: RUF009
    other: object = None
    asked: int = 0

    def availability(self):
        self.asked += 1
        if isinstance(self.other, Exception):
            raise self.other
        return node_list(0, self.name)

    def choices(self):
        return [] if self.other is None else [self.other]


def test_answers_stand_in_the_order_of_the_schedulers_and_other_accounts_behind_them():
    sites = [Site("a", other=Site("a/abc")), ("broken", BadInput("broken: no url")), Site("b")]
    answers = gather(sites, stale_ok=True)
    assert [a.name for a in answers] == ["a", "broken", "b", "a/abc"]
    assert [str(a.error) for a in answers if a.error is not None] == ["broken: no url"]
    assert [one.scheduler for one in lists_of(answers)] == ["a", "b", "a/abc"]


def test_accounts_are_left_out_where_they_are_not_meant():
    other = Site("a/abc")
    assert [a.name for a in gather([Site("a", other=other)], choices=False, stale_ok=True)] == ["a"]
    assert other.asked == 0


def test_an_account_that_cannot_be_planned_with_is_left_out():
    answers = gather([Site("a", other=Site("a/abc", other=Infeasible("closed")))], stale_ok=True)
    assert [a.name for a in answers] == ["a"]


def test_lists_of_another_time_are_left_out_unless_they_are_meant():
    (answer,) = gather([Site("a")])
    assert "behind this machine's clock" in str(answer.error)
    with pytest.raises(Unreachable, match="no scheduler answered"):
        lists_of([answer])


def test_those_that_waited_long_for_another_are_asked_again(monkeypatch):
    site = Site("a")
    monkeypatch.setattr(schedulers, "MOST_APART_LIVE", -1)
    gather([site], stale_ok=True)
    assert site.asked == 2


def test_how_long_ago_the_first_answered_counts_live_ones_only(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(
        '{"schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0, "processors": 4,'
        ' "version": "1", "frames": [{"start": 0, "end": null, "free": 4}]}'
    )
    assert seconds_since(gather([FileEndpoint("x", str(path))], stale_ok=True)) == 0.0
    assert seconds_since(gather([Site("a")], stale_ok=True)) > 0.0


def test_a_choice_of_a_scheduler_is_called_as_that():
    site = Site("a/abc")
    assert called(site) == "a/abc"
    site.configured_as = "a"
    assert called(site) == "a"


class Keyed(Queue):
    """Has the job of one key, or cannot be queried."""

    def __init__(self, name, known=None, error=None):
        self.name, self.address, self.known, self.error = name, f"queue:{name}", known or {}, error

    def job_by_key(self, key):
        if self.error is not None:
            raise self.error
        return self.known.get(key)


def test_a_key_is_looked_for_on_every_scheduler():
    b = Keyed("b", {"k": {"id": 3}})
    assert find_by_key([Site("list"), Keyed("a"), b], "k") == (b, {"id": 3})
    assert find_by_key([Keyed("a"), b], "other") is None


def test_a_scheduler_that_cannot_be_asked_could_have_the_job():
    away = Keyed("away", error=Unreachable("away: does not answer"))
    b = Keyed("b", {"k": {"id": 3}})
    assert find_by_key([away, b], "k") == (b, {"id": 3})
    broken = ("broken", NotFound("broken: no such file"))
    with pytest.raises(Unreachable, match="with the key x: away: does not answer; broken: no such file"):
        find_by_key([away, b, broken], "x")
