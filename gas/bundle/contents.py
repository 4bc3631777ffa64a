"""The contents of the one file: an interpreter, the standard library, Gas and its dependencies on a login node."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement

from documents.extras import way_to_install
from gas.errors import Missing

__all__ = ["NAME", "interpreter", "licences", "metadata", "needed", "packages", "standard_library"]

NAME = "apples-gas"
OWN = ("gas", "documents", "speedup_models", "workloads")
"""Packages of Gas; without `experiments`, which needs scipy, numba and matplotlib."""

LEFT_OUT = frozenset(["scipy", NAME])
"""Distributions: only `gas fit` and generated workloads use scipy, which is as large as all others together."""

NOT_RUN = frozenset(
    ["tests", "test", "testing/tests", "f2py", "include", "__pycache__", "conftest.py", "bundle", "manual"]
)
"""Folders and files of packages that Gas never imports."""

DROPPED_ENDINGS = frozenset([".a", ".c", ".h", ".lib", ".pxd", ".pyi", ".pyx", ".typed"])

NOT_STANDARD = (
    "__phello__", "__pycache__", "config-*", "ensurepip", "idlelib", "lib2to3", "lib-dynload", "pydoc_data",
    "site-packages", "test", "tests", "tkinter", "turtle.py", "turtledemo", "venv",
)  # fmt: skip
"""Folders and files of the standard library that Gas never imports."""

NOT_LINKED = ("_test", "_ctypes_test", "_curses", "_dbm", "_gdbm", "_tkinter", "_xx", "nis", "ossaudiodev", "readline",
              "xx")  # fmt: skip
"""Extension modules of the interpreter that need libraries of a desktop, or are for tests."""


def needed() -> list[Distribution]:
    """Return the dependencies of Gas, with their own, without extras, sorted by name."""
    waiting, found = [NAME], dict[str, Distribution]()
    while waiting:
        name = waiting.pop()
        if name in found or (name in LEFT_OUT and name != NAME):
            continue
        found[name] = distribution(name)
        for text in found[name].requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name.lower())
    del found[NAME]
    return [found[name] for name in sorted(found)]


def packages() -> Iterator[tuple[PurePosixPath, Path, bool]]:
    """Yield for each file of a package its place in the bundle, its path, and whether it must be unpacked as a file.

    Python modules, and the many small files of time zones, can be read from an archive.
    """
    for package in OWN:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise Missing(f"the package {package} is not installed: install Gas first")
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*")):
            place = PurePosixPath(package, path.relative_to(folder).as_posix())
            if path.is_file() and _runs(place) and (path.suffix != ".pyi" or path.stem == "__init__"):
                yield place, path, True
    for each in needed():
        files = [(PurePosixPath(one.as_posix()), Path(str(one.locate()))) for one in each.files or []]
        kept = [(place, path) for place, path in files if _runs(place) and path.suffix not in DROPPED_ENDINGS]
        if not kept:
            raise Missing(f"{each.name} has no list of its files: install it with pip")
        readable = each.name == "tzdata" or all(path.suffix == ".py" for _, path in kept)
        for place, path in kept:
            yield place, path, not readable


def _runs(place: PurePosixPath) -> bool:
    """Return whether Gas may use a file of a package at run time."""
    return not (
        ".." in place.parts
        or NOT_RUN & set(place.parts)
        or any(part.endswith(".dist-info") for part in place.parts)
        or place.suffix == ".pyc"
    )


def standard_library() -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield for each module of Python its place in the bundle, and its path."""
    folder = Path(sysconfig.get_path("stdlib"))
    for first in sorted(folder.iterdir()):
        if not any(first.match(pattern) for pattern in NOT_STANDARD):
            for path in [first] if first.is_file() else sorted(first.rglob("*.py")):
                if path.suffix == ".py":
                    yield PurePosixPath(path.relative_to(folder).as_posix()), path


def interpreter() -> tuple[Path, list[tuple[PurePosixPath, Path]]]:
    """Return the program that starts Python, and its extension modules and their libraries with their places.

    Raises
    ------
    Missing
        freeze-core has none for this version of Python.
    """
    try:
        found = distribution("freeze-core")
    except PackageNotFoundError:
        raise Missing(f"the interpreter to bundle is not installed: {way_to_install('bundle')}") from None
    files = [(PurePosixPath(one.as_posix()), Path(str(one.locate()))) for one in found.files or []]
    version = f"console-cpython-{sys.version_info.major}{sys.version_info.minor}-"
    programs = [path for place, path in files if place.parent.name == "bases" and place.name.startswith(version)]
    if not programs:
        raise Missing(f"freeze-core has no interpreter for Python {sys.version_info.major}.{sys.version_info.minor}")
    modules = [
        (place, path)
        for place, path in files
        if place.parts[:2] == ("freeze_core", "lib")
        and ".so" in place.suffixes
        and not place.name.startswith(NOT_LINKED)
    ]
    linked = b"".join(path.read_bytes() for _, path in modules)
    own = [(place, path) for place, path in files if place.parts[0] == "freeze_core.libs"]
    return programs[0], modules + _linked(linked, own)


def _linked(using: bytes, offered: list[tuple[PurePosixPath, Path]]) -> list[tuple[PurePosixPath, Path]]:
    """Return the libraries whose names occur in a binary or, recursively, in a returned library."""
    taken: list[tuple[PurePosixPath, Path]] = []
    while more := [one for one in offered if one not in taken and one[0].name.encode() in using]:
        taken += more
        using = b"".join(path.read_bytes() for _, path in more)
    return taken


def metadata() -> dict[PurePosixPath, str]:
    """Return the data that `importlib.metadata` needs for Gas: its version and its entry points."""
    own = distribution(NAME)
    folder = PurePosixPath(f"apples_gas-{own.version}.dist-info")
    texts = {"METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {own.version}\n"}
    texts["entry_points.txt"] = own.read_text("entry_points.txt") or ""
    return {folder / name: text for name, text in texts.items()}


def licences() -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield the licences of everything in the bundle."""
    for each in [distribution(NAME), distribution("freeze-core"), *needed()]:
        for one in each.files or []:
            if one.name.upper().startswith(("LICEN", "COPYING", "NOTICE")) and one.suffix != ".py":
                yield PurePosixPath("licences", each.name, *one.parts[-2:]), Path(str(one.locate()))
    python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if python.is_file():
        yield PurePosixPath("licences", "python", "LICENSE.txt"), python
