"""``gas token``: the tokens that authenticate users to an S³ service of this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gas.cli.options import Json, StateDirectory
from gas.cli.serve import state_directory
from gas.cli.tables import note, print_json, print_table, say
from gas.errors import BadInput
from gas.times import duration_text, iso_time, parse_duration

if TYPE_CHECKING:
    from gas.service.token_file import TokenRecord

__all__ = ["token_app"]

token_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Add, list and revoke tokens of gas serve. Tokens authenticate users; they do not isolate jobs.",
)

Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the scheduler.")]
TokensFile = Annotated[
    Path | None, typer.Option("--tokens", metavar="FILE", help="Tokens file (default: STATE/tokens).")
]


def _file(name: str, state: Path | None, tokens: Path | None) -> Path:
    """Return the tokens file named by the options."""
    if tokens is not None:
        if state is not None:
            raise BadInput("--tokens and --state: both name the tokens file; give one")
        return tokens
    if state is None and (not name.strip() or any(c in name for c in ":/ \t\n")):
        raise BadInput(f"--name {name!r}: use letters, digits, - and _")
    return state_directory(state, name) / "tokens"


@token_app.command("add")
def token_add_command(
    user: Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")],
    role: Annotated[
        Literal["user", "operator"], typer.Option("--role", help="Operators may cancel any job and resize the machine.")
    ] = "user",
    label: Annotated[
        str | None, typer.Option("--label", metavar="TEXT", help="Comment that gas token list shows.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="TIME", help="Expire after this time: 30d (default: never).")
    ] = None,
    name: Name = "s3",
    state: StateDirectory = None,
    tokens: TokensFile = None,
    json: Json = False,
) -> None:
    """Create a token for a user and print it once.

    gas token add ada --expires 30d

    Gas stores only a hash of the token. Send the token to the user over a secure channel. The user stores it in a file
    of mode 0600, named by token_file in the configuration, or in the environment variable GAS_TOKEN. A user may have
    several tokens.
    """
    from gas.service.accounts import Accounts
    from gas.service.token_file import add_token

    file = _file(name, state, tokens)
    if (accounts := Accounts.read(file.parent)) is not None:
        accounts.of(user)  # jobs run as this user: refuse now an account that jobs may not use
    first = not file.exists()
    lasts = None if expires is None else parse_duration(expires, "--expires")
    token, record = add_token(file, user, role, label=label, expires_in=lasts)
    if json:
        print_json({"schema": "gas.token/1", "token": token, "file": str(file), **_shown(record)})
    else:
        say(token)
    until = "" if record.expires is None else f", until {iso_time(record.expires)}"
    note(f"token {record.id} of {user}, role {role}{until}; it is shown only once, {file} holds its hash")
    note(f"{user} sets it as GAS_TOKEN, or stores it in a file of mode 0600 named by token_file in the configuration")
    if first:
        note("a service that was started without a tokens file requires tokens after its next start")


@token_app.command("list")
def token_list_command(
    name: Name = "s3",
    state: StateDirectory = None,
    tokens: TokensFile = None,
    json: Json = False,
) -> None:
    """List tokens: id, user, role and expiry.

    gas token list
    """
    from gas.service.token_file import SCHEMA, read_tokens

    file = _file(name, state, tokens)
    now = int(time.time())
    records = read_tokens(file)
    if json:
        print_json(
            {
                "schema": SCHEMA,
                "file": str(file),
                "tokens": [{**_shown(record), "expired": record.expired(now)} for record in records],
            }
        )
        return
    print_table(
        ["id", "user", "role", "created", "expires", "label"],
        [
            (
                record.id,
                record.user,
                record.role,
                iso_time(record.created),
                _expiry(record, now),
                record.label or "",
            )
            for record in records
        ],
        left=("id", "user", "role", "created", "expires", "label"),
    )
    if not records:
        note("no tokens: a service with this file refuses all requests; `gas token add USER` creates one")


@token_app.command("revoke")
def token_revoke_command(
    which: Annotated[
        str, typer.Argument(metavar="ID|USER", help="Id of a token, or a user name for all tokens of that user.")
    ],
    name: Name = "s3",
    state: StateDirectory = None,
    tokens: TokensFile = None,
    json: Json = False,
) -> None:
    """Revoke a token, or all tokens of a user.

    gas token revoke ada

    A running service refuses a revoked token from the next request on. Jobs are not affected.
    """
    from gas.service.token_file import SCHEMA, revoke_tokens

    file = _file(name, state, tokens)
    revoked = revoke_tokens(file, which)
    if json:
        print_json({"schema": SCHEMA, "file": str(file), "revoked": [_shown(record) for record in revoked]})
        return
    count = "1 token" if len(revoked) == 1 else f"{len(revoked)} tokens"
    say(f"revoked {count} of {revoked[0].user}: {', '.join(record.id for record in revoked)}")


def _shown(record: TokenRecord) -> dict[str, Any]:
    """Return the public fields of a token, without its hash."""
    return {
        "id": record.id,
        "user": record.user,
        "role": record.role,
        "label": record.label,
        "created": record.created,
        "created_iso": iso_time(record.created),
        "expires": record.expires,
        "expires_iso": None if record.expires is None else iso_time(record.expires),
    }


def _expiry(record: TokenRecord, now: int) -> str:
    if record.expires is None:
        return "never"
    if record.expired(now):
        return f"expired {iso_time(record.expires)}"
    return f"{iso_time(record.expires)} (in {duration_text(record.expires - now)})"
