"""``gas traces``: the logs of the Parallel Workloads Archive, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from documents.extras import way_to_install
from gas.cli.options import Json
from gas.cli.progress import progress
from gas.cli.tables import note, print_json, print_table, say
from gas.errors import GasError, Missing, NotFound, Unreachable
from workloads.archive import (
    ARCHIVE,
    LOGS,
    ArchivedLog,
    ArchiveError,
    ArchiveUnreachable,
    Fetched,
    NotInArchive,
    acknowledgement,
    at_hand,
    cache_directory,
    fetch,
    find,
)

__all__ = ["traces_app"]

traces_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List and download logs of real machines.\n\nThe logs come from the Parallel Workloads Archive.",
)

BaseUrl = Annotated[
    str,
    typer.Option("--base-url", metavar="URL", envvar="GAS_ARCHIVE", help="Address of the archive or of a mirror."),
]
Directory = Annotated[
    Path | None,
    typer.Option("--directory", "-d", metavar="DIR", help="Folder of the logs (default: ~/.cache/gas/traces)."),
]


def _names(incomplete: str) -> list[str]:
    return [log.name for log in LOGS if log.name.lower().startswith(incomplete.lower())]


Names = Annotated[
    list[str], typer.Argument(metavar="NAME", autocompletion=_names, help="Names as listed by gas traces list.")
]


@traces_app.command("list")
def traces_list_command(base_url: BaseUrl = ARCHIVE, directory: Directory = None, json: Json = False) -> None:
    """List the logs that can be downloaded, and those on this machine.

    gas traces list

    Fields that are unknown before the download are blank.

    \b
    Columns:
      CPUs       processors of the machine, according to the log's header
      jobs       jobs in the log
      submitted  first and last day of submissions
      estimates  share of the jobs that state a run-time estimate (walltime)
      checked    yes: gas traces get verifies the log by a known SHA-256
      here       yes: the log is in the folder
    """
    folder = directory or cache_directory()
    if json:
        print_json(
            {
                "schema": "gas.traces/1",
                "directory": str(folder),
                "logs": [_document(log, base_url, folder) for log in LOGS],
            }
        )
        return
    print_table(
        ["name", "machine", "CPUs", "jobs", "submitted", "esti-\nmates", "check-\ned", "here"],
        [
            (
                log.name,
                log.machine,
                _blank(log.processors),
                _blank(log.jobs),
                " to ".join(log.period or ()),
                _share(log.estimates),
                "yes" if log.sha256 else "",
                "yes" if at_hand(log, folder) else "",
            )
            for log in LOGS
        ],
        left=("name", "machine", "submitted", "check-\ned", "here"),
        whole=("name",),
    )
    note(f"folder: {folder}; gas traces get NAME downloads a log; gas traces list --help explains the columns")


@traces_app.command("get")
def traces_get_command(
    names: Names,
    base_url: BaseUrl = ARCHIVE,
    directory: Directory = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Download nothing; use only logs on this machine.")
    ] = False,
    json: Json = False,
) -> None:
    """Download logs by name and print their paths.

    gas traces get KTH-SP2-1996-2.1-cln

    A log is downloaded once; its SHA-256 is verified every time, if known.
    """
    documents = []
    for log in [find(name) for name in names]:
        if json:
            documents.append(_got(log, base_url, directory, offline))
        else:
            say(_got(log, base_url, directory, offline)["path"])
    if json:
        print_json({"schema": "gas.traces/1", "directory": str(directory or cache_directory()), "logs": documents})


def _got(log: ArchivedLog, base_url: str, directory: Path | None, offline: bool) -> dict[str, Any]:
    """Fetch a log, print its remarks and acknowledgement, and return it as an object."""
    fetched = _fetched(log, base_url, directory, offline)
    if fetched.moved_aside is not None:
        note(f"gas: {fetched.path} was damaged or another log; it was renamed to {fetched.moved_aside}")
    if not fetched.checked:
        note(
            f"gas: {log.name} is NOT VERIFIED: its SHA-256 is not known; that of the "
            f"{'downloaded' if fetched.downloaded else 'cached'} log is {fetched.sha256}"
        )
    thanks = acknowledgement(fetched.path)
    note("Please acknowledge in work that uses this log:")
    for line in thanks:
        note(f"  - {line}")
    return {
        **_document(log, base_url, fetched.path.parent),
        "sha256": fetched.sha256,
        "checked": fetched.checked,
        "downloaded": fetched.downloaded,
        "acknowledgement": thanks,
    }


def _fetched(log: ArchivedLog, base_url: str, directory: Path | None, offline: bool) -> Fetched:
    try:
        with progress(f"downloading {log.name}") as bar:
            return fetch(log, base=base_url, directory=directory, offline=offline, progress=bar)
    except ModuleNotFoundError as error:
        raise Missing(f"gas traces get needs {error.name}: {way_to_install('data')}") from None
    except ArchiveUnreachable as error:
        raise Unreachable(str(error)) from None
    except NotInArchive as error:
        raise NotFound(str(error)) from None
    except ArchiveError as error:
        raise GasError(str(error)) from None


def _document(log: ArchivedLog, base_url: str, folder: Path) -> dict[str, Any]:
    path = at_hand(log, folder)
    return {
        "name": log.name,
        "machine": log.machine,
        "processors": log.processors,
        "jobs": log.jobs,
        "first_day": log.period[0] if log.period else None,
        "last_day": log.period[1] if log.period else None,
        "estimates": log.estimates,
        "sha256": log.sha256,
        "url": log.url(base_url),
        "path": str(path) if path else None,
    }


def _blank(number: int | None) -> str:
    return "" if number is None else str(number)


def _share(share: float | None) -> str:
    """Return a share as a percentage, which is 100% only for all."""
    return "" if share is None else f"{int(share * 1000) / 10:g}%"
