import json
import threading

from gas import AvailabilityList
from gas.endpoints import FileEndpoint, S3Endpoint, ask
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

    class Together:
        name = address = "x"
        limits = Limits()

        def availability(self):
            barrier.wait()
            return LIST

    assert all(a.error is None for a in ask([Together(), Together(), Together()]))


def test_a_plug_ins_own_error_is_its_own():
    class Foreign:
        name, address, limits = "foreign", "x", Limits()

        def availability(self):
            raise ZeroDivisionError("its own")

    assert str(ask([Foreign()])[0].error) == "its own"
