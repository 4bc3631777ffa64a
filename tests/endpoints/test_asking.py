import json
import sys
import threading

import numpy as np
import pytest
from made_endpoints import node_list

from gas import AvailabilityList
from gas.endpoints import Endpoint, FileEndpoint, S3Endpoint, ask
from gas.endpoints.asking import ask_again
from gas.errors import Unreachable
from gas.planner import Limits

LIST = AvailabilityList.of([100, 200], [0, 8], scheduler="kth")


def test_a_list_bears_its_endpoints_name_and_one_without_keeps_its_own(tmp_path):
    path = tmp_path / "kth.json"
    path.write_text(json.dumps(LIST.to_wire()))
    named, plain = FileEndpoint("disk", str(path)), FileEndpoint(str(path), str(path))
    assert [a.name for a in ask([named])] == ["disk"]
    assert [a.name for a in ask([plain])] == ["kth"]


def test_two_schedulers_of_one_name_are_told_apart_by_their_address(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(LIST.to_wire()))
    files = [FileEndpoint(str(tmp_path / n), str(tmp_path / n)) for n in ("a.json", "b.json")]
    assert [a.name for a in ask(files)] == [str(tmp_path / "a.json"), str(tmp_path / "b.json")]


def test_one_that_does_not_answer_leaves_the_others_alone(s3):
    answers = ask([S3Endpoint("gone", "http://127.0.0.1:9", retries=0), S3Endpoint("here", s3.url)])
    assert isinstance(answers[0].error, Unreachable)
    assert [a.to_wire()["ok"] for a in answers] == [False, True]
    assert answers[1].availability is not None


def test_all_are_asked_at_the_same_time():
    barrier = threading.Barrier(3, timeout=10)

    class Together(Endpoint):
        name = address = "x"
        limits = Limits()

        def availability(self):
            barrier.wait()
            return LIST

    assert all(a.error is None for a in ask([Together(), Together(), Together()]))


def test_a_plug_ins_own_error_is_its_own():
    class Foreign(Endpoint):
        name, address, limits = "foreign", "x", Limits()

        def availability(self):
            raise ZeroDivisionError("its own")

    assert str(ask([Foreign()])[0].error) == "its own"


class Plug(Endpoint):
    """An endpoint with a given answer or error."""

    address = "x"

    def __init__(self, answer, name="plug", **more):
        self.name, self.limits, self._answer = name, Limits(), answer
        vars(self).update(more)

    def availability(self):
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


def test_nodes_keep_their_identity_under_their_endpoints_name():
    [answer] = ask([Plug(node_list(1000), "kth")])
    assert (answer.name, answer.availability.scheduler) == ("kth", "kth")
    both = np.array([1]), np.array([150])
    assert answer.availability.anchors(*both, 1000).tolist() == [1100]
    assert answer.availability.counts.anchors(*both, 1000).tolist() == [1000]


def test_remarks_and_limits_are_those_after_asking():
    class Learning(Plug):
        remarks = ("of the time before",)

        def availability(self):
            self.remarks, self.limits = ("planned 34 s ago",), Limits(8, speed=2.0)
            return LIST

    [answer] = ask([Learning(None)])
    assert (answer.remarks, answer.limits) == (("planned 34 s ago",), Limits(8, speed=2.0))
    assert answer.to_wire() == {
        "name": "plug", "ok": True, "error": None, "speed": 2.0, "remarks": ["planned 34 s ago"],
    }  # fmt: skip


def test_remarks_of_earlier_answers_do_not_outlive_a_failure():
    [answer] = ask([Plug(Unreachable("gone"), remarks=("planned 34 s ago",))])
    assert (answer.remarks, str(answer.error)) == ((), "gone")


class Limitless(Plug):
    @property
    def limits(self):
        raise ZeroDivisionError("no limits")

    @limits.setter
    def limits(self, _):
        pass


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Plug(None), "plug: returned NoneType instead of an availability list"),
        (Plug({"frames": []}), "plug: returned dict instead"),
        (Plug(SystemExit(3)), r"plug: SystemExit\(3\)"),
        (Plug(LIST, remarks=5), "not iterable"),
        (Limitless(LIST), "no limits"),
    ],
)
def test_whatever_a_plug_in_does_wrong_disturbs_only_itself(broken, message):
    answers = ask([broken, Plug(LIST, "good")])
    assert answers[0].availability is None
    with pytest.raises(Exception, match=message):
        raise answers[0].error
    assert answers[1].availability is not None


def test_a_mistake_of_gas_itself_is_not_hidden(monkeypatch):
    monkeypatch.setattr(S3Endpoint, "availability", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ask([S3Endpoint("kth", "http://127.0.0.1:9")])


def test_one_that_does_not_come_back_is_given_up_after_its_own_time():
    ever, soon = threading.Event(), threading.Event()

    class Waiting(Plug):
        def __init__(self, name, timeout, event):
            super().__init__(LIST, name, timeout=timeout)
            self._event = event

        def availability(self):
            assert self._event.wait(60)
            return LIST

    threading.Timer(0.5, soon.set).start()
    try:
        hung, slow, quick = ask([Waiting("hung", 0.1, ever), Waiting("slow", 30, soon), Plug(LIST, "quick")])
    finally:
        ever.set()  # its thread ends
    assert isinstance(hung.error, Unreachable)
    assert str(hung.error) == "hung: has not answered within 0.2 s; gave up"
    assert (slow.name, slow.error, quick.name, quick.error) == ("slow", None, "quick", None)
    assert slow.availability is not None


@pytest.mark.parametrize("timeout", [None, "5", -1, 0, float("nan"), float("inf"), 1e300])
def test_a_timeout_that_is_none_counts_as_a_minute(timeout, monkeypatch):
    monkeypatch.setattr("gas.endpoints.asking.PATIENCE_SECONDS", 0.1)
    ever = threading.Event()
    plug = Plug(LIST, timeout=timeout)
    monkeypatch.setattr(plug, "availability", lambda: ever.wait(60), raising=False)
    try:
        [answer] = ask([plug])
    finally:
        ever.set()
    assert "within 0.1 s" in str(answer.error)


def test_an_s3_is_waited_for_as_long_as_it_asks_itself():
    # three times 20 s, and 5 s for a server that says that it is busy
    assert S3Endpoint("kth", "http://127.0.0.1:9", timeout=20, retries=2, patience=5).timeout == 65


def test_a_file_is_read_where_it_is_asked_for_however_long_it_takes(monkeypatch):
    # A thread still reading standard input makes Python abort at exit.
    read_in = []

    class Typing:
        def read(self, most):
            read_in.append(threading.current_thread())
            return json.dumps(LIST.to_wire()).encode()

    monkeypatch.setattr(sys, "stdin", type("Standard", (), {"buffer": Typing()})())
    [answer] = ask([FileEndpoint("-", "-")])
    assert (answer.name, read_in) == ("kth", [threading.current_thread()])


def test_who_is_live_is_asked_again_by_the_same_name_and_a_file_is_not_read_again(tmp_path, s3):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(LIST.to_wire()))
    away = S3Endpoint("away", "http://127.0.0.1:9", retries=0)
    first = ask([FileEndpoint("disk", str(path)), S3Endpoint(s3.url, s3.url), away])
    path.unlink()
    s3.simulated(4, 3600)
    again = ask_again(first)
    assert [a.name for a in again] == ["disk", "s3", "away"]
    assert again[0] is first[0]
    assert [int(a.availability.counts.free[0]) for a in (first[1], again[1])] == [10, 6]
    assert again[2] is first[2]
    assert again[1].at > first[1].at
