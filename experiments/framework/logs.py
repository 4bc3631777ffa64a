"""The logs of studies: their files, and the machine and terms of their simulations.

Mu'alem & Feitelson (2001, 3.1) name five. They used them before the archive cleaned its logs. So of several versions in
a folder the uncleaned one comes first, then the newest, unless another is named. Only files under the archive's own
names count, except those that declare themselves simulated schedules: simulated again, they would be mistaken for the
record.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from gas.errors import BadInput
from workloads import Header, Log, LogError, rigid_jobs
from workloads.archive import LOGS
from workloads.formats import parse_log
from workloads.sacct_header import Unit
from workloads.selection import months_of

__all__ = ["SOURCES", "Estimates", "Found", "Source", "find_logs", "jobs_by_month", "load_log", "log_in"]
__all__ += ["of_the_archive", "without_request"]

Estimates = Literal["users", "perfect", "doubled"]
"""The users' estimates in the log, each job's run time, or twice the users' estimates."""


@dataclass(frozen=True)
class Source:
    """A log of the paper, or a part of one for which the archive has a separate file."""

    trace: str
    """Name in the paper."""
    stem: str
    """Prefix of its file names."""
    processors: int
    """Processors of the machine as the paper simulated it."""
    estimates: Estimates
    """The estimates that the paper used."""
    jobs: int
    """Number of jobs in the paper's version of the trace."""
    years: str = ""
    """Prefix of the months of Table 1 that this part of the trace covers."""
    remark: str = ""

    def __str__(self) -> str:
        return f"{self.trace} {self.years}".strip()

    def has(self, name: str) -> bool:
        """Return whether a name is that of a version of it in the archive."""
        return re.fullmatch(rf"{re.escape(self.stem)}-\d+(\.\d+)*(-cln)?", name) is not None

    def covers(self, trace: str, month: str) -> bool:
        """Return whether this log covers a row of Table 1."""
        return trace == self.trace and month.startswith(self.years)


SOURCES = (
    Source("CTC", "CTC-SP2-1996", 512, "users", 79296, remark="The log's header counts only the batch partition."),
    Source("KTH", "KTH-SP2-1996", 100, "users", 28490),
    Source("SDSC", "SDSC-SP2-1998", 128, "users", 67665),
    Source(
        "Par",
        "SDSC-Par-1995",
        416,
        "perfect",
        115595,
        "1995",
        "The header counts 48 interactive nodes and 352 for batch jobs.",
    ),
    Source(
        "Par",
        "SDSC-Par-1996",
        416,
        "perfect",
        115595,
        "1996",
        "The header counts 48 interactive nodes and 352 for batch jobs.",
    ),
    Source(
        "CM5",
        "LANL-CM5-1994",
        1024,
        "perfect",
        201387,
        remark="91% of the jobs in the log have a requested time, which many exceed; the paper used run times.",
    ),
)
"""In the order of Table 1."""


@dataclass(frozen=True)
class Found:
    """A log that is available."""

    source: Source
    name: str
    """Name of its file, without .swf and .gz."""
    path: Path
    sha256: str
    """Hash of the uncompressed file."""
    header: Header
    others: tuple[str, ...] = ()
    """Other versions of it that were found and are not used."""
    months: tuple[str, ...] = ()
    """The only months that take part; all if empty."""
    own: bool = False
    """Whether it is a log of the user, for which no paper has figures."""

    @property
    def cleaned(self) -> bool:
        """Whether the archive has removed jobs from it."""
        return self.name.endswith("-cln")

    def takes(self, month: str) -> bool:
        """Return whether a month takes part."""
        return not self.months or month in self.months


