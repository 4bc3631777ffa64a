"""A Python function is a moldable job: it runs with the chosen size, and its result or error comes back."""

import builtins
import concurrent.futures
import os
import pickle
import re
import time
from functools import partial

import calls_made
import pytest

import gas
from documents.extras import way_to_install
from gas.agent import futures
from gas.agent.submission import Submitted
from gas.errors import BadInput, Infeasible, JobFailed, Unreachable
from gas.workflows import functions
from gas.workflows.call import OUTCOME, Outcome
from gas.workflows.functions import FunctionFuture

pytest.importorskip("cloudpickle")

APP = {2: "5m", 4: "3m"}


@pytest.fixture
def executor(s3, tmp_path):
    """Return an executor on a real S³ of 10 processors: ``executor(keep=True)``."""
    return lambda app=APP, **more: gas.Executor(app, s3.url, folder=tmp_path / "calls", **more)


def left(tmp_path):
    return list((tmp_path / "calls").iterdir())


def test_it_gets_the_size_that_was_chosen_and_returns_what_it_computes(executor, tmp_path):
    offset = 100
    with executor({4: "3m"}, environment={"WHO": "me"}) as made:
        jobs = [
            made.submit(calls_made.size, "{processors}"),
            made.submit(calls_made.size, processors="{walltime}"),
            made.submit(calls_made.size, 0, environment=True),
            made.submit(lambda n: (n + offset, os.environ["WHO"], os.getpid()), 1),
            made.submit(partial(calls_made.size, "{not_for_gas"), environment=False),
            made.submit(calls_made.size, "{{processors}}"),
        ]
        values = [job.result(timeout=60) for job in jobs]
    assert values[:3] == [4, 180, "4"]
    assert values[3][:2] == (101, "me")
    assert values[3][2] != os.getpid()
    assert values[4:] == ["{not_for_gas", "{processors}"]
    with pytest.raises(
        BadInput, match=r"'\{nods\}': is not a placeholder .*write '\{\{nods\}\}'.*did you mean \"nodes\""
    ):
        made.submit(calls_made.size, "{nods}")
    assert jobs[0].plan.best.processors == 4
    assert jobs[0].job["name"] == "size"
    assert left(tmp_path) == []
    with pytest.raises(RuntimeError, match="after shutdown"):
        made.submit(calls_made.size, 1)


@pytest.mark.thorough
def test_map_is_in_order(executor):
    with executor() as made:
        assert list(made.map(lambda n: n * n, range(3), timeout=60)) == [0, 1, 4]


def test_what_it_raises_is_raised_with_the_traceback_of_the_job(executor, tmp_path):
    with executor() as made, pytest.raises(ValueError, match="no such mesh") as caught:
        made.submit(calls_made.fail, "mesh").result(timeout=60)
    assert isinstance(caught.value.__cause__, JobFailed)
    assert 'raise ValueError(f"no such {kind}")' in str(caught.value.__cause__)
    assert left(tmp_path) == []


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("exit", "SystemExit: 3"),
        ("kill", "failed with exit status 9"),
        ("value", "pickle"),
        ("local", "Local: only here"),
        ("sealed", "Sealed: nothing to add"),
    ],
)
def test_whatever_else_ends_it_is_said(executor, tmp_path, kind, said):
    with executor() as made:
        error = made.submit(calls_made.fail, kind).exception(timeout=60)
    assert isinstance(error, JobFailed | TypeError | pickle.PicklingError)
    assert said in f"{error!r} {error} {error.__cause__}"
    assert left(tmp_path) == []


def test_a_cancelled_call_leaves_nothing(executor, s3, tmp_path):
    s3.until(s3.simulated(10, 3600)["id"], "running")
    made = executor()
    job = made.submit(time.sleep, 100)
    assert len(left(tmp_path)) == 1
    made.shutdown(cancel_futures=True)
    assert job.cancelled()
    assert left(tmp_path) == []


def test_folders_stay_on_request_until_they_are_cleaned(executor, tmp_path):
    with executor(keep=True) as made:
        assert made.submit(calls_made.size, 1).result(timeout=60) == 1
    assert len(left(tmp_path)) == 1
    assert made.clean() == 0
    assert made.clean("0s") == 1
    assert left(tmp_path) == []


