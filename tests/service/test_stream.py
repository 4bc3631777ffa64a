"""The event stream over HTTP: complete, in order, and resumed without loss after a break."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator

import pytest
import requests

from gas.errors import TooMany
from gas.service.live import LiveScheduler
from gas.service.server import Embedded
from gas.service.stream import Followers
from gas.service.token_file import add_token
from gas.service.tokens import Tokens


class Stream:
    """An open event stream, as (event, id, data)."""

    def __init__(self, url, last=None):
        headers = {} if last is None else {"Last-Event-ID": last}
        self.answer = requests.get(url + "/v1/events", headers=headers, stream=True, timeout=30)
        assert self.answer.headers["Content-Type"].startswith("text/event-stream")
        self.events = self._read()

    def _read(self) -> Iterator[tuple[str, str, dict]]:
        fields = {}
        for line in self.answer.iter_lines(decode_unicode=True):
            if not line and fields:
                yield fields["event"], fields["id"], json.loads(fields["data"])
                fields = {}
            elif line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value

    def __next__(self):
        return next(self.events)

    def until(self, wanted):
        """Return all events up to the first one that is wanted."""
        seen = []
        for event in self.events:
            seen.append(event)
            if wanted(*event):
                return seen
        raise AssertionError(f"the stream ended after {seen}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()


def test_it_begins_with_the_machine(s3):
    with Stream(s3.url) as stream:
        kind, _, data = next(stream)
    machine = s3.get("/v1/machine").json()
    assert kind == "machine"
    assert {key: data[key] for key in data if not key.startswith("now")} == {
        key: machine[key] for key in machine if not key.startswith("now")
    }


def test_a_job_s_life_is_told(s3):
    with Stream(s3.url) as stream:
        next(stream)
        job = s3.process(2, 30, "true")
        seen = stream.until(lambda kind, _, data: kind == "job" and data["state"] == "completed")
        after = next(stream)
    states = [data["state"] for kind, _, data in seen if kind == "job" and data["id"] == job["id"]]
    assert states == ["queued", "running", "completed"]
    assert seen[0][2] == job, "as GET /v1/jobs/{id} answers it"
    assert after[0] == "machine", "after the jobs of a change"


def test_a_job_that_moves_is_told(s3):
    first, second = s3.simulated(10, 1000), s3.simulated(10, 10)
    with Stream(s3.url) as stream:
        next(stream)
        s3.delete(f"/v1/jobs/{first['id']}")
        moved = stream.until(lambda kind, _, data: kind == "job" and data["id"] == second["id"])[-1][2]
    assert moved["promise"] < second["promise"]


def test_whoever_comes_back_misses_nothing(s3):
    with Stream(s3.url) as stream:
        next(stream)
        s3.simulated(1, 1000)
        last = stream.until(lambda kind, _, __: kind == "machine")[-1][1]
    ids = [s3.simulated(1, 1000)["id"] for _ in range(3)]
    with Stream(s3.url, last) as stream:
        assert next(stream)[0] == "machine"
        told = []
        while len(told) < 3:
            kind, _, data = next(stream)
            if kind == "job" and data["state"] == "queued":
                told.append(data["id"])
    assert told == ids


@pytest.mark.parametrize("last", ["0123abcd-5", "nonsense", "-", "99999999999999999999"])
def test_whoever_comes_back_from_elsewhere_is_told_to_read_anew(s3, last):
    with Stream(s3.url, last) as stream:
        assert [next(stream)[0] for _ in range(3)] == ["machine", "reset", "machine"]


def test_many_readers_get_the_same(s3):
    told = [[] for _ in range(8)]
    ready = threading.Barrier(9)

    def read(where):
        with Stream(s3.url) as stream:
            next(stream)
            ready.wait(20)
            while len([1 for kind, _ in where if kind == "job"]) < 20:
                kind, number, _ = next(stream)
                where.append((kind, number))

    readers = [threading.Thread(target=read, args=(where,)) for where in told]
    for reader in readers:
        reader.start()
    ready.wait(20)
    for _ in range(20):
        s3.simulated(10, 1000)
    for reader in readers:
        reader.join(20)
        assert not reader.is_alive()
    assert all(where == told[0] for where in told)


def test_open_streams_end_when_the_service_stops(start_s3):
    s3 = start_s3()
    with Stream(s3.url) as stream:
        next(stream)
        began = time.monotonic()
        s3.embedded.__exit__(None, None, None)
        assert list(stream.events) == []
        assert time.monotonic() - began < 4, "nobody waited for the stream"


# --------------------------------------------------------------------------------------------------- how many follow


def places(followers, stack, user, count):
    return [stack.enter_context(followers.place(user)) for _ in range(count)]


def test_a_user_has_so_many_streams_and_no_more():
    followers = Followers(most=10, each=2)
    with contextlib.ExitStack() as stack:
        places(followers, stack, "alice", 2)
        with pytest.raises(TooMany, match=r"alice has 2 open event streams.*--max-streams"):
            places(followers, stack, "alice", 1)
        places(followers, stack, "bob", 2)
    with contextlib.ExitStack() as stack:
        places(followers, stack, "alice", 2)


def test_the_user_with_most_streams_gives_up_the_oldest_to_one_with_fewer():
    followers = Followers(most=6)
    with contextlib.ExitStack() as stack:
        hers = places(followers, stack, "alice", 6)
        his = places(followers, stack, "bob", 3)
        assert [f.gave_way for f in hers] == [True] * 3 + [False] * 3
        for user in ("alice", "bob"):
            with pytest.raises(TooMany, match="6 clients are already connected"):
                places(followers, stack, user, 1)
        places(followers, stack, "carol", 1)
        assert [f.gave_way for f in hers] == [True] * 4 + [False] * 2
        assert not any(f.gave_way for f in his)


def test_a_user_who_takes_all_streams_ends_as_one_among_others(tmp_path, monkeypatch):
    monkeypatch.setattr("gas.service.app.MOST_FOLLOWERS", 4)
    file = tmp_path / "tokens"
    tokens = {user: add_token(file, user)[0] for user in ("alice", "bob")}
    with Embedded(LiveScheduler("x", 4, tmp_path / "state"), tokens=Tokens(file)) as service:

        def follow(user):
            headers = {"Authorization": f"Bearer {tokens[user]}"}
            return requests.get(service.url + "/v1/events", headers=headers, stream=True, timeout=30)

        hers = [follow("alice") for _ in range(4)]
        assert [answer.status_code for answer in hers] == [200] * 4
        refused = follow("alice")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        his = [follow("bob") for _ in range(2)]
        assert [answer.status_code for answer in his] == [200] * 2
        for answer in hers[:2]:
            assert b"event: machine" in answer.content, "it was told of the beginning, and ended"
        for answer in hers[2:] + his:
            assert next(answer.iter_lines()) == b"event: machine"
        for answer in [*hers, *his, refused]:
            answer.close()


def test_who_follows_by_hundreds_at_the_same_time_gets_no_more_than_the_limit(s3):
    counted = s3.embedded.scheduler.feed
    answers = []

    def follow():
        answers.append(requests.get(s3.url + "/v1/events", stream=True, timeout=30))

    threads = [threading.Thread(target=follow) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 16 + [429] * 24
    assert counted.readers <= 16
    for answer in answers:
        answer.close()
