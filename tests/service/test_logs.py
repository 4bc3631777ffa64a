import json
import logging

import pytest

from gas.service.logs import JsonLines, TextLines


def record(message, **fields):
    made = logging.makeLogRecord({"name": "gas.s3", "levelname": "WARNING", "msg": message, "created": 1_731_000_000.7})
    vars(made).update(fields)
    return made


def test_a_record_is_one_json_object_with_its_fields():
    line = JsonLines().format(record("the promise\nbroke", event="promise_broken", job=7))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2024-11-07T17:20:00Z",
        "level": "warning",
        "logger": "gas.s3",
        "message": "the promise\nbroke",
        "event": "promise_broken",
        "job": 7,
    }


def test_an_exception_stays_within_its_line():
    try:
        raise ValueError("bad")
    except ValueError as error:
        line = JsonLines().format(record("unforeseen", exc_info=(ValueError, error, error.__traceback__)))
    assert "ValueError: bad" in json.loads(line)["traceback"]


@pytest.mark.parametrize("name", ["\x1b[2J", "\x9b31m", "\u202e", "a\nWARNING: another line"])
def test_names_of_jobs_steer_no_terminal_and_forge_no_line(name):
    for line in (
        TextLines("%(levelname)s: %(message)s").format(record(f"job 7 ({name}) ended")),
        JsonLines().format(record("ended", name_of_job=name)),
    ):
        assert line.isprintable(), ascii(line)
