"""Results of studies as tables for other programs: CSV, and Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["as_csv", "as_parquet", "table_files"]


def table_files(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the files of a table by their names: ``name.csv``, and ``name.parquet`` if that can be written."""
    files = {f"{name}.csv": as_csv(rows)}
    parquet = as_parquet(rows)
    if parquet is not None:
        files[f"{name}.parquet"] = parquet
    return files


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV; a column for every key in the order of their first use, empty where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # None is written as nothing, floats with all their digits
    return text.getvalue().encode()


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes | None:
    """Return rows as Parquet, None if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return None
    columns = {name: [row.get(name) for row in rows] for name in _columns(rows)}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))
