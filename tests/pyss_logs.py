"""Logs scheduled by pyss, the simulator of Feitelson's group: where they are, and how they are read.

They are not part of the repository. GAS_PYSS names their folder; it may also lie beside that of the real logs.
"""

import csv
import gzip
import os
from pathlib import Path

PYSS_LOGS = [f"{n:02d}" for n in range(1, 61)]


def pyss_folder():
    """Return the folder of the logs, or None."""
    named = os.environ.get("GAS_PYSS", "")
    traces = os.environ.get("GAS_TRACES", "")
    folder = Path(named) if named else Path(traces).parent / "pyss" if traces else None
    return folder if folder is not None and folder.is_dir() else None


def canonical(path, machine=None):
    """Return (machine, ids, rows) of a log in the form given to pyss.

    Without jobs that did not run; processors are the allocated ones where known, an unknown estimate is the run time,
    which is cut at the estimate; sorted by submission and id.
    """
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as lines:
        text = list(lines)
    if machine is None:
        machine = next(int(line.split(":")[1]) for line in text if line.startswith("; MaxProcs"))
    jobs = []
    for line in text:
        if not line.strip() or line.startswith(";"):
            continue
        field = [int(float(value)) for value in line.split()]
        processors = field[4] if field[4] > 0 else field[7]
        estimate = field[8] if field[8] > 0 else field[3]
        if field[3] > 0 and processors > 0:
            jobs.append((field[1], field[0], processors, estimate, min(field[3], estimate)))
    jobs.sort()
    ids = [id for _, id, *_ in jobs]
    return machine, ids, [(submit, *rest) for submit, _, *rest in jobs]


def published_starts(path, policy):
    """Return when pyss starts each job, by its id."""
    with path.open(newline="") as lines:
        return {int(row["job_id"]): int(row[f"{policy}_start"]) for row in csv.DictReader(lines)}
