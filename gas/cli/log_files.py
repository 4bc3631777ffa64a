"""The files of a command that takes logs and folders of logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gas.cli.logs import check_readable
from gas.errors import BadInput
from workloads import LogError
from workloads.formats import SUFFIXES, format_of

__all__ = ["TRACE", "files_for", "is_said_to_be_log", "log_files", "stem_of"]

TRACE = "{trace}"
"""The placeholder for the name of the log in the names of output files."""

_OF_LOGS = (".swf", ".sacct", ".psv")
"""Suffixes of logs only; files with other suffixes may also be tables and texts."""


def log_files(paths: Sequence[str]) -> list[str]:
    """Return the paths, with folders replaced by all files below them except hidden ones, sorted by name.

    Raises
    ------
    BadInput
        A path cannot be read, or a folder is empty.
    """
    check_readable([path for path in paths if not path or not Path(path).is_dir()])
    found: dict[str, None] = {}
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            found[path] = None
            continue
        inside = (one.relative_to(path) for one in Path(path).rglob("*") if one.is_file())
        files = sorted(str(Path(path) / one) for one in inside if not any(part.startswith(".") for part in one.parts))
        if not files:
            raise BadInput(f"{path}: is an empty folder; give a folder with logs, or a log")
        found.update(dict.fromkeys(files))
    return list(found)


def is_said_to_be_log(path: str) -> bool:
    """Return whether a file of a folder is a log by its name or header; if it is unusable, that is an error."""
    if Path(path.removesuffix(".gz")).suffix.lower() in _OF_LOGS:
        return True
    try:
        return format_of(path) == "sacct"
    except (OSError, LogError):
        return False


def stem_of(path: str) -> str:
    """Return the name of a log without folder and suffix."""
    name = "stdin" if path == "-" else Path(path).name
    name = name.removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in SUFFIXES else name


def files_for(template: str | None, option: str, paths: Sequence[str]) -> list[str | None]:
    """Return the name of the output file for each log; if two logs have the same name, the later gets a number.

    Raises
    ------
    BadInput
        All logs would be written to one file, or the folder does not exist.
    """
    if template is None:
        return [None] * len(paths)
    if len(paths) > 1 and TRACE not in template:
        raise BadInput(f"{option} {template}: the name must contain {TRACE}, since there are several files")
    seen: Counter[str] = Counter()
    found: list[str | None] = []
    for path in paths:
        stem = stem_of(path)
        seen[stem] += 1
        name = template.replace(TRACE, stem if seen[stem] == 1 else f"{stem}-{seen[stem]}")
        if not Path(name).parent.is_dir():
            raise BadInput(f"{option} {name}: there is no folder {Path(name).parent}; create it first")
        found.append(name)
    return found
