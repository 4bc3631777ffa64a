"""How a service is spoken to: its address, the token that names the user, the certificates that are trusted.

The token comes from the file that the endpoint's own table names, else from ``$GAS_TOKEN``: the more particular one
wins, so that one scheduler's token does not go to another. It never stands on a command line, in a message or in a
representation, and goes out in one header, to the endpoint's own address.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from gas.errors import BadInput
from speedup_models.fields import Fields

if TYPE_CHECKING:
    from requests import PreparedRequest

__all__ = ["Access", "is_loopback", "split_address"]

MOST_TOKEN_BYTES = 4096


@dataclass(frozen=True)
class Access:
    """What requests to one service carry and trust.

    Attributes
    ----------
    source
        Where the token is from, for messages; None if there is none.
    certificates
        A file or directory of certificates to trust in place of the public ones.
    """

    token: str | None = field(default=None, repr=False)
    source: str | None = None
    certificates: str | None = None

    @classmethod
    def of(cls, address: str, fields: Fields | None = None, environment: Mapping[str, str] | None = None) -> Access:
        """Return how an address is spoken to.

        Parameters
        ----------
        address
            The service's; a token goes over plain HTTP to this machine only, unless it is told otherwise.
        fields
            The endpoint's table: ``token_file``, ``ca_file``, ``insecure``.
        environment
            By default the process's: ``GAS_TOKEN``, ``GAS_INSECURE``, ``GAS_CA_FILE``, and what other HTTP clients
            trust (``REQUESTS_CA_BUNDLE``, ``CURL_CA_BUNDLE``).

        Raises
        ------
        BadInput, FieldError
            A file cannot be used, others can read the token, or it would travel in the clear.
        """
        environment = os.environ if environment is None else environment
        path = ca_file = None
        insecure = False
        if fields is not None:
            path, ca_file = fields.text("token_file", None), fields.text("ca_file", None)
            insecure = fields.boolean("insecure", False)
        token = source = None
        if fields is not None and path is not None:
            file = Path(path).expanduser()
            try:
                token = _checked(_read_private(file))
            except BadInput as error:
                raise fields.fail("token_file", f"{file}: {error}") from None
            source = str(file)
        elif environment.get("GAS_TOKEN"):
            source = "GAS_TOKEN"
            try:
                token = _checked(environment["GAS_TOKEN"])
            except BadInput as error:
                raise BadInput(f"GAS_TOKEN: {error}") from None
            insecure = insecure or environment.get("GAS_INSECURE", "") not in ("", "0")
        parts = split_address(address)
        if token is not None and parts.scheme == "http" and not is_loopback(parts) and not insecure:
            way_out = "GAS_INSECURE=1" if source == "GAS_TOKEN" else "insecure = true in its table"
            raise BadInput(
                f"{address}: the token would travel in the clear; use https://, or say {way_out} if that is meant"
            )
        return cls(token, source, _certificates(ca_file, fields, environment))

    def sign(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token to a request; with it set, requests looks for no other credentials (``.netrc``)."""
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request

    @property
    def hint(self) -> str:
        """What a user can do whose token was not accepted."""
        if self.source is None:
            return (
                "no token was sent: put yours into a file of mode 0600 and name it as token_file in the endpoint's "
                "table, or in GAS_TOKEN"
            )
        return f"the token of {self.source} was sent; ask who runs the service for a valid one (gas token add)"


def split_address(url: str) -> SplitResult:
    """Return the parts of a service's address, or raise `BadInput`."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for one that is none
        if "@" in parts.netloc:
            raise BadInput("the address of a service holds no user and no password; give a token (GAS_TOKEN)")
        if parts.scheme in ("http", "https") and parts.hostname and port != 0:
            parts.hostname.encode("idna")  # raises for one that no resolver takes: a part of more than 63 characters
            return parts
    except BadInput:
        raise
    except ValueError:
        pass
    raise BadInput(f"{url[:80]!r}: is not the address of a service; write it like http://127.0.0.1:8642")


def is_loopback(parts: SplitResult) -> bool:
    """Return whether an address is one of this machine's own."""
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _read_private(path: Path) -> str:
    """Return what is in a file that nobody else can read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("is not a file with a token in it")
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise BadInput(f"can be read by others (mode {mode:04o}); run: chmod 600 {path}")
            return file.read(MOST_TOKEN_BYTES + 2).decode("latin-1")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}") from None


def _checked(text: str) -> str:
    """Return a token that fits into a header, or raise an error that does not show it."""
    token = text.strip()
    if not token:
        raise BadInput("is empty")
    if len(token) > MOST_TOKEN_BYTES or not all("\x21" <= c <= "\x7e" for c in token):
        raise BadInput("is not a token: one word of printable ASCII characters is")
    return token


def _certificates(ca_file: str | None, fields: Fields | None, environment: Mapping[str, str]) -> str | None:
    """Return the certificates to trust: the table's, else the first that the environment names."""
    if fields is not None and ca_file is not None:
        path = Path(ca_file).expanduser()
        if not path.exists():
            raise fields.fail("ca_file", f"{path}: cannot be read: there is no such file")
        return str(path)
    for name in ("GAS_CA_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if environment.get(name):
            path = Path(environment[name]).expanduser()
            if not path.exists():
                raise BadInput(f"{name} {path}: cannot be read: there is no such file")
            return str(path)
    return None
