"""Python values are converted as intended; unusable ones are refused with advice."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from gas import Application, AvailabilityList, BadInput, GasError, Limits
from gas.agent.values import (
    ListEndpoint,
    all_at_hand,
    application_of,
    gas_errors_alone,
    history_of,
    instant_of,
    schedulers_of,
    seconds_of,
    share_of,
)
from gas.endpoints import FileEndpoint, S3Endpoint
from speedup_models import Amdahl

NOW = 1_800_000_000
LIST = AvailabilityList.of([NOW, NOW + 100], [4, 8], scheduler="mine")
SMALL = Path(__file__).parent.parent / "examples" / "small.swf"


@pytest.mark.parametrize(
    ("given", "at"),
    [
        (NOW + 60, NOW + 60),
        (np.int64(NOW + 60), NOW + 60),
        (timedelta(minutes=1), NOW + 60),
        ("+1m", NOW + 60),
        (f"@{NOW + 60}", NOW + 60),
        (datetime.fromtimestamp(NOW + 60, UTC), NOW + 60),
        (datetime.fromtimestamp(NOW + 60, timezone(timedelta(hours=5))), NOW + 60),
        (datetime.fromtimestamp(NOW + 60), NOW + 60),  # local, as on the command line
        (datetime.fromtimestamp(NOW + 59.2, UTC), NOW + 60),
    ],
)
def test_an_instant_is_written_in_many_ways(given, at):
    assert instant_of(given, "deadline").at(NOW) == at
    assert instant_of(instant_of(given, "deadline"), "deadline").at(NOW) == at


@pytest.mark.parametrize(
    "given",
    [1.5, True, "soon", b"+1h", date(2027, 1, 1), datetime(1, 1, 1), -1, timedelta(seconds=-1), 2**60, [NOW], object()],
)  # fmt: skip
def test_what_is_no_instant_is_refused(given):
    with pytest.raises(BadInput, match="deadline"):
        instant_of(given, "deadline")


def test_nothing_stays_nothing():
    assert instant_of(None, "deadline") is None


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("4h", 14400), (timedelta(hours=4), 14400), (14400, 14400), (np.int32(14400), 14400), (timedelta(seconds=1.2), 2)],
)
def test_a_duration_is_never_less_than_was_asked_for(given, seconds):
    assert seconds_of(given, "walltime") == seconds


@pytest.mark.parametrize("given", ["4", 0, -5, 1.5, True, timedelta(0), timedelta.max, None, "4:00"])
def test_what_is_no_duration_is_refused(given):
    with pytest.raises(BadInput, match="walltime"):
        seconds_of(given, "walltime")


def test_pandas_has_instants_and_durations_that_are_none():
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp(NOW, unit="s", tz="Europe/Stockholm")
    assert instant_of(stamp, "deadline").at(0) == NOW
    assert seconds_of(pandas.Timedelta("4h"), "walltime") == 14400
    with pytest.raises(BadInput, match="deadline NaT"):
        instant_of(pandas.NaT, "deadline")


@pytest.mark.parametrize(("given", "share"), [(0.05, 0.05), ("5%", 0.05), (0, 0), (1, 1), (np.float64(0.5), 0.5)])
def test_a_share_is_a_number_or_a_percentage(given, share):
    assert share_of(given, "tolerance") == share


@pytest.mark.parametrize("given", ["25", 25, -0.1, float("nan"), 10**400, None, True, [0.5]])
def test_what_is_no_share_is_refused_with_what_is(given):
    with pytest.raises(BadInput, match=r"tolerance.*5%"):
        share_of(given, "tolerance")


def test_an_application_is_one_or_a_file_or_walltimes_by_size(tmp_path):
    app = Application(Amdahl(100.0, 0.1))
    assert application_of(app) is app
    (tmp_path / "app.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 4 = 60 }\n')
    assert application_of(tmp_path / "app.toml") == application_of(str(tmp_path / "app.toml"))
    of_sizes = application_of({np.int64(16): timedelta(hours=4), 64: "1h30m", 32: 9000})
    assert list(of_sizes.sizes(100)) == [16, 32, 64]
    times = of_sizes.execution_times(of_sizes.sizes(100), 1.0)
    assert list(times) == list(of_sizes.walltimes(times)) == [14400, 9000, 5400]


@pytest.mark.parametrize("given", [None, 5, [], {}, {0: "4h"}, {True: "4h"}, {"16": "4h"}, {16: "4"}, {16: None}])
def test_what_is_no_application_is_refused(given):
    with pytest.raises(BadInput, match="application|walltime"):
        application_of(given)


def test_schedulers_are_told_apart_by_how_they_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    configuration = tmp_path / "gas.toml"
    configuration.write_text('[endpoints.kth]\ntype = "file"\npath = "kth-list"\n')
    s3 = S3Endpoint("own", "http://127.0.0.1:9")
    found = schedulers_of(
        ["list.json", "kth", Path("other"), "http://127.0.0.1:9/", s3, LIST, "./third"],
        config=configuration,
        limits={"mine": Limits(4)},
    )
    assert [one.name for one in found] == [
        "kth", "http://127.0.0.1:9", "list.json", "other", "own", "mine", "./third",
    ]  # fmt: skip
    assert isinstance(found[0], FileEndpoint)
    assert found[0].address == "kth-list"
    assert found[4] is s3
    assert found[5].availability() is LIST
    assert found[5].limits == Limits(4)
    assert [one.name for one in schedulers_of(None, config=configuration)] == ["kth"]
    monkeypatch.setenv("GAS_ENDPOINT", "http://127.0.0.1:9")
    assert [one.name for one in schedulers_of(None)] == ["http://127.0.0.1:9"]


def test_one_scheduler_needs_no_list():
    assert [one.name for one in schedulers_of("list.json")] == ["list.json"]
    (held,) = schedulers_of(LIST)
    assert isinstance(held, ListEndpoint)
    assert all_at_hand([held])
    assert not all_at_hand([held, *schedulers_of("list.json")])


@pytest.mark.parametrize("given", [5, [5], [[LIST]], []])
def test_what_is_no_scheduler_is_refused(given):
    with pytest.raises(BadInput, match="scheduler"):
        schedulers_of(given)


def test_a_past_is_a_log_or_its_file(tmp_path):
    history = history_of(SMALL)
    assert history.name == "small.swf"
    assert history_of(history) is history
    assert len(history_of(history.log("cpus")).log("cpus")) == len(history.log("cpus"))
    sacct = tmp_path / "jobs.txt"
    sacct.write_text(
        "JobID|User|Timelimit|Elapsed|Submit|Start|End|AllocCPUS|AllocNodes|State\n"
        "1|ann|01:00:00|00:10:00|2027-01-01T00:00:00|2027-01-01T00:00:00|2027-01-01T00:10:00|4|1|COMPLETED\n"
    )
    assert history_of(str(sacct)).users.keys() == {"ann"}


@pytest.mark.parametrize("given", ["no-such-file", 5])
def test_what_is_no_past_is_refused(given):
    with pytest.raises(BadInput, match='predict .*"auto"'):
        history_of(given)


def test_one_class_covers_all_errors(tmp_path):
    broken = tmp_path / "app.toml"
    broken.write_text('[speedup]\nmodel = "downy"\n')
    with pytest.raises(GasError, match=r'"downy".*did you mean "downey"') as caught, gas_errors_alone():
        application_of(broken)
    assert type(caught.value) is BadInput
