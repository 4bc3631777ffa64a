"""Stores as earlier versions of Gas wrote them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from gas.service.rows import CLASS, HELD, NOTICE, OFFERED, RESHAPED


def without_time_held(path: Path) -> None:
    """Make a store one of schema 6, which did not know for how long offers were held."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"ALTER TABLE jobs DROP COLUMN {HELD}")
        database.execute("PRAGMA user_version = 6")


def without_offers(path: Path) -> None:
    """Make a store one of schema 5, which knew of no offers of earlier starts."""
    without_time_held(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for column in (NOTICE, *OFFERED):
            database.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 5")


def without_classes(path: Path) -> None:
    """Make a store one of schema 4, which knew of no classes of jobs."""
    without_offers(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"ALTER TABLE jobs DROP COLUMN {CLASS}")
        database.execute("PRAGMA user_version = 4")


def without_shapes(path: Path) -> None:
    """Make a store one of schema 3, which knew of no other shape than the one that a job was submitted with."""
    without_classes(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TABLE reshapes")
        for column in RESHAPED:
            database.execute(f"ALTER TABLE jobs DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 3")
