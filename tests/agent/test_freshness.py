"""Gas does not plan with lists that are not of the present, unless requested."""

import json

import made_endpoints
import pytest

from gas import AvailabilityList, BadInput
from gas.agent.schedulers import without_stale
from gas.endpoints import Answer, FileEndpoint, S3Endpoint

NOW = 1_800_000_000
CLOCK = 500.0
"""The same instant by the monotonic clock."""


def answer(endpoint, now, *, ago=0.0, seconds=0.0):
    """Return the answer of an endpoint with this age in seconds, after a query of this many seconds."""
    one = AvailabilityList.of([now], [4], scheduler=endpoint.name)
    return Answer(endpoint, one, None, seconds, at=CLOCK - ago)


def of_file(now, **more):
    return answer(FileEndpoint("disk", "list.json"), now, **more)


@pytest.fixture
def of_live(tmp_path):
    """An endpoint that accepts jobs, with the present time."""
    (tmp_path / "jobs.json").write_text(json.dumps([[]]))
    return lambda now, **more: answer(made_endpoints.Queue("ada", str(tmp_path / "jobs.json")), now, **more)


def problems(*answers, **options):
    found = without_stale(answers, NOW, CLOCK, **options)
    assert all((one.availability is None) != (one.error is None) for one in found)
    return [None if one.error is None else str(one.error) for one in found]


@pytest.mark.parametrize("apart", [0, 3600, -3600])
def test_a_list_in_a_file_of_the_present_hour_is_planned_with(apart):
    assert problems(of_file(NOW + apart)) == [None]


@pytest.mark.parametrize(
    ("apart", "words"), [(-3601, "1h00m behind"), (3601, "1h00m ahead of"), (-9 * 365 * 86400, "3285d00h behind")]
)
def test_an_older_one_and_one_of_the_future_are_not(apart, words):
    (problem,) = problems(of_file(NOW + apart))
    assert problem.startswith("disk: as of 20")
    assert f"{words} this machine's clock" in problem
    assert "--stale-ok" in problem
    assert problems(of_file(NOW + apart), stale_ok=True) == [None]


def test_beside_a_live_scheduler_the_present_is_its_own(of_live):
    assert problems(of_live(NOW), of_file(NOW - 3600)) == [None, None]
    for stale_ok in (False, True):
        ours, other = problems(of_live(NOW), of_file(NOW - 3601), stale_ok=stale_ok)
        assert ours is None
        assert other.endswith("1h00m behind the live schedulers; left out")


@pytest.mark.parametrize(("apart", "fresh"), [(60, True), (-60, True), (61, False), (-61, False)])
def test_a_live_scheduler_is_of_the_present_minute(of_live, apart, fresh):
    (problem,) = problems(of_live(NOW + apart))
    assert (problem is None) == fresh
    assert problems(of_live(NOW + apart), stale_ok=True) == [None]


def test_what_counts_is_when_it_was_asked_and_not_how_long_others_were_waited_for(of_live):
    assert problems(of_live(NOW - 500, ago=500)) == [None]
    assert problems(of_live(NOW - 100, seconds=90)) == [None]  # read first, and the other schedulers took this long
    assert problems(of_live(NOW, ago=500)) != [None]


@pytest.mark.parametrize("apart", [-(10**6), 10**6])
def test_an_s3_has_a_clock_of_its_own(apart):
    assert problems(answer(S3Endpoint("kth", "http://127.0.0.1:9"), NOW + apart)) == [None]


def test_one_that_has_not_answered_stays_as_it_is():
    silent = Answer(FileEndpoint("disk", "list.json"), None, BadInput("cannot be read"), 0.0)
    assert problems(silent) == ["cannot be read"]
