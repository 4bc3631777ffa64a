"""Replaces missing modules that commands import: enough to define commands, not to run them."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["Application", "Parameter", "install"]

OWN = frozenset(["gas", "documents", "speedup_models", "workloads", "experiments"])
OPERATORS = "add radd sub rsub mul rmul truediv rtruediv floordiv pow rpow neg lshift rlshift and rand lt le gt ge"


class Anything(type):
    """A class for any name in a module: calling, indexing or calculating with it returns the class itself."""

    def __getattr__(cls, name: str) -> Any:
        return _anything(name)

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __call__(cls, *values: object, **named: object) -> Any:
        return cls

    def __format__(cls, how: str) -> str:
        return ""


for _name in OPERATORS.split():
    setattr(Anything, f"__{_name}__", lambda cls, *other: cls)


def _anything(name: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return Anything(name, (), {})


class Parameter:
    """An option or argument, as written in the source.

    Attributes
    ----------
    names
        Names of an option; empty for an argument.
    facts
        Its metavar, help and so on.
    """

    def __init__(self, kind: str, values: tuple[object, ...], facts: dict[str, Any]) -> None:
        self.kind, self.facts = kind, facts
        self.names = [name for value in values if isinstance(value, str) for name in value.split("/")]


class Application:
    """A program of several commands, each a function."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        self.commands: dict[str, Callable[..., Any]] = {}

    def command(self, name: str | None = None, **facts: Any) -> Callable[[Any], Any]:
        """Register a function as a command."""

        def keep(function: Any) -> Any:
            self.commands[name or function.__name__] = function
            return function

        return keep

    def callback(self, *values: object, **facts: Any) -> Callable[[Any], Any]:
        """Ignore the options that all commands share; the manual describes them by hand."""
        return lambda function: function


def _exported(package: str, file: str) -> tuple[Any, Any, list[str]]:
    """Replace `lazy_loader.attach_stub`: names of a package that are imported on demand."""
    where: dict[str, tuple[str, str]] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = f"{package}{'.' if node.module else ''}{node.module or ''}" if node.level else node.module or ""
            where |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(name)
        module, original = where[name]
        return getattr(importlib.import_module(module), original)

    return get, lambda: sorted(where), sorted(where)


class _Finder(MetaPathFinder, Loader):
    """Finds the modules that no other finder finds."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        known = name.split(".")[0] in OWN | sys.stdlib_module_names  # no stand-in for a missing `_winapi`
        return None if known else ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        facts: dict[str, Any] = {"__path__": [], "__getattr__": _anything}
        if spec.name == "typer":
            facts["Option"] = lambda *values, **named: Parameter("option", values, named)
            facts["Argument"] = lambda *values, **named: Parameter("argument", values, named)
            facts["Typer"] = Application
        elif spec.name == "lazy_loader":
            facts["attach_stub"] = _exported
        vars(module).update(facts)
        return module

    def exec_module(self, module: ModuleType) -> None:
        return


def install() -> None:
    """Install these stand-ins, in a process that does nothing else."""
    sys.meta_path.append(_Finder())