def find_logs(
    folder: Path | None, sources: Sequence[Source] = SOURCES, versions: Collection[str] = ()
) -> tuple[list[Found], list[Source], list[str]]:
    """Return the logs in a folder, and the missing ones, each in the order of `sources`.

    The third item lists files that look like one of the logs but are left out, with reasons.

    Parameters
    ----------
    versions
        Names of the only versions to use, for the logs of which one is named: ``KTH-SP2-1996-2.1-cln``.

    Raises
    ------
    BadInput
        The folder, or a log in it, cannot be read.
    """
    if folder is None:
        return [], list(sources), []
    try:
        paths = sorted(path for path in folder.iterdir() if re.fullmatch(r".+\.swf(\.gz)?", path.name))
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {error.strerror}; give the folder of the logs") from None
    found, missing, left_out = [], [], []
    for source in sources:
        alike = [path for path in paths if re.match(rf"{re.escape(source.stem)}(?!\d)", path.name)]
        there = sorted((path for path in alike if source.has(_stem(path))), key=_preference)
        left_out += [
            f"{path.name}: not a name of the archive, {source.stem}-VERSION.swf.gz or {source.stem}-VERSION-cln.swf.gz"
            for path in alike
            if path not in there
        ]
        named = [version for version in versions if source.has(version)]
        there = [path for path in there if not named or _stem(path) in named]
        while there:
            first = there.pop(0)
            log = log_in(first, source)
            if not any(text.startswith(_SIMULATED) for text in log.header.notes):
                others = tuple(dict.fromkeys(_stem(path) for path in there if _stem(path) != _stem(first)))
                found.append(replace(log, others=others))
                break
            left_out.append(f"{first.name}: its header says that it is a simulated schedule, no record of the machine")
        else:
            missing.append(source)
    return found, missing, left_out


def log_in(path: Path, source: Source) -> Found:
    """Return the log in a file of any name, assumed to be of this source.

    Raises
    ------
    BadInput
        The file cannot be read.
    """
    data = _bytes(path)
    header = Header(tuple(line for line in data.decode("latin-1").splitlines() if line.startswith(";")))
    return Found(source, _stem(path), path, hashlib.sha256(data).hexdigest(), header)


_SIMULATED = "Simulated schedule"
"""Beginning of the Note that identifies a schedule written as SWF (see `gas.simulation.files`)."""


@lru_cache(maxsize=1)
def load_log(path: Path, sha256: str, unit: Unit | None = None) -> Log:
    """Return the log in a file that must still have this hash; the last one read is cached.

    Parameters
    ----------
    unit
        The unit of processors, in a file of any format (`experiments.framework.files`).
        None: malformed lines are errors in a log of the archive. Elsewhere they are left out.
    """
    data = _bytes(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BadInput(f"{path}: changed while the study ran; repeat the command")
    lenient = unit is not None or not of_the_archive(path)
    log = parse_log(data, name=path.name, lenient=lenient, unit=unit or "cpus")
    _WITHOUT_REQUEST[sha256] = float((log.requested_time <= 0).mean()) if len(log) else 0.0
    return log


_WITHOUT_REQUEST: dict[str, float] = {}
"""By hash, of the logs that this process has read: so that a report need not read them again."""


def without_request(log: Found) -> float:
    """Return the share of the jobs without a requested time; 0 for a log that was not read from a file."""
    if log.sha256 not in _WITHOUT_REQUEST and log.path and log.path.is_file():
        with suppress(LogError):  # its jobs are counted in nodes
            load_log(log.path, log.sha256, "cpus")  # a study may leave out malformed lines
    return _WITHOUT_REQUEST.get(log.sha256, 0.0)


def of_the_archive(path: Path) -> bool:
    """Return whether a file has the name of a log of the Parallel Workloads Archive, of any version."""
    name = _stem(path)
    return any(source.has(name) for source in SOURCES) or name in {log.name for log in LOGS}


def jobs_by_month(log: Found) -> dict[str, int]:
    """Return the number of jobs submitted in each month of a log, as "1996-10"; of the user's own, runnable jobs."""
    content = load_log(log.path, log.sha256)
    labels, index = months_of(content.submit, content.epoch, name=log.name)
    if log.own:
        index = index[rigid_jobs(content, log.source.processors).row]
    return dict(zip(labels, np.bincount(index, minlength=len(labels)).tolist(), strict=True))


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (EOFError, OSError, zlib.error) as error:
        raise BadInput(f"{path}: the gzip file is damaged ({error}); fetch or copy it again") from None


def _stem(path: Path) -> str:
    return re.sub(r"\.swf(\.gz)?$", "", path.name)


def _preference(path: Path) -> tuple[bool, list[int], str]:
    """Order versions: uncleaned before cleaned, newer before older."""
    stem = _stem(path)
    version = re.search(r"-(\d+(?:\.\d+)*)(-cln)?$", stem)
    numbers = [-int(part) for part in version[1].split(".")] if version else [0]
    return stem.endswith("-cln"), numbers, path.name
