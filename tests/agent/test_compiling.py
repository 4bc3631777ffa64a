"""Machine code for predictions of a Slurm is made by two other processes, while this one predicts in plain Python."""

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


def test_where_machine_code_cannot_be_kept_none_is_waited_for(monkeypatch):
    monkeypatch.setenv("GAS_CACHE", "/proc/nowhere")
    monkeypatch.setattr("gas.agent.compiling.available", lambda: True)
    monkeypatch.setattr("gas.agent.compiling.is_ready", lambda kernel: False)
    monkeypatch.setattr("gas.beside._beside", {})
    monkeypatch.setattr("gas.agent.compiling.compile_beside", compile_beside)
    assert not compiling.compiled_beside()
