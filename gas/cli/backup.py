"""``gas backup``, ``gas restore`` and ``gas check``: copies of the store of an S³ service of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from documents.extras import way_to_install
from gas.cli.options import Json, StateDirectory
from gas.cli.serve import state_directory
from gas.cli.tables import many, note, print_json, say
from gas.errors import Missing, StoreDamaged

__all__ = ["backup_command", "check_command", "restore_command"]

Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the scheduler.")]


def _service() -> Any:
    """Return the module that works on stores, or name the package that is missing."""
    try:
        from gas.service import backup
    except ImportError as error:
        raise Missing(f"this needs {error.name}: {way_to_install('server')}") from None
    return backup


def backup_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Backup file, or a directory for a file named after the time.")
    ],
    name: Name = "s3",
    state: StateDirectory = None,
) -> None:
    """Back up the jobs and promises of an S³ service.

    gas backup s3.backup

    The copy is consistent even while the service runs. It includes the outcomes of the service's predictions, but not
    the output of jobs and the tokens file: copy these like any other files.
    """
    written, jobs = _service().back_up(state_directory(state, name), file)
    say(f"{many(jobs, 'job')} in {written}")


def restore_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File written by gas backup.")],
    name: Name = "s3",
    state: StateDirectory = None,
) -> None:
    """Replace the store of a stopped S³ service with a backup.

    gas restore s3.backup

    The replaced store is kept under another name. Job numbers are never reused. Jobs that ended or were cancelled after
    the backup stay ended if the replaced store can be read. When gas serve starts, it finds jobs that started after the
    backup by their directories. Jobs that were submitted after the backup and had not started are lost; gas restore
    lists those that it can identify.
    """
    from gas.service.server import hold_state

    directory = state_directory(state, name)
    service = _service()
    with hold_state(directory):
        restored = service.restore(file, directory)
    say(f"{many(restored.jobs, 'job')} restored")
    for job in restored.lost:
        fate = "has a directory: gas serve will find it" if job.id in restored.found else "is lost"
        say(f"job {job.id} of {job.request.user} ({job.request.name}, {job.state}): {fate}")
    if restored.ended:
        numbers = ", ".join(str(job.id) for job in restored.ended[:20])
        say(f"{many(len(restored.ended), 'job')} ended after the backup, and stay ended: {numbers}")
    unnamed = sorted(set(restored.found) - {job.id for job in restored.lost})
    if unnamed:
        numbers = ", ".join(map(str, unnamed[:20]))
        say(f"{many(len(unnamed), 'more job')} with a directory that gas serve will find: {numbers}")
    if restored.aside is not None:
        note(f"the replaced store: {restored.aside}")


def check_command(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Backup or store (default: the store of --state).")
    ] = None,
    name: Name = "s3",
    state: StateDirectory = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="NEW", help="Write all undamaged jobs into a new store.")
    ] = None,
    json: Json = False,
) -> None:
    """Check a store (database) of S³ or a backup for damage.

    gas check s3.backup

    The service may be running. --save NEW writes all undamaged jobs into a new store, for gas restore.
    """
    service = _service()
    path = file or state_directory(state, name)
    problems, sound = service.check(path)
    saved, left_out = service.save_sound(path, save) if save is not None else (None, [])
    if json:
        found = {"path": str(path), "sound_jobs": sound, "problems": problems, "saved": saved}
        print_json({"schema": "gas.check/1", **found})
    else:
        for problem in problems:
            say(problem)
        if saved is not None:
            say(f"{many(saved, 'undamaged job')} saved in {save}; left out: {len(left_out)}")
        if not problems:
            say(f"{path}: no damage, {many(sound, 'job')}")
    if problems:
        if saved is not None:
            raise StoreDamaged(f"{path}: is damaged; replace it with the saved jobs: gas restore {save}")
        way_out = (
            f"--save NEW saves its {many(sound, 'undamaged job')}" if sound else "restore a backup with gas restore"
        )
        raise StoreDamaged(f"{path}: is damaged; {way_out}")
