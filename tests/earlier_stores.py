"""Stores in the formats of earlier versions of Gas."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gas.service.rows import CLASS, HELD, NOTICE, OFFERED, RESHAPED


def without_time_held(path: Path) -> None:
    """Turn a store into one of schema 6, which did not record how long offers were held."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"ALTER TABLE jobs DROP COLUMN {HELD}")
        database.execute("PRAGMA user_version = 6")


def without_offers(path: Path) -> None:
    """Turn a store into one of schema 5, which had no offers of earlier starts."""
    without_time_held(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for column in (NOTICE, *OFFERED):
            database.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 5")


def without_classes(path: Path) -> None:
    """Turn a store into one of schema 4, which had no classes of jobs."""
    without_offers(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"ALTER TABLE jobs DROP COLUMN {CLASS}")
        database.execute("PRAGMA user_version = 4")


def without_shapes(path: Path) -> None:
    """Turn a store into one of schema 3, which had no shape other than the submitted one."""
    without_classes(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TABLE reshapes")
        for column in RESHAPED:
            database.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 3")
