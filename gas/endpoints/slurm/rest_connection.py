"""HTTP to one slurmrestd, over a port or a unix socket, and the token that identifies the user.

Slurm's tokens are JSON Web Tokens, by default valid for half an hour, so they are read for every request: from the file
in the endpoint's table, from a command (``scontrol token``), or from ``$SLURM_JWT``. A token is sent in one header, to
this address only, and never appears in a message. ``$SLURM_JWT`` does not name its slurmrestd, so it is not sent if it
could belong to several.
"""

from __future__ import annotations

import base64
import json
import os
import pwd
import shlex
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.fields import Fields, quoted
from gas.endpoints.access import Access, split_address
from gas.endpoints.connection import Connection, NoAnswer
from gas.endpoints.exchange import MOST_ANSWER_BYTES, Answer
from gas.endpoints.pipes import TooMuchOutput, communicate
from gas.endpoints.programs import without_secrets
from gas.errors import BadInput, Unauthorized
from gas.times import iso_time

if TYPE_CHECKING:  # imported only where used, as planning on a file needs no HTTP
    from requests.adapters import HTTPAdapter

__all__ = ["LOCAL", "SlurmConnection", "Tokens", "vetted_address"]

COMMAND_SECONDS = 30.0
MOST_TOKEN_BYTES = 2**20
LEEWAY_SECONDS = 30
"""Seconds before its expiry at which a command's token is renewed."""

LOCAL = "http://localhost"
"""The host name of requests over a unix socket; it is sent as the header Host only."""


class Tokens:
    """The source of the token for an address.

    Parameters
    ----------
    address
        The address of slurmrestd; over plain HTTP, a token is sent to this machine only, unless `insecure`.
    file
        A file that no other user can read.
    command
        A command that prints the token, or ``SLURM_JWT=`` and the token.
    environment
        By default that of the process; ``SLURM_JWT`` counts if neither file nor command is named, and not for sockets:
        slurmrestd identifies the user by the socket, and refuses an unexpected header.
    rivals
        Other addresses to which ``SLURM_JWT`` could belong.
    """

    def __init__(
        self,
        address: str,
        *,
        file: str | None = None,
        command: Sequence[str] = (),
        insecure: bool = False,
        environment: Mapping[str, str] | None = None,
        rivals: Sequence[str] = (),
    ) -> None:
        self._rivals: tuple[str, ...] = ()
        self._environment = dict(os.environ if environment is None else environment)
        self._target = LOCAL if socket_path(address) else address
        self._file, self._command, self._insecure = file, tuple(command), insecure
        self._last: str | None = None
        self.source: str | None = "SLURM_JWT"
        if file is not None:
            self.source = str(Path(file).expanduser())
        elif command:
            self.source = f"the command {shlex.join(command)}"
        elif socket_path(address) or not self._environment.get("SLURM_JWT"):
            self.source = None
        elif rivals:
            self.source, self._rivals = None, tuple(rivals)

    def current(self) -> str | None:
        """Return the current token; None if there is none.

        Raises
        ------
        BadInput
            It cannot be read, other users can read its file, or it would be sent unencrypted.
        Unauthorized
            The command fails.
        """
        if self.source is None:
            return None
        if self._file is not None:
            return self._from_file(self._file)
        if not self._command:
            return self._vetted(self._environment.get("SLURM_JWT", ""))
        expires = None if self._last is None else claims(self._last).get("exp")
        if self._last is None or not isinstance(expires, (int, float)) or expires < time.time() + LEEWAY_SECONDS:
            self._last = self._vetted(self._printed())
        return self._last

    def _from_file(self, file: str) -> str | None:
        try:
            path = Path(file).expanduser()
            table = Fields({"token_file": str(path), "insecure": self._insecure}, "slurmrestd")
            return Access.of(self._target, table, {}).token
        except ValueError as error:  # FieldError, BadInput
            raise BadInput(str(error).removeprefix("slurmrestd token_file: ")) from None

    def _vetted(self, token: str) -> str | None:
        """Return a token if it is valid in a header and may be sent."""
        token = token.strip().removeprefix("SLURM_JWT=")
        try:
            return Access.of(
                self._target, None, {"GAS_TOKEN": token or " ", "GAS_INSECURE": "1" if self._insecure else ""}
            ).token
        except BadInput as error:
            words = str(error).replace("GAS_TOKEN", str(self.source))
            raise BadInput(words.replace("GAS_INSECURE=1", "insecure = true in the endpoint's table")) from None

    def _printed(self) -> str:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=without_secrets(self._environment),
            )
        except OSError as error:
            raise Unauthorized(f"{self.source} cannot be run: {error.strerror} (token_command)") from None
        with process:
            try:
                out, err = communicate(process, b"", COMMAND_SECONDS, MOST_TOKEN_BYTES)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Unauthorized(f"{self.source} has printed no token for {COMMAND_SECONDS:g} s") from None
            except TooMuchOutput as error:
                process.kill()
                raise Unauthorized(f"{self.source} {error}; that is not a token") from None
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            lines = err.decode(errors="replace").strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
            raise Unauthorized(f"{self.source} prints no token: {lines[0][:200]}")
        return out.decode(errors="replace")

    @property
    def expired(self) -> int | None:
        """When the token expired, as stated in it; None if it has not, or states no expiry."""
        token = self.current()
        expires = None if token is None else claims(token).get("exp")
        if not isinstance(expires, (int, float)) or not 0 < expires < time.time():
            return None
        return int(expires)

    @property
    def hint(self) -> str:
        """Advice for a user whose token was not accepted."""
        if self._rivals:
            return (
                f"no token was sent: SLURM_JWT could be for this slurmrestd or {', '.join(self._rivals)}; give one "
                "with -e, or set token_file or token_command in the table of each"
            )
        if self.source is None:
            return (
                "no token was sent: put what scontrol token prints into SLURM_JWT, or into a file of mode 0600 named "
                'as token_file in the endpoint\'s table, or write token_command = ["scontrol", "token"] there'
            )
        expired = self.expired
        why = f" expired {iso_time(expired)}" if expired is not None else " was sent"
        return f"the token of {self.source}{why}; scontrol token lifespan=86400 prints a new one for a day"


