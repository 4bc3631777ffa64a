"""The tokens file: salted hashes of bearer tokens, each with its user and role.

    add_token, revoke_tokens, read_tokens    change and read it, for the command line

A token has the form ``gas_<id>_<secret>``. The id (8 hexadecimal digits) is public and identifies the record, so a
request costs one hash whatever the number of users. The secret has 256 random bits, and only its user keeps it. The
file is JSON of the schema ``gas.tokens/1``, of mode 0600, and always replaced as a whole: a reader sees it before or
after a change, and a token that `add_token` has returned is on disk. With an empty list, all requests are refused; only
a service that was started without a tokens file requires no tokens.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from documents.fields import FieldError, Fields, quoted
from documents.whole_file import sync
from gas.errors import BadInput, Conflict, NotFound, StoreFailed
from gas.service.rights import ROLES, Role
from gas.times import LATEST

__all__ = [
    "NO_TOKEN",
    "SCHEMA",
    "TOKEN",
    "USER",
    "Signature",
    "TokenRecord",
    "add_token",
    "hash_of",
    "read_signed",
    "read_tokens",
    "revoke_tokens",
    "signature_of",
]

SCHEMA = "gas.tokens/1"

_LARGEST_FILE = 2**24  # bytes: some 50,000 tokens
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,63}", re.ASCII)
_ID = re.compile(r"[0-9a-f]{8}", re.ASCII)
TOKEN = re.compile(r"gas_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True)
class TokenRecord:
    """The stored data of a token; instants in epoch seconds; from `expires` on it is refused."""

    id: str
    user: str
    role: Role
    salt: bytes = field(repr=False)
    hash: bytes = field(repr=False)
    created: int
    label: str | None = None
    expires: int | None = None

    def expired(self, now: float) -> bool:
        """Return whether the token is refused by `now`."""
        return self.expires is not None and now >= self.expires


def hash_of(salt: bytes, secret: str) -> bytes:
    """Return the stored hash of the secret of a token."""
    # One SHA-256 instead of a slow password hash: the secret is 256 random bits, not chosen by a person, too many to
    # try at any speed, and every request pays for the hash. The salt makes equal secrets look different.
    return hashlib.sha256(salt + secret.encode("ascii")).digest()


NO_TOKEN = TokenRecord("", "", "user", bytes(16), bytes(32), 0)
"""The record to compare with if an id does not exist, so that response times reveal nothing about ids."""


# ------------------------------------------------------------------------------------------------------------ the file


def read_tokens(path: Path) -> list[TokenRecord]:
    """Return the records of a tokens file in the order of their creation.

    Raises
    ------
    BadInput
        There is no such file, another user could write it, or it is malformed; the message names the place.
    """
    return read_signed(path)[0]


def add_token(
    path: Path,
    user: str,
    role: Role = "user",
    *,
    label: str | None = None,
    expires_in: int | None = None,
    now: int | None = None,
) -> tuple[str, TokenRecord]:
    """Create a token, which only the return value contains, and add its record to a file, created if missing.

    Parameters
    ----------
    user
        User of the token: letters, digits and ``. _ - @``, at most 64 characters. A user may have several tokens.
    expires_in
        Seconds until it expires; None for never.
    now
        Epoch seconds; None for the present.

    Raises
    ------
    BadInput
        An invalid user or label, or an unusable file.
    Conflict
        The name of the user equals the id of a token, which would be ambiguous in `revoke_tokens`.
    StoreFailed
        The change is not on disk; the message says how the file is.
    """
    created = int(time.time()) if now is None else now
    if not USER.fullmatch(user):
        raise BadInput(f"user {quoted(user)}: {_USER_RULE}")
    if role not in ROLES:
        raise BadInput(f"role {quoted(role)}: must be user or operator")
    if label is not None and not _is_label(label):
        raise BadInput(f"label {quoted(label)}: {_LABEL_RULE}")
    expires = None if expires_in is None else created + expires_in
    with _changing(path) as records:
        taken = {record.id for record in records}
        if user in taken:
            raise Conflict(
                f"user {user}: is also the id of a token; revoke that token first, or choose another user name"
            )
        taken |= {record.user for record in records} | {user}
        id = secrets.token_hex(4)
        while id in taken:
            id = secrets.token_hex(4)
        secret, salt = secrets.token_urlsafe(32), secrets.token_bytes(16)
        record = TokenRecord(id, user, role, salt, hash_of(salt, secret), created, label, expires)
        records.append(record)
    return f"gas_{id}_{secret}", record


def revoke_tokens(path: Path, which: str) -> list[TokenRecord]:
    """Remove the token with an id (or a complete token), or all tokens of a user, from a file; return their records.

    Raises
    ------
    NotFound
        There is none; the file is unchanged.
    BadInput
        The file is unusable.
    StoreFailed
        The change is not on disk; the message says how the file is.
    """
    token = TOKEN.fullmatch(which)
    wanted = token[1] if token else which.removeprefix("gas_") if _ID.fullmatch(which.removeprefix("gas_")) else which
    if not path.exists():
        raise NotFound(f"{path}: no such file, so there are no tokens")
    with _changing(path) as records:
        revoked = [r for r in records if r.id == wanted] or [r for r in records if r.user == which]
        if not revoked:
            # It may be a token with a typing error: do not repeat it.
            shown = "a complete token" if which.startswith("gas_") else f"the id or user {quoted(which)}"
            raise NotFound(f"{path}: has no token of {shown}; `gas token list` lists all tokens")
        records[:] = [r for r in records if r not in revoked]
    return revoked


@contextlib.contextmanager
def _changing(path: Path) -> Iterator[list[TokenRecord]]:
    """Yield the records for changes in place, then write them; one process at a time."""
    path = Path(os.path.realpath(path))  # replace the target of a link, not the link
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Not the file itself, which is replaced: a waiting process would get the lock of a file that is gone.
        lock = os.open(
            path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
    except OSError as error:
        raise StoreFailed(f"{path}: cannot be written: {error.strerror}; no token was added or revoked") from None
    try:
        _give_to_the_service(lock, path)
        fcntl.flock(lock, fcntl.LOCK_EX)
        records = read_tokens(path) if path.exists() else []
        yield records
        _write(path, records)
    finally:
        os.close(lock)


def _write(path: Path, records: list[TokenRecord]) -> None:
    """Replace the file durably, or leave it unchanged."""
    document = {"schema": SCHEMA, "tokens": [_to_wire(record) for record in records]}
    new = path.with_name(path.name + ".new")  # one name, under the lock: a crash leaves at most one such file
    try:
        new.unlink(missing_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            os.fchmod(handle, 0o600)
            _give_to_the_service(handle, path)
            json.dump(document, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(handle)
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        raise StoreFailed(f"{path}: cannot be written: {error.strerror}; no token was added or revoked") from None
    try:
        sync(path.parent)
    except OSError as error:
        raise StoreFailed(
            f"{path}: was changed, but the change may be lost if the machine crashes: {error.strerror}; check with "
            "`gas token list`, and repeat it"
        ) from None


def _give_to_the_service(handle: int, path: Path) -> None:
    """Give files written by root to the owner of the tokens or their folder: the service may run as another user."""
    if os.geteuid() == 0 and os.fstat(handle).st_nlink == 1:  # not another file that was linked here
        found = (path if path.exists() else path.parent).stat()
        os.fchown(handle, found.st_uid, found.st_gid)


# ------------------------------------------------------------------------------------------------------------- reading

_USER_RULE = "a user has letters, digits and . _ - @ (neither . - nor @ first), at most 64"
_LABEL_RULE = "a label is one line of 1 to 200 printable characters"


def _is_label(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= 200 and text.isprintable()


Signature = tuple[int, ...]


def signature_of(found: os.stat_result) -> Signature:
    """Return a fingerprint of the file's contents without reading them."""
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev, found.st_ctime_ns, found.st_mode


