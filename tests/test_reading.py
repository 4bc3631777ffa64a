"""Applications and lists from files and standard input: errors name what cannot be read."""

import codecs
import io
import json

import pytest

from gas import AvailabilityList, BadInput, read_application, read_availability
from gas.reading import MOST_BYTES, parse_toml

APPLICATION = '[speedup]\nmodel = "amdahl"\nsequential_time = 100\nserial_fraction = 0.1\n'
LIST = AvailabilityList.of([100, 200], [2, 8]).to_wire()

READERS = pytest.mark.parametrize("read", [read_application, read_availability])


def say(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_standard_input_is_read_for_a_dash(monkeypatch):
    say(monkeypatch, APPLICATION)
    assert read_application("-").name == "application"
    say(monkeypatch, json.dumps(LIST))
    assert read_availability("-").to_wire() == LIST


def test_an_application_without_a_name_has_that_of_its_file(tmp_path):
    (tmp_path / "lu.toml").write_text(APPLICATION)
    assert read_application(tmp_path / "lu.toml").name == "lu"


@READERS
def test_a_file_that_cannot_be_read_is_named(read, tmp_path):
    with pytest.raises(BadInput, match=r"no\.toml: cannot be read: No such file"):
        read(tmp_path / "no.toml")
    with pytest.raises(BadInput, match="cannot be read: Is a directory"):
        read(tmp_path)
    with pytest.raises(BadInput, match="not a valid file name"):
        read("a\0b")


@READERS
def test_a_file_of_any_length_is_not_read(read, tmp_path):
    with (tmp_path / "long").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadInput, match="long: exceeds the limit of 64 MiB"):
        read(tmp_path / "long")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "--script", "-"), "exceeds the limit of 64 MiB"),
        (("plan", "--script", "/dev/zero"), "exceeds the limit of 64 MiB"),
        (("simulate", "-"), "exceeds the limit of 4 MiB; write it to a file first"),
        (("simulate", "/dev/zero"), "exceeds the limit of 4 MiB; write it to a file first"),
        (("audit", "-"), "exceeds the limit of 4 MiB; write it to a file first"),
        (("audit", "/dev/zero"), "exceeds the limit of 4 MiB; write it to a file first"),
        (("endpoints", "--config", "-"), "is larger than 1,048,576 bytes, the limit of a configuration"),
    ],
)
def test_what_never_ends_is_given_up(gas, monkeypatch, words, said):
    monkeypatch.setattr("gas.reading.MOST_PIPED_BYTES", 2**22)
    with open("/dev/zero") as endless:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", endless)
        result = gas(*words)
    assert result.code == 2
    assert said in result.err


def test_a_file_that_an_editor_has_begun_with_a_mark_of_its_encoding_is_read(tmp_path):
    for read, text in ((read_application, APPLICATION), (read_availability, json.dumps(LIST))):
        (tmp_path / "x").write_bytes(codecs.BOM_UTF8 + text.encode())
        read(tmp_path / "x")
    assert parse_toml(codecs.BOM_UTF8 + b"a = 1", "configuration") == {"a": 1}


def test_what_is_not_text_of_the_format_is_said_with_its_place(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a = \xff")
    with pytest.raises(BadInput, match="x: not UTF-8 text at byte 4"):
        read_application(path)
    with pytest.raises(BadInput, match="x: not JSON"):
        read_availability(path)
    path.write_text(" ")
    with pytest.raises(BadInput, match="x: is empty; an availability list is a JSON object with schema"):
        read_availability(path)
