"""Machine code for predictions of a Slurm is made by two other processes, for which a plan waits."""

import time

import pytest

from gas.agent import compiling
from gas.beside import compile_beside


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


def test_machine_code_for_samples_is_made_in_two_other_processes(empty_cache):
    begun, ready = empty_cache
    assert compiling.compiled_beside()
    (statements,) = begun
    assert len(statements) == 2
    for statement in statements:
        compile(statement, "statement", "exec")
    ready.append(True)
    assert not compiling.compiled_beside()
    assert len(begun) == 1


@pytest.mark.parametrize("cores", [1, 2])
def test_machine_code_is_waited_for_where_two_processes_can_make_it(empty_cache, monkeypatch, cores):
    waited, remarks = [], []
    monkeypatch.setattr("gas.agent.compiling.wait_beside", lambda kernel, seconds: waited.append(seconds) or True)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)))
    assert not compiling.wait_for_code(remarks.append, time.monotonic() + 20)
    assert [round(seconds) for seconds in waited] == [20] * (cores - 1)
    assert remarks == ["first use: compiling the predictor (10 to 20 s)"] * (cores - 1)
    empty_cache[1].append(True)
    assert compiling.wait_for_code(remarks.append, time.monotonic() + 20)
    assert len(waited) == cores - 1, "it is ready"


def test_where_machine_code_cannot_be_kept_none_is_waited_for(monkeypatch):
    monkeypatch.setenv("GAS_CACHE", "/proc/nowhere")
    monkeypatch.setattr("gas.agent.compiling.available", lambda: True)
    monkeypatch.setattr("gas.agent.compiling.is_ready", lambda kernel: False)
    monkeypatch.setattr("gas.beside._beside", {})
    monkeypatch.setattr("gas.agent.compiling.compile_beside", compile_beside)
    assert not compiling.compiled_beside()
