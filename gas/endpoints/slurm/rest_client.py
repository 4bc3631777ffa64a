"""A client of one slurmrestd: it negotiates the version and classifies errors.

A request ends in an answer, in a refusal with Slurm's message, or in doubt. Before v0.0.39, slurmrestd has the same
message ("Unspecified error") if slurmctld rejects the token and if it cannot be reached; a request to send a harmless
signal to job 0, which never exists, tells these apart by its message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from documents.fields import quoted
from gas.endpoints.access import is_loopback, split_address
from gas.endpoints.connection import NoAnswer
from gas.endpoints.exchange import MOST_ANSWER_BYTES, Answer
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.endpoints.slurm.json_answers import VERSIONS
from gas.endpoints.slurm.kept_answers import KeptAnswers
from gas.endpoints.slurm.refusals import KINDS, kind_of
from gas.endpoints.slurm.rest_connection import SlurmConnection, Tokens, vetted_address
from gas.endpoints.slurm.rest_refusals import DOUBTFUL, HELD, HOMELESS, UNACCEPTED, job_number, problems_in
from gas.errors import BadInput, GasError, Unauthorized, Unreachable
from gas.json_text import parsed

__all__ = ["TIMEOUT_SECONDS", "RestClient", "beginning", "number_of"]

DESCRIPTION = "openapi/v3"
"""Path of slurmrestd's API description."""

TIMEOUT_SECONDS = 30.0
"""Seconds to wait: slurmrestd itself waits 10 s for slurmctld before it reports a failure."""


