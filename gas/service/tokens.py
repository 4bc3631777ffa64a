"""Identifies the user of a request: checks its bearer token against the tokens file."""

from __future__ import annotations

import hmac
import logging
import os
import pwd
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gas.errors import GasError, Unauthorized
from gas.service.rights import HOW_TO_SEND, Principal
from gas.service.token_file import (
    NO_TOKEN,
    TOKEN,
    USER,
    Signature,
    TokenRecord,
    hash_of,
    read_signed,
    signature_of,
)
from gas.times import iso_time

__all__ = ["Principal", "Tokens", "the_service_user"]

_HEADER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +(\S+) *", re.ASCII)

log = logging.getLogger("gas.s3")


class Tokens:
    """The tokens file of a running service; safe to call from many threads.

    Every request checks whether the file has changed and then reads it again, so that an added or revoked token takes
    effect at once. While the file is unusable (gone, malformed, writable by others), all requests are refused, and the
    log says why.

    Parameters
    ----------
    path
        The file.
    clock
        Time in epoch seconds, for the expiry of tokens.

    Raises
    ------
    BadInput
        The file is unusable at the beginning.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._problem: str | None = None
        records, self._seen = read_signed(path)
        self._records: dict[str, TokenRecord] = {record.id: record for record in records}

    def authenticate(self, header: str | None) -> Principal:
        """Return the principal named by the value of an Authorization header.

        Raises
        ------
        Unauthorized
            It identifies no user; the message does not repeat any part of it.
        """
        records = self._current()
        if header is None:
            raise Unauthorized(f"this service needs a token; {HOW_TO_SEND}")
        given = _HEADER.fullmatch(header) if len(header) <= 200 else None
        if given is None:
            raise Unauthorized(f"the Authorization header does not have the form Bearer TOKEN; {HOW_TO_SEND}")
        token = TOKEN.fullmatch(given[1])
        if token is None:
            raise Unauthorized("the token does not have the form gas_ID_SECRET; copy the whole token as it was printed")
        record = records.get(token[1], NO_TOKEN)
        right = hmac.compare_digest(hash_of(record.salt, token[2]), record.hash)
        if not right or record is NO_TOKEN:
            raise Unauthorized(
                "this service does not know the token: it is mistyped, revoked, or of another service; ask the "
                "operator for a new one (`gas token add USER`)"
            )
        if record.expired(self._clock()):
            raise Unauthorized(
                f"the token has expired (at {iso_time(record.expires or 0)}); ask the operator of the service for a "
                "new one (`gas token add USER`)"
            )
        return Principal(record.user, record.role)

    def _current(self) -> dict[str, TokenRecord]:
        """Return the records by id, read again if the file changed."""
        try:
            found: Signature | None = signature_of(self.path.stat())
        except OSError:
            found = None
        with self._lock:
            if found is None or found != self._seen:
                self._read_again()
            if self._problem is not None:
                raise Unauthorized("the service cannot use its tokens file and refuses all requests; see its log")
            return self._records

    def _read_again(self) -> None:
        try:
            records, self._seen = read_signed(self.path)
        except GasError as error:
            self._records, self._seen = {}, ()
            if str(error) != self._problem:  # once, not in every request
                log.error("all requests are refused: %s", error)
            self._problem = str(error)
            return
        self._records = {record.id: record for record in records}
        self._problem = None
        log.info("%s: read again, %d tokens", self.path, len(records))


def the_service_user() -> Principal:
    """Return the principal of all requests without tokens: the user of the service, with all rights.

    The name comes from the system, not from the environment, which could say anything; characters that a token's user
    may not have are replaced.
    """
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # in a container
        name = f"uid{os.geteuid()}"
    name = re.sub(r"[^A-Za-z0-9._@-]", "_", name)[:64]
    return Principal(name if USER.fullmatch(name) else f"_{name}"[:64], "operator")
