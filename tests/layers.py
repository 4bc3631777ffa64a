"""The layer of a test, found from what it uses.

pure        no process and no socket: code that decides. ``pytest -m pure``, for every save
process     a service, a browser, HTTP, a program: code that acts. ``pytest -m process``
long, live  as marked by hand; they are in neither layer

A test is in the layer `process` if it is marked so by hand; or if its function or a fixture, or a function or class of
the tests that these name at any depth, names something in `MODULES` or `NAMES`, or something from a module of Gas that
imports one of `MODULES`. With ``-m pure``, a test of that layer that starts a process or opens a socket nevertheless
fails and says so. Otherwise such a test is harmless, and may depend on what is installed. Without either ``-m``, tests
are neither marked nor watched.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Layers"]

MODULES = frozenset(
    ["http", "multiprocessing", "requests", "schemathesis", "selenium", "socket", "socketserver", "subprocess"]
)
"""Modules that make a test that uses them a `process` test."""

NAMES = frozenset(
    [
        "Embedded",
        "FakeOar",
        "FakeSlurm",
        "LiveScheduler",
        "Popen",
        "Runner",
        "fork",
        "getfixturevalue",
        "posix_spawn",
        "spawn",
    ]
)
"""Names that do so, from whichever module."""

EVENTS = frozenset(
    [
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "socket.bind",
        "socket.connect",
        "subprocess.Popen",
    ]
)
"""Python's audit events for the start of a process and the opening of a socket."""

TESTS = Path(__file__).parent


class Layers:
    """Marks tests with their layer, and watches the pure ones."""

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._known: dict[object, bool] = {}
        self._watched: str | None = None
        self._seen: list[str] = []

    def pytest_sessionstart(self) -> None:
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watched is not None and event in EVENTS:
            self._seen.append(event)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if not any(item.get_closest_marker(name) for name in ("long", "live", "process")):
                item.add_marker("process" if self.acts(item) else "pure")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that is marked pure and is not."""
        if not self._strict or item.get_closest_marker("pure") is None:
            return (yield)
        self._seen.clear()
        self._watched = item.nodeid
        try:
            done = yield
        finally:
            self._watched = None
        if self._seen:
            pytest.fail(
                f"a test of the layer `pure` caused {', '.join(sorted(set(self._seen)))}: mark it `process`",
                pytrace=False,
            )
        return done

    def acts(self, item: pytest.Item) -> bool:
        """Return whether a test uses processes or sockets, by the names in it and in its fixtures."""
        fixtures = getattr(item, "_fixtureinfo", None)
        used = [getattr(item, "obj", None)]
        if fixtures is not None:
            used += [one.func for found in fixtures.name2fixturedefs.values() for one in found]
        return any(self.reaches(one) for one in used)

    def reaches(self, thing: Any) -> bool:
        """Return whether a function or class of the tests names something that acts, at any depth."""
        if thing not in self._known:
            waiting, seen = [thing], {thing}
            self._known[thing] = False
            while waiting:
                for name, value in named(waiting.pop()):
                    if acts(name, value):
                        self._known[thing] = True
                        return True
                    if isinstance(value, CODE) and value not in seen and is_of_tests(value):
                        seen.add(value)
                        waiting.append(value)
        return self._known[thing]


CODE = (types.FunctionType, types.MethodType, type)


def acts(name: str, value: Any) -> bool:
    """Return whether a name, or the object that it stands for, uses processes or sockets."""
    return name.partition(".")[0] in MODULES or name in NAMES or outermost(value) in MODULES or imports(value)


def named(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names in a function's code, or in the methods of a class, with their objects."""
    if isinstance(thing, type):
        for base in thing.__mro__[:-1]:
            for value in vars(base).values():
                value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
                if is_of_tests(value):
                    yield "", value
        return
    function = getattr(thing, "__func__", thing)
    while hasattr(function, "__wrapped__") or hasattr(function, "hypothesis"):
        inner = function.hypothesis.inner_test if hasattr(function, "hypothesis") else function.__wrapped__
        if inner is function:
            break
        function = inner
    code = getattr(function, "__code__", None)
    if code is None:
        return
    codes = [code]
    for one in codes:
        codes += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    names = {name for one in codes for name in one.co_names}
    space = function.__globals__
    for name in names:
        value = space.get(name)
        yield name, value
        if isinstance(value, types.ModuleType) and is_of_tests(value):
            for other in names & vars(value).keys():
                yield other, getattr(value, other)
        owner = getattr(thing, "__self__", None)
        method = getattr(type(owner), name, None) if owner is not None else None
        if isinstance(method, types.FunctionType):
            yield "", types.MethodType(method, owner)
    for cell in function.__closure__ or ():
        try:
            yield "", cell.cell_contents
        except ValueError:  # empty
            continue


def outermost(value: Any) -> str:
    """Return the top-level package of a module, or of the module that defines an object."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


def imports(value: Any) -> bool:
    """Return whether an object is from a module of Gas that starts processes or opens sockets itself."""
    module = value if isinstance(value, types.ModuleType) else sys.modules.get(getattr(value, "__module__", None) or "")
    return module is not None and module_imports(module)


@cache
def module_imports(module: types.ModuleType) -> bool:
    """Return whether a module is one of Gas that imports one of `MODULES`."""
    if outermost(module) not in ("gas", "experiments", "workloads"):
        return False
    return any(isinstance(vars(module).get(name), types.ModuleType) for name in MODULES)


def is_of_tests(value: Any) -> bool:
    """Return whether a function, class or module was written for the tests."""
    if isinstance(value, types.ModuleType):
        return file_is_of_tests(getattr(value, "__file__", None))
    if isinstance(value, CODE):
        return file_is_of_tests(getattr(sys.modules.get(value.__module__), "__file__", None))
    return False


@cache
def file_is_of_tests(file: str | None) -> bool:
    """Return whether a file is below the folder of the tests."""
    return file is not None and Path(file).is_relative_to(TESTS)
