"""Error messages of slurmrestd: Slurm's messages, under keys that differ between versions.

`gas.endpoints.slurm.refusals` classifies them, except those that may concern the token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from documents.fields import shown

__all__ = ["DOUBTFUL", "HELD", "HOMELESS", "NOTHING", "UNACCEPTED", "job_number", "problems_in"]

DOUBTFUL = ("Unspecified error", "Zero Bytes were transmitted", "Unexpected message received")
"""Messages if the token is rejected, and also if slurmctld does not answer."""

HELD = "Job is in held state"
"""An error up to v0.0.38 that only reports the requested state."""

HOMELESS = "without the current working directory"
"""The message for a job without a directory, from 24.05."""

NOTHING = "Nothing found"
"""The error if there are no such jobs."""

UNACCEPTED = "authentication"
"""The message for a rejected token; from the commands, which use none, it means that munged is down."""


def job_number(document: Mapping[str, Any]) -> int:
    """Return the job number in an answer; 0 if there is none."""
    result = document.get("result")
    for place in (document, result if isinstance(result, Mapping) else {}):
        found = place.get("job_id")
        if isinstance(found, Mapping):
            found = found.get("number")
        if isinstance(found, str) and found.isdecimal() and found.isascii():
            found = int(found[:18])
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            return found
    return 0


def problems_in(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the error messages in an answer: for the request, and for single jobs."""
    errors = document.get("errors")
    for one in errors if isinstance(errors, list) else [errors] if errors else []:
        yield _words(one)
    for key in ("status", "results"):
        found = document.get(key)
        for one in found if isinstance(found, list) else ():
            error = one.get("error") if isinstance(one, Mapping) else None
            if isinstance(error, Mapping) and error.get("code"):
                yield _words({"description": error.get("message"), "error": error.get("string")})
            elif isinstance(error, str) and one.get("error_code"):
                yield _words({"description": one.get("why"), "error": error})


def _words(error: object) -> str:
    """Return one entry of ``errors`` in words."""
    if not isinstance(error, Mapping):
        return error[:300] if isinstance(error, str) else shown(error)
    given = [error.get(key) for key in ("description", "error")]
    found = [one for text in given if isinstance(text, str) and (one := " ".join(text[:300].split()))]
    if len(found) == 2 and found[1] in found[0]:
        del found[1]
    return ": ".join(found) or shown(dict(error))