def test_what_is_not_submitted_leaves_nothing(s3, tmp_path):
    for error, app, where in ((Infeasible, {64: "1h"}, s3.url), (Unreachable, APP, "http://127.0.0.1:9")):
        with gas.Executor(app, where, folder=tmp_path / "calls") as made, pytest.raises(error):
            made.submit(calls_made.size, 1)
        assert left(tmp_path) == []


# ----------------------------------------------------------------------------------- without a scheduler


@pytest.fixture
def nowhere(tmp_path):
    return gas.Executor(APP, gas.AvailabilityList.of([0], [8]), folder=tmp_path / "calls")


def test_a_call_that_no_job_could_load_is_refused(nowhere):
    with pytest.raises(BadInput, match="cannot be pickled"):
        nowhere.submit(calls_made.size, (n for n in ()))
    with pytest.raises(BadInput, match=r'procesors.*"processors"'):
        nowhere.submit(calls_made.size, "{procesors}")
    with pytest.raises(BadInput, match="accepts no jobs"):
        nowhere.submit(calls_made.size, "{processors}")


def test_without_cloudpickle_functions_of_modules_go(nowhere, monkeypatch):
    plain = builtins.__import__

    def without(name, *rest):
        if name == "cloudpickle":
            raise ImportError
        return plain(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    way_out = re.escape(way_to_install("notebook"))
    with pytest.raises(BadInput, match=f"cannot be pickled.*{way_out}"):
        nowhere.submit(lambda: 1)
    own = type("F", (), {"__call__": lambda self: 1, "__module__": "__main__"})()
    with pytest.raises(BadInput, match=f"defined in __main__.*{way_out}"):
        nowhere.submit(own)
    with pytest.raises(BadInput, match="accepts no jobs"):  # it was pickled
        nowhere.submit(calls_made.size, 1)


def test_a_folder_that_others_can_write_is_refused(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "file").touch()
    where = gas.AvailabilityList.of([0], [8])
    with pytest.raises(BadInput, match="other users can write to it.*chmod go-w"):
        gas.Executor(APP, where, folder=tmp_path / "open")
    with pytest.raises(BadInput, match="cannot be made"):
        gas.Executor(APP, where, folder=tmp_path / "file" / "calls")
    gas.Executor(APP, where, folder=tmp_path / "new" / "calls")
    assert (tmp_path / "new" / "calls").stat().st_mode & 0o777 == 0o700


class Far:
    """A scheduler of other machines, whose files arrive late."""

    name, target, is_local, credential = "far", "far", False, None

    def __init__(self, state):
        self.state = state

    def job(self, id):
        unknown = dict.fromkeys(("promise", "start", "due", "finished", "exit_status", "signal", "message", "walltime"))
        return {**unknown, "id": id, "name": "f", "processors": 4, "state": self.state}

    def output(self, id, stream, limit):
        return b""


@pytest.fixture
def far(tmp_path, monkeypatch):
    monkeypatch.setattr(futures, "WAITING_PAUSES", (0.01, 0.05))
    folder = tmp_path / "call"
    folder.mkdir()

    def future(state):
        where = Far(state)
        where.target = f"far {id(where)}"
        return FunctionFuture(Submitted(where, "far", where.job(1), "key"), folder)

    return folder, future


def test_an_outcome_that_comes_late_is_waited_for(far):
    folder, future = far
    job = future("completed")
    assert concurrent.futures.wait([job], timeout=0.1).done == set()
    (folder / OUTCOME).write_bytes(pickle.dumps(tuple(Outcome(pickle.dumps(None), None, ""))))
    assert job.result(timeout=10) is None
    assert not folder.exists()


def test_one_that_does_not_come_is_a_failure(far, monkeypatch):
    monkeypatch.setattr(functions, "OTHERWISE_LATE_SECONDS", 0.05)
    error = far[1]("timeout").exception(timeout=10)
    assert isinstance(error, JobFailed)
    assert "timeout" in str(error)


def test_a_result_that_cannot_be_loaded_is_a_failure(far):
    folder, future = far
    (folder / OUTCOME).write_bytes(pickle.dumps(tuple(Outcome(b"nothing of pickle", None, ""))))
    assert "cannot be loaded here" in str(future("completed").exception(timeout=10))
