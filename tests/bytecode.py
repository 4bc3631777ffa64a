"""Bytecode of the sources and tests, written once before workers start.

On a fresh clone each worker would compile all sources, and rewrite the asserts of all tests, at the same time as the
others: 11 CPU seconds each. The process that starts the workers does it for them, on all cores.
"""

from __future__ import annotations

import compileall
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

__all__ = ["stale", "write"]

TESTS = Path(__file__).parent
_TAGS = ("*", "*pytest*")  # the suffixes of plain bytecode, and of bytecode with rewritten asserts
PACKAGES = ("documents", "experiments", "gas", "speedup_models", "workloads")


def write(files: list[Path]) -> None:
    """Write the bytecode of files, on all cores; a file that does not compile is left to its importers."""
    cores = len(os.sched_getaffinity(0)) if files else 0
    children = []
    for core in range(cores):
        if (child := os.fork()) == 0:
            try:
                for file in files[core::cores]:
                    with contextlib.suppress(Exception):
                        _write_one(file)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def stale(folders: list[Path] | None = None) -> Iterator[Path]:
    """Yield the files whose bytecode is absent or older: of all packages and tests, or in folders."""
    for folder in folders or [TESTS, *(TESTS.parent / name for name in PACKAGES)]:
        for file in folder.rglob("*.py"):
            kept = (file.parent / "__pycache__").glob(f"{file.stem}.{_TAGS[_rewritten(file)]}.pyc")
            if not any(one.stat().st_mtime >= file.stat().st_mtime for one in kept):
                yield file


def _rewritten(file: Path) -> bool:
    return file.is_relative_to(TESTS) and (file.name.startswith("test_") or file.name == "conftest.py")


def _write_one(file: Path) -> None:
    """Write the bytecode of one file; runs in a child, since it disables pytest's rewriting."""
    if not _rewritten(file):
        compileall.compile_file(file, quiet=2)
        return
    from _pytest.assertion import rewrite

    rewrite.exec = lambda code, names: None  # type: ignore[attr-defined]  # what is written is not run
    hook = next(one for one in sys.meta_path if isinstance(one, rewrite.AssertionRewritingHook))
    hook.exec_module(SimpleNamespace(__name__=file.stem, __spec__=SimpleNamespace(origin=str(file))))  # type: ignore
