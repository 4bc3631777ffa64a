"""The logs of the Parallel Workloads Archive (Feitelson, Hebrew University): their data, and downloading them.

A log is downloaded once, into a cache. If the sha256 of its plain text is known here, the cache accepts and returns
nothing else; for other logs the hash is computed and returned to the caller.
"""

from __future__ import annotations

import difflib
import errno
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from documents.home import cache_folder
from workloads.log import LogError
from workloads.swf import parse_swf, read_header

__all__ = [
    "ARCHIVE",
    "LOGS",
    "REQUEST",
    "ArchiveError",
    "ArchiveUnreachable",
    "ArchivedLog",
    "Fetched",
    "NotInArchive",
    "acknowledgement",
    "at_hand",
    "cache_directory",
    "fetch",
    "find",
]

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
"""Address of the archive."""

REQUEST = (
    f"name the Parallel Workloads Archive ({ARCHIVE}/) as your source, and those who gave the log",
    "cite D. G. Feitelson, D. Tsafrir and D. Krakov, Experience with using the Parallel Workloads Archive, "
    "J. Parallel and Distributed Computing 74(10), 2014",
)
"""The archive's request to users of its logs."""

_BLOCK = 1 << 16
_PATIENCE = 30
"""Seconds to wait for data from the server."""
_START = 1 << 20
"""Bytes of a download that are parsed as a log before it is kept."""


class ArchiveError(Exception):
    """A log could not be fetched; the message names the address and the way out."""


class ArchiveUnreachable(ArchiveError):
    """The server did not answer, or closed the connection early."""


class NotInArchive(ArchiveError):
    """The server answers, but does not have the file."""


