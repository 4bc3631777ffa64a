"""The service's own log on standard error: lines for people, or one JSON object per line for programs.

Records carry what happened as fields (``log.info("…", extra={"event": …, "job": …})``); commands, environments, keys
and tokens are never among them.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, Literal, TextIO

from gas.printable import as_line, escaped_json, printable
from gas.times import iso_time

__all__ = ["JsonLines", "TextLines", "begin_logging"]

_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """One JSON object per line: time (UTC), level, message, and the fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": iso_time(int(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _ORDINARY}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return escaped_json(json.dumps(line, default=str, ensure_ascii=False))


class TextLines(logging.Formatter):
    """A line for people; names chosen by users cannot control the terminal or begin new lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the name that logging calls
        """Return the line of a record."""
        return as_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return the lines of an unexpected error."""
        return printable(super().formatException(ei))


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to the present standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.stream = sys.stderr
        super().emit(record)


def begin_logging(form: Literal["text", "json"], level: str) -> None:
    """Send the records of the service, and warnings of everything else, to standard error."""
    handler = _StandardError()
    handler.setFormatter(JsonLines() if form == "json" else TextLines("%(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("gas").setLevel(level.upper())