def read_signed(path: Path) -> tuple[list[TokenRecord], Signature]:
    """Return the records of a file and the fingerprint of its contents."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not make the service wait
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; `gas token add USER` creates it") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        _check_safe(path, found)
        with os.fdopen(handle, "rb", closefd=False) as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)
    try:
        return _records(json.loads(text), str(path)), signature_of(found)
    except FieldError as error:
        raise BadInput(str(error)) from None
    except RecursionError:
        raise BadInput(f"{path}: is not a tokens file: nested too deeply") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not a tokens file: byte {error.start} is not UTF-8") from None
    except ValueError as error:
        raise BadInput(f"{path}: is not a tokens file: not JSON: {error}") from None


def _check_safe(path: Path, found: os.stat_result) -> None:
    """Refuse a path that is not a regular file of plausible size, or that another user could write."""
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"{path}: is not a file")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadInput(
            f"{path}: can be written by other users (mode {stat.S_IMODE(found.st_mode):04o}), who could have "
            f"added a token; run `chmod 600 {path}`, then check it with `gas token list`"
        )
    owners = {0, os.geteuid()}
    if os.geteuid() == 0:  # for a service under another account, which owns the folder
        owners.add(path.parent.stat().st_uid)
    if found.st_uid not in owners:
        raise BadInput(
            f"{path}: belongs to another user (uid {found.st_uid}), who could add a token; it must belong to the "
            f"user of the service (uid {os.geteuid()}) or to root"
        )
    if found.st_size > _LARGEST_FILE:
        raise BadInput(f"{path}: has {found.st_size} bytes; a tokens file has at most {_LARGEST_FILE}")


def _records(document: object, place: str) -> list[TokenRecord]:
    table = Fields(document, place)
    table.text("schema", choices=[SCHEMA])
    entries = table.value("tokens")
    table.done()
    if not isinstance(entries, list):
        raise table.fail("tokens", "is not a list")
    records: list[TokenRecord] = []
    ids: set[str] = set()
    for i, entry in enumerate(entries):
        record = _record(Fields(entry, f"{place} tokens[{i}]"))
        if record.id in ids:
            raise table.fail(f"tokens[{i}]", f"has the same id {record.id} as another token; delete one of them")
        ids.add(record.id)
        records.append(record)
    return records


def _record(fields: Fields) -> TokenRecord:
    # Messages do not repeat values of keys that hold, or by mistake could hold, a secret.
    id = fields.value("id")
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise fields.fail("id", "is not 8 hexadecimal digits")
    user = fields.text("user")
    if not USER.fullmatch(user):
        raise fields.fail("user", f"{quoted(user)}: {_USER_RULE}")
    role: Role = fields.text("role", choices=ROLES)
    salt, hash = _bytes(fields, "salt", 16), _bytes(fields, "hash", 32)
    created = fields.integer("created", minimum=0, maximum=LATEST)
    label = fields.value("label", None)
    if label is not None and not _is_label(label):
        raise fields.fail("label", _LABEL_RULE)
    expires = fields.value("expires", None)
    if expires is not None:
        expires = fields.integer("expires", minimum=0, maximum=LATEST)
    fields.done()
    return TokenRecord(id, user, role, salt, hash, created, label, expires)


def _bytes(fields: Fields, key: str, length: int) -> bytes:
    value = fields.value(key)
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{2 * length}}}", value):
        raise fields.fail(key, f"is not {2 * length} hexadecimal digits")
    return bytes.fromhex(value)


def _to_wire(record: TokenRecord) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "id": record.id,
        "user": record.user,
        "role": record.role,
        "salt": record.salt.hex(),
        "hash": record.hash.hex(),
        "created": record.created,
    }
    return wire | {key: value for key in ("label", "expires") if (value := getattr(record, key)) is not None}