def claims(token: str) -> dict[str, Any]:
    """Return the claims of a token (RFC 7519), unchecked; empty if they cannot be read."""
    try:
        payload = token.split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def socket_path(url: str) -> str | None:
    """Return the path in ``unix:/run/slurmrestd.socket``; None for other addresses.

    Raises
    ------
    BadInput
        It is relative, or too long for a socket.
    """
    if not url.startswith("unix:"):
        return None
    path = "/" + url.removeprefix("unix:").lstrip("/") if url.startswith(("unix:/", "unix:///")) else ""
    if not path or len(path.encode()) > 107:
        raise BadInput(f"{quoted(url)}: is not a socket; write it like unix:/run/slurmrestd.socket (107 bytes at most)")
    return path


class SlurmConnection(Connection):
    """A slurmrestd and the parameters of its connection.

    Parameters
    ----------
    name
        Its name in the configuration.
    url
        ``http://...``, ``https://...`` or ``unix:/...``.
    timeout
        Seconds for an exchange: the connection and the whole answer.
    tokens
        Source of the token.
    user
        The user to act as; by default that of the token.
    certificates
        Certificates to trust instead of the public ones.
    """

    def __init__(
        self,
        name: str,
        url: str,
        timeout: float,
        tokens: Tokens,
        user: str | None = None,
        certificates: str | None = None,
    ) -> None:
        path = socket_path(url)
        super().__init__(name, LOCAL if path else url, timeout, Access(certificates=certificates))
        self.tokens = tokens
        self.url = f"unix:{path}" if path else self.address
        self.called = self.url if name == self.url else f"{name}: {self.url}"
        self._user, self._path = user, path
        self._longest = timeout
        self._session.headers["Connection"] = "close"
        if path is not None:
            self._session.mount(LOCAL, _socket_adapter(path))

    @property
    def user(self) -> str:
        """The user that requests act as: over a socket without a token, the user who runs slurmrestd."""
        if self._user is not None:
            return self._user
        token = self.tokens.current()
        if token is not None:
            found = claims(token).get("sun")
            if isinstance(found, str) and found.isprintable() and found.isascii() and found:
                return found
        elif self._path is not None:
            try:
                return pwd.getpwuid(Path(self._path).stat().st_uid).pw_name
            except (OSError, KeyError):
                pass
        return pwd.getpwuid(os.getuid()).pw_name

    def exchange(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        deadline: float | None = None,
        most: int = MOST_ANSWER_BYTES,
    ) -> Answer:
        """Send one request and return the answer, whatever it is.

        Parameters
        ----------
        deadline
            Of `time.monotonic`, if several requests share the available time.
        most
            Largest answer in bytes.

        Raises
        ------
        NoAnswer
            There is no answer, or an incomplete one.
        BadInput, Unauthorized
            There is no token to send.
        """
        token = self.tokens.current()
        headers = {"Accept": "application/json"}
        if token is not None:
            headers |= {"X-SLURM-USER-NAME": self.user, "X-SLURM-USER-TOKEN": token}
        data = None if body is None else json.dumps(body).encode()
        left = self._longest if deadline is None else deadline - time.monotonic()
        self._timeout = min(self._longest, max(0.05, left))
        try:
            return self._send(method, path, data, headers, most)
        except NoAnswer as error:
            words = str(error).replace(f" {self._timeout:g} s", f" {self._longest:g} s")
            raise NoAnswer(words, sent=error.sent, again=error.again) from None
        except ValueError as error:  # requests: a user's name that is no header
            raise NoAnswer(f"{self.called} cannot be reached ({error})", sent=False, again=False) from None
        finally:  # slurmrestd may close an idle connection just as a job is sent, which would leave it in doubt
            self._session.close()


def _socket_adapter(path: str) -> HTTPAdapter:
    """Return an adapter for requests over a unix socket."""
    from requests.adapters import HTTPAdapter
    from urllib3.connectionpool import HTTPConnectionPool
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    from gas.endpoints.sockets import DeadlineConnection

    class SocketConnection(DeadlineConnection):
        def _new_conn(self) -> socket.socket:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.settimeout(self.timeout if isinstance(self.timeout, (int, float)) else None)
                made.connect(path)
            except TimeoutError as error:
                made.close()
                raise ConnectTimeoutError(self, str(error)) from error
            except OSError as error:
                made.close()
                raise NewConnectionError(self, str(error)) from error
            return made

    class SocketPool(HTTPConnectionPool):
        ConnectionCls = SocketConnection

    class SocketAdapter(HTTPAdapter):
        def __init__(self) -> None:
            super().__init__()
            self.pool = SocketPool("localhost")

        def get_connection_with_tls_context(self, *_: Any, **__: Any) -> SocketPool:
            return self.pool

        def get_connection(self, *_: Any, **__: Any) -> SocketPool:  # of requests before 2.32
            return self.pool

        def close(self) -> None:
            self.pool.close()
            self.pool = SocketPool("localhost")
            super().close()

    return SocketAdapter()


def vetted_address(url: str) -> str:
    """Return an address without a trailing slash, or raise `BadInput`."""
    path = socket_path(url)
    if path is not None:
        return f"unix:{path}"
    split_address(url)
    return url.rstrip("/")