@dataclass(frozen=True)
class ArchivedLog:
    """A log of the archive; unknown data are None."""

    name: str
    folder: str
    machine: str
    processors: int | None = None
    jobs: int | None = None
    period: tuple[str, str] | None = None
    """Days of the first and the last submission, in the machine's zone."""
    estimates: float | None = None
    """Share of the jobs with the user's estimate of their run time."""
    sha256: str | None = None
    """Hash of the plain text, since the archive sometimes repacks files."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.swf.gz"

    def url(self, base: str = ARCHIVE) -> str:
        """Return its address."""
        return f"{base.rstrip('/')}/{self.folder}/{self.file}"


class Fetched(NamedTuple):
    """A log on this machine."""

    path: Path
    sha256: str
    """Hash of its plain text."""
    checked: bool
    """Whether it equals the hash known here; False if none is known."""
    downloaded: bool
    """False if it was in the cache."""
    moved_aside: Path | None
    """New location of a file in the cache that was not the log."""


# fmt: off
LOGS = (
    ArchivedLog(
        "KTH-SP2-1996-2.1-cln", "l_kth_sp2", "IBM SP2, KTH", 100, 28476, ("1996-09-30", "1997-08-29"), 1.0,
        "fba36494c4e4257f72182e8b629ebb0bcb054b3b82851ef957445bd627adcc87",
    ),
    ArchivedLog(
        "KTH-SP2-1996-2", "l_kth_sp2", "IBM SP2, KTH", 100, 28489, ("1996-09-23", "1997-08-29"), 1.0,
        "df76b94e5f670db52179688a98deec3e1887d10adb39f96c900b8e92abb386ab",
    ),
    ArchivedLog(
        "CTC-SP2-1996-3.1-cln", "l_ctc_sp2", "IBM SP2, CTC", 338, 77222, ("1996-06-26", "1997-05-31"), 0.9999,
        "8e33a9b597e1ddda2d2164347bac08c9444e1a2620a7947df52f0a1622ec4cde",
    ),
    ArchivedLog(
        "SDSC-SP2-1998-4.2-cln", "l_sdsc_sp2", "IBM SP2, SDSC", 128, 59715, ("1998-05-01", "2000-04-29"), 0.9989,
        "2bb635f4b5793f52bd49ccb8fd913d95f9c5be6346925162cadcaf0117e28cf2",
    ),
    ArchivedLog(
        "SDSC-Par-1996-3.1-cln", "l_sdsc_par", "Intel Paragon, SDSC", 400, 32135, ("1995-12-27", "1996-12-31"), 0.0,
        "fcb46fa6462b7ac460963025749f604f28b2e813101edd082a720842e80a7aa8",
    ),
    ArchivedLog(
        "LANL-CM5-1994-4.1-cln", "l_lanl_cm5", "Thinking Machines CM-5, LANL", 1024, 122060,
        ("1994-10-04", "1996-09-24"), 0.9075,
        "4766a62dabcc7403ec0a55534aff297203e692ddbf6637bd40100a3800f6354a",
    ),
    ArchivedLog("NASA-iPSC-1993-3.1-cln", "l_nasa_ipsc", "Intel iPSC/860, NASA Ames"),
    ArchivedLog("SDSC-Par-1995-3.1-cln", "l_sdsc_par", "Intel Paragon, SDSC"),
    ArchivedLog("LLNL-T3D-1996-2", "l_llnl_t3d", "Cray T3D, LLNL"),
    ArchivedLog("LANL-O2K-1999-2", "l_lanl_o2k", "SGI Origin 2000, LANL"),
    ArchivedLog("OSC-Clust-2000-3.1-cln", "l_osc", "Linux cluster, OSC"),
    ArchivedLog("SDSC-BLUE-2000-4.2-cln", "l_sdsc_blue", "IBM SP, SDSC (Blue Horizon)"),
    ArchivedLog("Sandia-Ross-2001-1.1-cln", "l_sandia_ross", "Cplant, Sandia (Ross)"),
    ArchivedLog("HPC2N-2002-2.2-cln", "l_hpc2n", "Linux cluster, HPC2N"),
    ArchivedLog("SDSC-DS-2004-2.1-cln", "l_sdsc_ds", "IBM, SDSC (DataStar)"),
    ArchivedLog("LPC-EGEE-2004-1.2-cln", "l_lpc", "Linux cluster, LPC (EGEE)"),
    ArchivedLog("LLNL-uBGL-2006-2", "l_llnl_ubgl", "IBM Blue Gene/L, LLNL"),
    ArchivedLog("LLNL-Atlas-2006-2.1-cln", "l_llnl_atlas", "Linux cluster, LLNL (Atlas)"),
    ArchivedLog("LLNL-Thunder-2007-1.1-cln", "l_llnl_thunder", "Linux cluster, LLNL (Thunder)"),
    ArchivedLog("CIEMAT-Euler-2008-1", "l_ciemat_euler", "Linux cluster, CIEMAT (Euler)"),
    ArchivedLog("ANL-Intrepid-2009-1", "l_anl_int", "IBM Blue Gene/P, ANL (Intrepid)"),
    ArchivedLog("METACENTRUM-2009-2", "l_metacentrum", "Grid, MetaCentrum"),
    ArchivedLog("PIK-IPLEX-2009-1", "l_pik_iplex", "IBM iDataPlex, PIK"),
    ArchivedLog("RICC-2010-2", "l_ricc", "Cluster of clusters, RIKEN"),
    ArchivedLog("CEA-Curie-2011-2.1-cln", "l_cea_curie", "Bull cluster, CEA (Curie)"),
    ArchivedLog("METACENTRUM-2013-3", "l_metacentrum2", "Grid, MetaCentrum"),
    ArchivedLog("UniLu-Gaia-2014-2", "l_unilu_gaia", "Linux cluster, Luxembourg (Gaia)"),
    ArchivedLog("KIT-FH2-2016-1", "l_kit_fh2", "Linux cluster, KIT (ForHLR II)"),
)
# fmt: on
"""The logs available by name."""


def find(name: str) -> ArchivedLog:
    """Return the log with a name, in any case, with or without ``.swf.gz``.

    Raises
    ------
    LogError
        There is no such log; the message names the nearest.
    """
    wanted = name.strip().removesuffix(".gz").removesuffix(".swf").lower()
    by_name = {log.name.lower(): log for log in LOGS}
    if wanted in by_name:
        return by_name[wanted]
    inside = [key for key in by_name if wanted and wanted in key]
    near = inside or difflib.get_close_matches(wanted, by_name, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(by_name[key].name for key in near)}?" if near else ""
    raise LogError(f'"{name}"', f"is not a known log of the archive{hint or '; `gas traces list` lists them'}")


def cache_directory() -> Path:
    """Return the folder of logs: ``traces`` in ``$GAS_CACHE``, else in ``gas`` of ``$XDG_CACHE_HOME`` (~/.cache)."""
    return cache_folder() / "traces"


def at_hand(log: ArchivedLog, directory: Path) -> Path | None:
    """Return the path of a log in the cache; None if it is not there, or the user cannot read the cache."""
    with suppress(OSError):
        if (path := directory / log.file).exists():
            return path
    return None


def acknowledgement(path: Path) -> list[str]:
    """Return the acknowledgement of a log on this machine: the text of its copyright, and the archive's request."""
    header = read_header(path)
    given = [*header.acknowledgements, *(text for text in header.all("Copyright") if text)]
    return [" ".join(text.split()) for text in (*given, *REQUEST)]


