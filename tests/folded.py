"""All cases of a parametrized test run as one test: each separate test costs more than most cases themselves.

Collecting a case in each worker, setting it up, reporting and counting it takes two milliseconds, longer than most
cases run. A test that takes nothing but its parameters needs no setup, so all its cases run as one test. If it fails,
it says which cases failed and why; if it skips a case, it is shown as skipped.

Each case is a test of its own if a test or case is named (``FILE::NAME``, ``-k``), if the test takes a fixture or has
another mark, and if all tests of its module use a fixture (``autouse``). ``@pytest.mark.apart`` keeps long cases
separate.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Collection, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import pytest

__all__ = ["Folded", "cases_of", "fold"]

SHOWN = 200
"""How many characters of a value name its case."""


class Folded:
    """Collects a test that takes nothing but its parameters as one, unless tests are chosen by name."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: object) -> list[pytest.Item] | None:
        config = collector.config
        if not isinstance(collector, pytest.Module) or not isinstance(obj, FunctionType) or config.option.keyword:
            return None
        if any("::" in one for one in config.args) or not collector.istestfunction(obj, name):
            return None
        if collector.get_closest_marker("thorough") or in_use_by_all(collector.obj):
            return None
        cases = cases_of(obj)
        return cases and [pytest.Function.from_parent(collector, name=name, callobj=fold(obj, cases))]


def in_use_by_all(module: ModuleType) -> bool:
    """Return whether all tests of a module use one of its fixtures (``autouse``)."""
    made = (getattr(value, "_fixture_function_marker", None) for value in vars(module).values())
    return any(one is not None and one.autouse for one in made)


def cases_of(function: FunctionType) -> list[Mapping[str, Any]] | None:
    """Return the arguments of each case of a test; None if it takes others or has another mark."""
    marks = getattr(function, "pytestmark", [])
    if not marks or any(mark.name != "parametrize" or mark.kwargs.keys() - {"ids"} for mark in marks):
        return None
    sets = []
    for mark in marks:
        names, values = mark.args
        if not isinstance(values, Collection):  # pytest has still to go through it
            return None
        single = isinstance(names, str) and "," not in names
        names = [one.strip() for one in names.split(",") if one.strip()] if isinstance(names, str) else names
        given = [one if hasattr(one, "marks") else pytest.param(*([one] if single else one)) for one in values]
        if any(one.marks for one in given):
            return None
        sets.append([dict(zip(names, one.values, strict=True)) for one in given])
    cases = [{name: value for one in chosen for name, value in one.items()} for chosen in itertools.product(*sets)]
    return cases if cases and cases[0].keys() == inspect.signature(function).parameters.keys() else None


def fold(function: FunctionType, cases: list[Mapping[str, Any]]) -> FunctionType:
    """Return a test without parameters that tries all cases of a parametrized one."""

    def each_case() -> None:
        ended = list(ends(function, cases))
        failed = [one for one in ended if not isinstance(one, pytest.skip.Exception)]
        if len(failed) > 1:
            raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
        if ended:
            raise (failed or ended)[0]

    each_case.__name__, each_case.__doc__ = function.__name__, function.__doc__
    each_case.__module__, each_case.__qualname__ = function.__module__, function.__qualname__
    each_case.__wrapped__ = function  # type: ignore[attr-defined]  # where it stands, and what it uses
    each_case.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
    return each_case


def ends(function: FunctionType, cases: list[Mapping[str, Any]]) -> Iterator[BaseException]:
    """Yield the exceptions of cases that fail or are skipped, with a note that names the case."""
    for case in cases:
        try:
            function(**case)
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            error.add_note(f"in the case {named(case)}")
            yield error


def named(case: Mapping[str, Any]) -> str:
    """Return the name of a case in a message."""
    return ", ".join(f"{name}={shortened(repr(value))}" for name, value in case.items())


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
