"""Malformed answers and files: mutants of good ones, each reproducible by its number."""

import copy
import json
import os
import random
import re
import string
from contextlib import suppress

SEED = os.environ.get("GAS_MUTANTS_SEED", "hostile")

STRANGE = [
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**400, 1e308, -1e308, 0.5, float("nan"),
    float("inf"), "", "x", "0", "-1", "x" * 70_000, "\x1b[2J\x1b]0;title\x07", "\x9b31m", "a\u202eb\u2066",
    "\u200b\ufeff", "line\nline\r\n", "\ud800", "null\0", "9" * 5000, "n[1-99999999]", "1-2000000000",
    "2026-13-45T99:99:99", [], {}, [[]], [None], {"": ""}, {"set": True, "infinite": True, "number": -5}, [1, 2, 3],
    "[red]markup[/red]", "../../etc/passwd",
]  # fmt: skip
PIECES = [
    b"\0", b"\xff\xfe", b"\x1b[31m", "\u202e".encode(), "\x9b".encode(), b"\n", b"\r", b'"', b"{", b"[" * 3000, b"]}",
    b"NaN", b"1e999", b"9" * 5000, b"-", b",", b";", b"=", b"''' ", b"\xed\xa0\x80", b"\\u202e", b"null", b" " * 5000,
    b"\x1f", b"\x1e",
]  # fmt: skip


def chance_of(*names):
    return random.Random("-".join(map(str, (SEED, *names))))


def mutated(data, chance):
    """Return a mutant of bytes; mutants of JSON are mostly still JSON."""
    if data[:2] in (b'{"', b"{\n", b"[{") and chance.random() < 0.6:
        with suppress(ValueError):
            return _structure(data, chance)
    for _ in range(chance.choice([1, 1, 1, 2, 5, 20])):
        data = chance.choice(_BYTES)(data, chance)
    return data


def _structure(data, chance):
    document = json.loads(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        places = list(_places(document))
        if not places:
            break
        inside, key = chance.choice(places)
        how = chance.random()
        if how < 0.6:
            inside[key] = copy.deepcopy(chance.choice(STRANGE))
        elif how < 0.75:
            del inside[key]
        elif how < 0.9:
            other = chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
            inside[key] = copy.deepcopy(inside[other])
        elif isinstance(inside, list):
            inside += [inside[key]] * chance.choice([1, 50])
        else:
            inside[str(chance.choice(STRANGE))[:200]] = inside.pop(key)
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
    return text.encode(errors="surrogatepass")


def _places(document):
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _cut(data, chance):
    return data[: chance.randrange(len(data) + 1)]


def _changed(data, chance):
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _inserted(data, chance):
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(PIECES) + data[at:]


def _removed(data, chance):
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.randint(1, 40) :]


def _repeated(data, chance):
    at = chance.randrange(len(data) + 1)
    piece = data[at : at + chance.randint(1, 200)]
    return data[:at] + piece * chance.choice([2, 3, 50]) + data[at:]


def _number(data, chance):
    found = list(re.finditer(rb"\d+", data))
    if not found:
        return data
    one = chance.choice(found)
    new = chance.choice(
        [b"0", b"-1", b"99999999999999999999", b"1e400", b"1" * 5000, b"nan", b"0.0000001", b"4294967296"]
    )
    return data[: one.start()] + new + data[one.end() :]


def _word(data, chance):
    found = list(re.finditer(rb"[A-Za-z_]{2,}", data))
    if not found:
        return data
    one = chance.choice(found)
    new = "".join(chance.choice(string.ascii_letters + "\u202e\x9b\x1bé") for _ in range(chance.randint(0, 30)))
    return data[: one.start()] + new.encode() + data[one.end() :]


_BYTES = [_cut, _changed, _changed, _inserted, _inserted, _removed, _repeated, _number, _number, _word]
