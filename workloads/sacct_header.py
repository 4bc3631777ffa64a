"""The header line in the output of Slurm's accounting: whether there is one, and the fields that it names."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, get_args

from workloads.cells import Malformed
from workloads.log import LogError
from workloads.pages import Source, pages_of

__all__ = ["TRES", "Columns", "Unit", "is_content", "is_header", "is_sacct", "why_no_sacct"]

Unit = Literal["cpus", "nodes"]
"""The unit of a job's processors."""

TRES: Mapping[Unit, str] = {"cpus": "cpu", "nodes": "node"}
"""Their names in Slurm's fields of trackable resources."""

_COUNTS: Mapping[Unit, tuple[str, ...]] = {
    "cpus": ("alloccpus", "ncpus", "alloctres"),
    "nodes": ("allocnodes", "nnodes", "alloctres"),
}
_DELIMITERS = "|,;\t^"
_IDS = frozenset({"jobid", "jobidraw"})
_LIMITS = frozenset({"timelimit", "timelimitraw"})
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_JOB = re.compile(r"\d+(?:_(?:\d+|\[.*\]?))?(?:\+\d+)?", re.ASCII)


@dataclass(frozen=True)
class Columns:
    """Positions of fields in a line.

    Attributes
    ----------
    mark
        The separator of fields.
    trailing
        Whether it also follows the last field, as printed by ``--parsable``.
    names
        Names of all fields, in lower case.
    id, limit, ran
        The fields with the number of a job, its time limit, and its duration.
    counts
        The fields with its number of CPUs or nodes, if present.
    """

    mark: str
    trailing: bool
    names: tuple[str, ...]
    id: str
    limit: str
    ran: str
    counts: Mapping[Unit, str]

    @classmethod
    def of(cls, header: str, log: str) -> Columns:
        """Return the columns of a header line.

        Raises
        ------
        LogError
            It lacks a field.
        """
        mark = _delimiter(header)
        trailing = header.rstrip(" ").endswith(mark)
        names = tuple(field.strip().lower() for field in _fields(header, mark, trailing))

        def one_of(wanted: str, *known: str) -> str:
            found = next((name for name in known if name in names), None)
            if found is None:
                raise LogError(log, f"its header has no {wanted}; add it to sacct's --format", line=1)
            return found

        id = one_of("JobID", "jobid", "jobidraw")
        for wanted in ("User", "Submit", "Start"):
            one_of(wanted, wanted.lower())
        limit = one_of("Timelimit", "timelimitraw", "timelimit")
        ran = one_of("Elapsed", "elapsedraw", "elapsed", "end")
        counts = {
            unit: each for unit in get_args(Unit) if (each := next((n for n in _COUNTS[unit] if n in names), None))
        }
        if not counts:
            raise LogError(log, "its header has neither AllocCPUS nor AllocNodes; add one to sacct's --format", line=1)
        return cls(mark, trailing, names, id, limit, ran, counts)

    def cells(self, line: str) -> dict[str, str]:
        """Return the fields of a line by name; if the job's name is the last field, it may contain the separator.

        Raises
        ------
        Malformed
            It has more or fewer fields than the header.
        """
        values = _fields(line, self.mark, self.trailing)
        last = len(self.names) - 1
        if self.names[last] == "jobname":
            values[last:] = [self.mark.join(values[last:])] if len(values) > last else []
        if len(values) != len(self.names):
            reason = "another number of fields than the header"
            raise Malformed(reason, f"{reason}: {len(values)} where the header has {len(self.names)}")
        return {name: value.strip() for name, value in zip(self.names, values, strict=True)}


def is_content(line: str) -> bool:
    """Return whether a line is neither empty nor a comment above the others."""
    return line.strip()[:1] not in ("", "#")


def is_header(line: str) -> bool:
    """Return whether a line names fields of sacct, with a separator."""
    return bool(_delimiter(line))


def is_sacct(source: str | Path | bytes) -> bool:
    """Return whether a file, or its beginning, plain or gzip, looks like sacct's output with a header."""
    return is_header(_first_line(source))


def why_no_sacct(source: str | Path | bytes) -> str:
    """Return why sacct's output cannot be used: it lacks bars, or its header; empty if it is not from sacct."""
    line = _first_line(source)
    words = line.lower().split()
    way_out = "; print it with sacct --parsable2, and with its header line (without --noheader)"
    if line.lstrip().startswith(";"):
        return ""
    if {"jobid", "jobidraw"} & set(words):
        return f"looks like what sacct prints in columns of blanks, which cannot be separated{way_out}"
    if line.count("|") >= 4 or (_INSTANT.search(line) and _JOB.match(line.strip())):
        return f"looks like what sacct prints, without its header line{way_out}"
    return ""


def _first_line(source: str | Path | bytes) -> str:
    """Return the first non-empty line; empty if there is none."""
    name = "sacct" if isinstance(source, bytes) else Path(source).name
    with BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as stream:
        for page in pages_of(Source(stream, name), 1 << 14):
            for line in page.split("\n"):
                if is_content(line):
                    return line
    return ""


def _delimiter(header: str) -> str:
    """Return the separator of a header line; empty if it is not a header."""
    for mark in _DELIMITERS:
        names = {name.strip().strip('"').lower() for name in header.split(mark)}
        # With commas it may be a log as a table, which has no Timelimit.
        if names & _IDS and (names & _LIMITS or (mark == "|" and len(names) > 1)):
            return mark
    return ""


def _fields(line: str, mark: str, trailing: bool) -> list[str]:
    text = line.rstrip(" ").removesuffix(mark) if trailing else line
    if mark != "|" and '"' in text:  # as written by a spreadsheet
        return next(csv.reader([text], delimiter=mark))
    return text.split(mark)
