"""What the computation of a result depends on: modules reached by imports, their data, and versions of libraries.

Imports are followed in the source, without importing anything. Every import statement counts, also within functions,
except those for type checkers only. If a package imports its names on demand, the stub next to it lists them: an
imported name counts, and all names count if the package itself is imported; unused names do not.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["LIBRARIES", "PACKAGES", "installed", "reached", "version_of"]

PACKAGES = ("documents", "experiments", "gas", "speedup_models", "workloads")
"""Packages whose modules are followed; other imports count through `LIBRARIES`."""

LIBRARIES = ("numba", "numpy", "scikit-learn", "scipy")
"""Libraries on whose version results depend: machine code, random numbers, learning, distributions."""

NO_DATA = (".jinja", ".md", ".py", ".pyc", ".typed")
"""Files in a package's folder that no computation reads."""


def version_of(run: Callable[..., Any], *, packages: Iterable[str] = PACKAGES) -> str:
    """Return a hash of everything on which the results of a function depend.

    Parameters
    ----------
    packages
        Packages whose modules are followed.
    """
    while isinstance(run, partial):
        run = run.func
    digest = hashlib.sha256()
    for name, path in sorted(reached([run.__module__], packages=packages).items()):
        digest.update(f"{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    python = f"python {sys.version_info.major}.{sys.version_info.minor}"  # sums of floats differ from 3.12 on
    digest.update("\0".join((*installed(LIBRARIES), python)).encode())
    return digest.hexdigest()


def installed(libraries: Iterable[str]) -> tuple[str, ...]:
    """Return the installed ones of some libraries, with versions."""
    found = []
    for library in libraries:
        with suppress(PackageNotFoundError):
            found.append(f"{library} {version(library)}")
    return tuple(found)


def reached(modules: Iterable[str], *, packages: Iterable[str] = PACKAGES) -> dict[str, Path]:
    """Return by name the files of modules, of all modules that they import, and of the data next to these.

    A module's packages are imported with it and count, but not their imports on demand. Data are all files that are not
    Python's in the folder of a reached package, including folders that are not packages.
    """
    packages = frozenset(packages)
    found: dict[str, Path] = {}
    waiting = list(modules)
    for name in waiting:
        if _file_of(name) is None:
            raise ModuleNotFoundError(f"there is no module {name}")
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _file_of(name)
        if path is None:
            package, _, named = name.rpartition(".")
            waiting += [package, *_on_demand(package, named)] if package else []
            continue
        found[name] = path
        if path.name == "__init__.py":
            found.update((f"{name}/{data.relative_to(path.parent).as_posix()}", data) for data in _data(path.parent))
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
        for one in _imported(path, name):
            if one.partition(".")[0] in packages:
                waiting += [one, *_of_package(one)]
    return found


def _on_demand(package: str, name: str) -> tuple[str, ...]:
    """Return the module from which a package imports, on demand, a name of its stub."""
    return tuple(module for module, known in _of_stub(package) if name in (known, "*"))


def _of_package(name: str) -> tuple[str, ...]:
    """Return everything that a package, if it is itself imported, may import on demand."""
    return tuple(module for module, _ in _of_stub(name))


def _file_of(name: str) -> Path | None:
    """Return the file of a module; None if the name is not a module but, for example, a name in one."""
    top, _, rest = name.partition(".")
    spec = find_spec(top)  # for the name of a nested package, it would import the outer ones
    if spec is None or spec.origin is None:
        return None
    place = Path(spec.origin)
    if not rest:
        return place
    if place.name != "__init__.py":
        return None
    place = place.parent.joinpath(*rest.split("."))
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file():
            return file
    return None


def _data(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name != "__pycache__" and not (path / "__init__.py").exists():
                yield from _data(path)
        elif path.suffix not in NO_DATA:
            yield path


@cache
def _of_stub(package: str) -> tuple[tuple[str, str], ...]:
    """Return the modules and names in the stub of a package; empty if there is no stub or no such package."""
    path = _file_of(package)
    if path is None or path.name != "__init__.py" or not path.with_suffix(".pyi").is_file():
        return ()
    statements = _imports(ast.parse(path.with_suffix(".pyi").read_bytes()), package)
    return tuple((module, name) for module, names in statements for name in names)


@cache
def _imported(path: Path, name: str) -> tuple[str, ...]:
    """Return the dotted names that a module imports: modules, and what may be modules or names in them.

    A package from which names are imported is not listed itself; each of its names is, and it is a prefix of these.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: list[str] = []
    for module, names in _imports(ast.parse(path.read_bytes()), package):
        found += [f"{module}.{one}" for one in names] if names else [module]
    return tuple(found)


_STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of statements that hold other statements; expressions, which are most of a tree, hold none."""


def _imports(tree: ast.AST, package: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the modules that a file of a package imports, each with the names imported from it, if any."""
    found: list[tuple[str, tuple[str, ...]]] = []

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            for other in node.orelse:
                look(other)
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(part for part in (above, node.module) if part)
            found.append((module, tuple(alias.name for alias in node.names)))
        for part in _STATEMENTS:
            for child in getattr(node, part, ()):
                look(child)

    look(tree)
    return found