def fetch(
    log: ArchivedLog,
    *,
    base: str = ARCHIVE,
    directory: Path | None = None,
    offline: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Fetched:
    """Return a log on this machine, downloaded if it is not in the cache yet.

    An interrupted or damaged download leaves no file. A file whose text differs from the known one is renamed, with
    ``.mismatch`` appended.

    Parameters
    ----------
    base
        The address of the archive, or of a copy with the same layout.
    directory
        The cache.
    offline
        Use the cache only.
    progress
        Called with the completed share, if the server states the size.

    Raises
    ------
    ArchiveUnreachable, NotInArchive, ArchiveError
        The log cannot be fetched.
    LogError
        The address is invalid.
    OSError
        The cache is not writable; the message names the place.
    ImportError
        pooch is not installed.
    """
    folder = directory or cache_directory()
    path = folder / log.file
    aside: Path | None = None
    if path.exists():
        found = _sum_of(path)
        if found is not None and found == (log.sha256 or found):
            return Fetched(path, found, log.sha256 is not None, downloaded=False, moved_aside=None)
        if not offline:
            aside = path.rename(f"{path}.mismatch")
        else:
            what = "is damaged" if found is None else f"has the sha256 {found}, expected {log.sha256}"
            raise ArchiveError(f"{path}: {what}; fetch it again without --offline")
    if offline:
        raise ArchiveError(f"{log.name}: is not in {folder}; fetch it without --offline")
    try:
        sha256 = _download(log, _address(log.url(base)), path, progress)
    except BaseException:
        if aside is not None and not path.exists():
            aside.rename(path)
        raise
    return Fetched(path, sha256, log.sha256 is not None, downloaded=True, moved_aside=aside)


def _address(url: str) -> str:
    """Return an address that can be downloaded from."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return url
    except ValueError:
        pass
    raise LogError(url, "is not an address to download from; it begins with http:// or https:// and a host")


def _download(log: ArchivedLog, url: str, path: Path, progress: Callable[[float], None] | None) -> str:
    """Put a log into the cache, complete and checked, and return its hash."""
    import pooch
    import requests

    sums: list[str] = []

    def checked(address: str, temporary: str, _: object) -> None:
        _transfer(address, Path(temporary), progress)
        sums.append(_accepted(log, address, Path(temporary), path))

    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))
    pooch.get_logger().setLevel("WARNING")  # the caller reports progress
    try:
        pooch.retrieve(url, known_hash=None, fname=path.name, path=path.parent, downloader=checked)
    except requests.HTTPError as error:
        status = error.response.status_code
        if status in (404, 410):
            raise NotInArchive(f"{url}: is not there ({status}); another --base-url may have it") from None
        kind = ArchiveUnreachable if status >= 500 or status == 429 else ArchiveError
        raise kind(f"{url}: the server refuses with {status} {error.response.reason}") from None
    except requests.ConnectionError as error:
        raise ArchiveUnreachable(f"{url}: no answer ({_cause(error)}); try again later, or with --base-url") from None
    except requests.Timeout:
        raise ArchiveUnreachable(f"{url}: no answer in time; try again later, or with --base-url") from None
    except requests.exceptions.ChunkedEncodingError:
        raise ArchiveUnreachable(f"{url}: the download broke off; nothing was kept, try again") from None
    except requests.RequestException as error:
        raise ArchiveError(f"{url}: cannot be downloaded ({_cause(error)})") from None
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), str(path.parent)) from None
    return sums[-1]


def _transfer(url: str, target: Path, progress: Callable[[float], None] | None) -> None:
    """Write the contents of an address into a file."""
    import requests

    with requests.get(url, stream=True, timeout=_PATIENCE) as response, target.open("wb") as file:
        response.raise_for_status()
        total = int(response.headers.get("Content-Length", 0))
        for block in response.iter_content(_BLOCK):
            file.write(block)
            if progress is not None and total > 0:
                progress(min(response.raw.tell() / total, 1.0))


def _accepted(log: ArchivedLog, url: str, downloaded: Path, path: Path) -> str:
    """Return the hash of a download's text; raise if it is not the log, and move it aside or leave it for deletion."""
    with downloaded.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        _pack(downloaded)  # with "Content-Encoding: gzip" it was unpacked on the way
    found = _sum_of(downloaded)
    if found is None:
        raise ArchiveError(f"{url}: what arrived is damaged; nothing was kept, try again")
    if log.sha256 is not None and found != log.sha256:
        aside = downloaded.replace(f"{path}.mismatch")
        raise ArchiveError(
            f"{url}: what arrived is not the known log: its text has the sha256 {found}, expected {log.sha256}; "
            f"it was put aside as {aside}"
        )
    try:
        with gzip.open(downloaded, "rb") as text:
            start = text.read(_START)
        parse_swf(start[: start.rfind(b"\n") + 1] if len(start) == _START else start)
    except LogError as error:
        raise ArchiveError(f"{url}: what arrived is not a log ({error}); nothing was kept") from None
    return found


def _sum_of(path: Path) -> str | None:
    """Return the sha256 of the text of a gzip file; None if the file is damaged."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return None
    return digest.hexdigest()


def _pack(path: Path) -> None:
    text = path.read_bytes()
    path.write_bytes(gzip.compress(text, mtime=0))


def _cause(error: Exception) -> str:
    """Return the innermost cause of an error of requests, in a few words."""
    inner: Any = error
    while inner.args and isinstance(inner.args[-1], Exception):
        inner = inner.args[-1]
    reason = getattr(inner, "reason", None)
    text = str(reason if isinstance(reason, Exception) else inner)
    return text.rpartition(">: ")[2].rpartition("): ")[2][:200] or type(inner).__name__
