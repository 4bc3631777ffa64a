"""Machine code for predictions is made by other processes, while this one predicts in plain Python."""

from time import monotonic

import pytest

from gas.agent import compiling
from gas.beside import compile_beside
from gas.endpoints import Answer
from gas.endpoints.s3 import S3Endpoint
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.prediction.slurm import SECONDS


@pytest.fixture
def empty_cache(monkeypatch):
    """No code is compiled; return the statements that other processes run, and what is ready once they have ended."""
    begun, ready = [], []
    monkeypatch.setattr("gas.agent.compiling.available", lambda: True)
    monkeypatch.setattr(
        "gas.agent.compiling.compile_beside", lambda kernel, *statements: begun.append(statements) or True
    )
    monkeypatch.setattr("gas.agent.compiling.is_ready", lambda kernel: bool(ready))
    monkeypatch.setattr("gas.agent.compiling.learning_is_ready", lambda: bool(ready))
    return begun, ready


@pytest.mark.parametrize(("kind", "processes"), [("slurm", 2), ("s3", 1)])
def test_machine_code_for_samples_is_made_in_other_processes(empty_cache, kind, processes):
    begun, ready = empty_cache
    endpoint = (
        SlurmEndpoint("site", CommandTransport("site")) if kind == "slurm" else S3Endpoint("s3", "http://127.0.0.1:1")
    )
    assert compiling.compiled_beside(endpoint)
    (statements,) = begun
    assert len(statements) == processes
    for statement in statements:
        compile(statement, "statement", "exec")
    ready.append(True)
    assert not compiling.compiled_beside(endpoint)
    assert len(begun) == 1


def test_where_machine_code_cannot_be_kept_none_is_waited_for(monkeypatch):
    monkeypatch.setenv("GAS_CACHE", "/proc/nowhere")
    monkeypatch.setattr("gas.agent.compiling.available", lambda: True)
    monkeypatch.setattr("gas.agent.compiling.is_ready", lambda kernel: False)
    monkeypatch.setattr("gas.beside._beside", {})
    monkeypatch.setattr("gas.agent.compiling.compile_beside", compile_beside)
    assert not compiling.compiled_beside(S3Endpoint("s3", "http://127.0.0.1:1"))


def test_seconds_for_samples_are_what_is_left_after_the_query_within_limits():
    def left(ago, took):
        return compiling.seconds_left(
            Answer(S3Endpoint("s3", "http://127.0.0.1:1"), None, None, took, at=monotonic() - ago)
        )

    assert left(0, 0) == SECONDS
    assert left(4, 3) == pytest.approx(compiling.FIRST_SECONDS - 7, abs=0.5)
    assert left(0, 100) < left(4, 3)
    assert left(0, 100) > 0
