"""Access to a service: its address, the token that names the user, and the trusted certificates.

A token goes only to the address for which it was given. The token in the file named by an endpoint's own table goes to
that endpoint. ``$GAS_TOKEN`` is for ``$GAS_ENDPOINT`` if that is set, otherwise for the only endpoint for which it can
be meant; if there are several, none gets it, and a refusal says why. A token is never on a command line, in a message
or in a representation, and is sent in one header only.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from documents.fields import Fields
from gas.errors import BadInput

if TYPE_CHECKING:
    from requests import PreparedRequest

__all__ = ["Access", "Table", "is_loopback", "same_service", "split_address"]

MOST_TOKEN_BYTES = 4096


class Table(Fields):
    """The table of an endpoint.

    Parameters
    ----------
    rivals
        Other addresses for which a token of the environment could equally be meant.
    """

    def __init__(self, table: object, place: str, *, name: str = "", rivals: Sequence[str] = ()) -> None:
        super().__init__(table, place)
        self.name = name
        self.rivals = tuple(rivals)


@dataclass(frozen=True)
class Access:
    """The token and the trusted certificates for requests to one service.

    Attributes
    ----------
    source
        Origin of the token, for messages; None without a token.
    certificates
        A file or directory of certificates to trust in place of the public ones.
    withheld
        Why an existing token was not sent; None if it was sent, or if there is none.
    """

    token: str | None = field(default=None, repr=False)
    source: str | None = None
    certificates: str | None = None
    withheld: str | None = None

    @classmethod
    def of(
        cls,
        address: str,
        fields: Fields | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        rivals: Sequence[str] = (),
    ) -> Access:
        """Return the access to the service at an address.

        Parameters
        ----------
        address
            Address of the service; a token goes over plain HTTP only to this machine, unless `insecure`.
        fields
            The endpoint's table: ``token_file``, ``ca_file``, ``insecure``.
        environment
            By default that of the process: ``GAS_TOKEN``, ``GAS_ENDPOINT``, ``GAS_INSECURE``, ``GAS_CA_FILE``, and the
            certificates for other HTTP clients (``REQUESTS_CA_BUNDLE``, ``CURL_CA_BUNDLE``).
        rivals
            Other addresses for which ``GAS_TOKEN`` could equally be meant; those of `fields`, a `Table`, count too.

        Raises
        ------
        BadInput, FieldError
            A file cannot be used, others can read the token, or it would be sent unencrypted.
        """
        environment = os.environ if environment is None else environment
        path = ca_file = None
        insecure = False
        if fields is not None:
            path, ca_file = fields.text("token_file", None), fields.text("ca_file", None)
            insecure = fields.boolean("insecure", False)
        token = source = withheld = None
        if fields is not None and path is not None:
            file = Path(path).expanduser()
            try:
                token = _checked(_read_private(file))
            except BadInput as error:
                raise fields.fail("token_file", f"{file}: {error}") from None
            source = str(file)
        elif withheld := _why_withheld(address, fields, environment, rivals):
            pass
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
                f"{address}: the token would be sent unencrypted; use https://, or set {way_out} to allow it"
            )
        return cls(token, source, _certificates(ca_file, fields, environment), withheld)

    def sign(self, request: PreparedRequest) -> PreparedRequest:
        """Add the token to a request; requests then looks for no other credentials (``.netrc``)."""
        if self.token is not None:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request

    @property
    def hint(self) -> str:
        """The advice for a user whose token was not accepted."""
        if self.withheld is not None:
            return f"no token was sent: {self.withheld}"
        if self.source is None:
            return (
                "no token was sent: put yours into a file of mode 0600 and name it as token_file in the endpoint's "
                "table, or in GAS_TOKEN"
            )
        return f"the token of {self.source} was refused; ask the operator for a valid one (gas token add)"


def _why_withheld(
    address: str, fields: Fields | None, environment: Mapping[str, str], rivals: Sequence[str]
) -> str | None:
    """Return why ``$GAS_TOKEN`` is not for an address; None if it is, or if there is none."""
    if not environment.get("GAS_TOKEN"):
        return None
    name = fields.name if isinstance(fields, Table) else ""
    others = [*rivals, *(fields.rivals if isinstance(fields, Table) else ())]
    meant = environment.get("GAS_ENDPOINT", "").split()
    if len(meant) == 1:
        if meant[0] == name or same_service(meant[0], address):
            return None
        return (
            f"GAS_TOKEN is for GAS_ENDPOINT, {meant[0]}; for another scheduler, name the file of its token as "
            "token_file in its table"
        )
    if others := [other for other in [*meant, *others] if not same_service(other, address)]:
        return (
            f"GAS_TOKEN could be for this scheduler or {', '.join(dict.fromkeys(others))}; give one scheduler with -e "
            "or GAS_ENDPOINT, or set token_file in the table of each"
        )
    return None


def same_service(one: str, other: str) -> bool:
    """Return whether two addresses name the same service, judging by the addresses alone."""
    if one.rstrip("/") == other.rstrip("/"):
        return True
    try:
        parts = [split_address(url) for url in (one, other)]
    except BadInput:
        return False
    first, second = (
        (p.scheme, p.hostname, p.port or {"http": 80, "https": 443}[p.scheme], p.path.rstrip("/")) for p in parts
    )
    return first == second


def split_address(url: str) -> SplitResult:
    """Return the parts of a service's address, or raise `BadInput`."""
    try:
        parts = urlsplit(url)
        port = parts.port  # raises for an invalid one
        if "@" in parts.netloc:
            raise BadInput("the address of a service cannot contain a user or password; use a token (GAS_TOKEN)")
        if parts.scheme in ("http", "https") and parts.hostname and port != 0:
            parts.hostname.encode("idna")  # raises for names with a part of more than 63 characters
            return parts
    except BadInput:
        raise
    except ValueError:
        pass
    raise BadInput(f"{url[:80]!r}: is not the address of a service; write, for example, http://127.0.0.1:8642")


def is_loopback(parts: SplitResult) -> bool:
    """Return whether an address is one of this machine's own."""
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _read_private(path: Path) -> str:
    """Return the contents of a file that no other user can read."""
    try:
        # Does not block on a pipe without a writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            found = os.fstat(file.fileno())
            mode = stat.S_IMODE(found.st_mode)
            if not stat.S_ISREG(found.st_mode):
                raise BadInput("does not contain a token")
            if mode & 0o077:
                raise BadInput(f"can be read by others (mode {mode:04o}); run: chmod 600 {path}")
            return file.read(MOST_TOKEN_BYTES + 2).decode("latin-1")
    except IsADirectoryError:
        raise BadInput("does not contain a token") from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}") from None


def _checked(text: str) -> str:
    """Return a token that fits into a header, or raise an error that does not show it."""
    token = text.strip()
    if not token:
        raise BadInput("is empty")
    if len(token) > MOST_TOKEN_BYTES or not all("\x21" <= c <= "\x7e" for c in token):
        raise BadInput("is not a token; a token is one word of printable ASCII characters")
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
