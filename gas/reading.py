"""Applications and availability lists from files and standard input; the text of JSON and TOML documents.

`Application.from_tables` and `AvailabilityList.from_wire` check the contents of documents. This module handles the
errors before that, with the name of the file in each message.
"""

from __future__ import annotations

import codecs
import json
import sys
import tomllib
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from gas.application import Application
from gas.availability import SCHEMA, AvailabilityList
from gas.errors import BadInput
from gas.json_text import parsed

__all__ = ["all_of_pipe", "contents", "parse_json", "parse_toml", "read_application", "read_availability"]

MOST_BYTES = 2**26
"""64 MiB: a list of a million frames takes about 60 MiB."""

MOST_PIPED_BYTES = 2**31
"""2 GiB: ten million jobs of sacct; all that comes from a pipe is kept in memory."""


def read_application(path: str | Path) -> Application:
    """Return the application that a TOML file describes (standard input for ``-``).

    Raises
    ------
    BadInput, FieldError, ModelError
        The file cannot be read or used; the message names the place in it.
    """
    text, place = contents(path)
    name = "application" if str(path) == "-" else Path(path).stem
    try:
        tables = parse_toml(text, place)
    except BadInput as error:
        if Path(path).suffix.lower() != ".csv":
            raise
        raise BadInput(f"{error}; from a table of timings, gas fit {place} makes an application") from None
    return Application.from_tables(tables, place, name=name)


def read_availability(path: str | Path) -> AvailabilityList:
    """Return the availability list in a file, or on standard input for ``-``.

    Raises
    ------
    BadInput, FieldError
        The file cannot be read or used; the message names the place in it.
    """
    text, place = contents(path)
    text = text.removeprefix(codecs.BOM_UTF8)  # some editors begin each file with it
    if not text.strip():
        raise BadInput(f"{place}: is empty; an availability list is a JSON object with schema {SCHEMA}")
    return AvailabilityList.from_wire(parse_json(text, place), place)


def parse_toml(text: bytes, place: str) -> dict[str, object]:
    """Return the tables of a TOML document, or raise `BadInput` with the place of the syntax error."""
    try:
        return tomllib.loads(text.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not UTF-8 text at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{place}: not TOML: {error}") from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadInput(f"{place}: not usable TOML: {str(error).split(';')[0]}") from None


def parse_json(text: str | bytes, place: str) -> Any:
    """Return the value of a JSON document, or raise `BadInput` with the place of the syntax error."""
    try:
        return parsed(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"{place}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not JSON: not UTF-8 text at byte {error.start}") from None
    except ValueError as error:
        raise BadInput(f"{place}: not usable JSON: {str(error).split(';')[0]}") from None


def contents(path: str | Path) -> tuple[bytes, str]:
    """Return the contents of a file or of standard input, and its name in messages; a pipe waits for its writer.

    Raises
    ------
    BadInput
        It cannot be read, or is longer than any that can be used.
    """
    standard_input = str(path) == "-"
    place = "standard input" if standard_input else str(path)
    try:
        if standard_input:
            text = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{place}: cannot be read: {error.strerror}") from None
    except ValueError:  # a null character in the name
        raise BadInput(f"{str(path)!r}: cannot be read: not a valid file name") from None
    if len(text) > MOST_BYTES:
        raise BadInput(f"{place}: exceeds the limit of {MOST_BYTES >> 20} MiB")
    return text, place


def all_of_pipe(stream: BinaryIO, place: str) -> bytes:
    """Return all that comes from a pipe or a device; raise `BadInput` if it does not end soon enough."""
    kept = BytesIO()
    while piece := stream.read(2**20):
        kept.write(piece)
        if kept.tell() > MOST_PIPED_BYTES:
            raise BadInput(f"{place}: exceeds the limit of {MOST_PIPED_BYTES >> 20:,} MiB; write it to a file first")
    return kept.getvalue()