class RestClient:
    """A slurmrestd.

    Parameters
    ----------
    name
        What the user calls it.
    url
        ``http://host:port``, ``https://...`` or ``unix:/path``.
    user
        The user to act as; by default that of the token.
    tokens
        Source of the token; by default ``$SLURM_JWT``, for sockets none.
    version
        Such as ``v0.0.38``; by default the newest supported version that it offers.
    timeout
        Seconds to wait for an answer, and for all answers of one query together.
    certificates
        A file or directory of certificates to trust instead of the public ones.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        user: str | None = None,
        tokens: Tokens | None = None,
        version: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        certificates: str | None = None,
    ) -> None:
        self.name = name
        self.address = vetted_address(url)
        tokens = tokens or Tokens(self.address)
        self.place = f"{self.address} {user or ''} {tokens.source or ''} {version or ''}"
        self._connection = SlurmConnection(name, self.address, timeout, tokens, user, certificates)
        self._tokens = tokens
        self.is_local = self.address.startswith("unix:") or is_loopback(split_address(self.address))
        self.timeout = timeout
        self._version = None if version is None else number_of(version)
        self._endpoints: set[tuple[int, str]] | None = None
        self._kept: KeptAnswers[bytes] = KeptAnswers()
        self._accounting: KeptAnswers[tuple[bytes, str]] = KeptAnswers()

    @property
    def user(self) -> str:
        """The user that requests act as."""
        return self._connection.user

    # ------------------------------------------------------------------------------------------------ versions

    def version(self) -> int:
        """Return the last number of the version in use, 38 for v0.0.38; determined once."""
        if self._version is None:
            offered = self._offered()
            known = [number for number in offered if number in VERSIONS]
            if not known:
                raise Unreachable(
                    f"{self._connection.called} offers {_versions(offered)}, none from v0.0.{VERSIONS[0]} to "
                    f"v0.0.{VERSIONS[-1]}, which Gas supports"
                )
            self._version = max(known)
        return self._version

    def _offered(self) -> list[int]:
        """Return the versions in its API description."""
        answer = self._exchange("GET", f"/{DESCRIPTION}")
        if answer.status_code != 200:
            raise self._problem("GET", DESCRIPTION, answer)
        paths = self._document(DESCRIPTION, answer).get("paths")
        if not isinstance(paths, Mapping):
            raise Unreachable(f"{self._connection.called}/{DESCRIPTION} has no key paths; is it slurmrestd?")
        self._endpoints = {
            (int(match[1]), match[2])
            for path in paths
            if (match := re.match(r"/slurm/v0\.0\.(\d{1,4})/(\w*)", str(path)))
        }
        return sorted({version for version, _ in self._endpoints})

    def _is_offered(self, endpoint: str, version: int | None = None) -> bool:
        """Return whether the API description of a version, by default the one in use, has an endpoint."""
        if self._endpoints is None:
            try:
                self._offered()
            except GasError:
                return False
        return (self.version() if version is None else version, endpoint) in (self._endpoints or ())

    def _path(self, endpoint: str, version: int | None = None) -> str:
        return f"/slurm/v0.0.{self.version() if version is None else version}/{endpoint}"

    # ------------------------------------------------------------------------------------------------ exchanging

    def _act(self, method: str, endpoint: str, body: object = None, *, sends: bool = False) -> Mapping[str, Any]:
        """Make a request that changes something and return the answer; `sends` says that it creates a job."""
        answer = self._exchange(method, self._path(endpoint), body, sends=sends)
        if answer.status_code != 200:
            raise self._problem(method, endpoint, answer, sends=sends, acts=True)
        document = self._document(endpoint, answer, sends=sends)
        problems = [words for words in problems_in(document) if HELD not in words]
        if problems:
            raise self._refusal(problems, sends=sends, acts=True, id=job_number(document) if sends else 0)
        return document

    def _exchange(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        sends: bool = False,
        deadline: float | None = None,
        most: int = MOST_ANSWER_BYTES,
    ) -> Answer:
        try:
            return self._connection.exchange(method, path, body, deadline=deadline, most=most)
        except NoAnswer as error:
            if not error.sent:
                raise NotSent(str(error)) from None
            raise (Unclear if sends else Unreachable)(str(error)) from None

    def _document(self, endpoint: str, answer: Answer, *, sends: bool = False) -> Mapping[str, Any]:
        """Return an answer's JSON object."""
        try:
            # text from users may contain invalid UTF-8 and, in some versions, control characters
            found = parsed(answer.text, strict=False)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        raise (Unclear if sends else Unreachable)(
            f"{self._connection.called} answered {endpoint} with {beginning(answer.text)}, which is not a JSON "
            f"object or cut off; is it slurmrestd?"
        )

    def _problem(
        self, method: str, endpoint: str, answer: Answer, *, sends: bool = False, acts: bool = False
    ) -> GasError:
        """Return the error for an answer other than HTTP 200."""
        called, status = self._connection.called, answer.status_code
        if status == 401:
            return Unauthorized(f"{called} does not accept the credentials (HTTP 401); {self._tokens.hint}")
        try:
            document = self._document(endpoint, answer)
        except Unreachable:
            document = {}
        problems = list(problems_in(document))
        if problems:
            return self._refusal(problems, sends=sends, acts=acts, id=job_number(document) if sends else 0)
        if status == 404 and endpoint != DESCRIPTION:
            return self._not_offered(endpoint)
        came = f" and {beginning(answer.text)}" if answer.content else ""
        message = f"{called} answered {method} {endpoint} with HTTP {status}{came}"
        if sends and status >= 500:
            return Unclear(message)
        return Unreachable(f"{message}; is it slurmrestd?")

    def _not_offered(self, endpoint: str) -> GasError:
        message = f"{self._connection.called} has no {self._path(endpoint)} (HTTP 404)"
        try:
            offered = self._offered()
        except GasError:
            return Unreachable(f"{message}; is it slurmrestd?")
        if self._version in offered:
            return Unreachable(message)
        versions = _versions(offered)
        return BadInput(f"{message}: it offers {versions}; give one of them as version in the endpoint's table")

    def _refusal(self, problems: Sequence[str], *, sends: bool, acts: bool, id: int = 0) -> GasError:
        """Return the error for Slurm's messages."""
        called, words = self._connection.called, "; ".join(dict.fromkeys(problems))
        if id:
            return RefusedAs(f"{called}: Slurm answers: {words}", id)
        kind = kind_of(words, sends=sends, acts=acts)
        if kind is NotSent:
            return NotSent(f"{called} does not reach slurmctld ({words}); is it up?")
        if kind not in KINDS.values():
            if UNACCEPTED in words:
                return Unauthorized(f"{called}: Slurm answers: {words}; {self._tokens.hint}")
            if any(mark in words for mark in DOUBTFUL):
                return self._doubt(words, sends=sends)
        hint = "; give a directory that exists on its nodes (--directory)" if HOMELESS in words else ""
        return kind(f"{called}: Slurm {'refuses' if kind is BadInput else 'answers'}: {words}{hint}")

    def _doubt(self, words: str, *, sends: bool) -> GasError:
        """Return the error for a message that may concern the token or slurmctld (see the module's docstring)."""
        called = self._connection.called
        unaccepted = Unauthorized(f"{called}: slurmctld does not accept the token ({words}); {self._tokens.hint}")
        lost = (Unclear if sends else Unreachable)(f"{called}: Slurm answers: {words}; is slurmctld up?")
        if self._tokens.source is None:
            return lost
        if self._tokens.expired is not None:
            return unaccepted
        try:
            answer = self._exchange("DELETE", self._path("job/0?signal=CONT"))
            message = "; ".join(problems_in(self._document("job/0", answer)))
        except GasError:
            return lost
        if "Zero Bytes were transmitted" in message or answer.status_code == 401:
            return unaccepted
        return lost


def number_of(version: str) -> int:
    """Return the last number of ``v0.0.38``, or raise `BadInput`."""
    found = re.fullmatch(r"v?0\.0\.(\d{1,4})", version)
    if found is None or int(found[1]) not in VERSIONS:
        raise BadInput(
            f"{quoted(version)} is not a version that Gas supports: those from v0.0.{VERSIONS[0]} to "
            f"v0.0.{VERSIONS[-1]} are; leave it out to use the newest that slurmrestd offers"
        )
    return int(found[1])


def _versions(numbers: Sequence[int]) -> str:
    return ", ".join(f"v0.0.{number}" for number in numbers) or "no version"


def beginning(text: str) -> str:
    """Return the beginning of an answer, for messages."""
    return quoted(" ".join(text[:400].split()))
