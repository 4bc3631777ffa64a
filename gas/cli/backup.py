"""``gas backup``, ``gas restore`` and ``gas check``: copies of what an S³ service of this machine keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gas.cli.options import Json
from gas.cli.serve import state_directory
from gas.cli.tables import many, note, print_json, say
from gas.errors import Missing, StoreDamaged

__all__ = ["backup_command", "check_command", "restore_command"]

Name = Annotated[str, typer.Option("--name", help="What the scheduler calls itself.")]
State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="State directory of the service (default: ~/.local/state/gas/NAME)."),
]


def _service() -> Any:
    """Return the module that works on stores, or say what it needs."""
    try:
        from gas.service import backup
    except ImportError as error:
        raise Missing(f'this needs {error.name}: pip install "apples-gas[server]"') from None
    return backup


def backup_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; a directory gets a file named by the time.")],
    name: Name = "s3",
    state: State = None,
) -> None:
    """Copy the jobs and promises of an S³ service into one file.

    The service may be running: the copy is of one instant. Outputs of jobs and the tokens file are not in it; copy
    them as any other files.
    """
    written, jobs = _service().back_up(state_directory(state, name), file)
    say(f"{many(jobs, 'job')} in {written}")


def restore_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What gas backup has written.")],
    name: Name = "s3",
    state: State = None,
) -> None:
    """Put a backup in the place of the store of a stopped S³ service.

    What is replaced is kept beside it. No job number is given twice. Jobs that had ended since the backup, or were
    cancelled, stay so if the store that is replaced can be read. What had been started since is found again by its
    directory when gas serve starts; other submissions since are lost, and named here as far as they are known.
    """
    from gas.service.server import hold_state

    directory = state_directory(state, name)
    service = _service()
    with hold_state(directory):
        restored = service.restore(file, directory)
    say(f"{many(restored.jobs, 'job')} restored")
    for job in restored.lost:
        fate = "has a directory, and will be found again" if job.id in restored.found else "is lost"
        say(f"job {job.id} of {job.wish.user} ({job.wish.name}, {job.state}): {fate}")
    if restored.ended:
        numbers = ", ".join(str(job.id) for job in restored.ended[:20])
        say(f"{many(len(restored.ended), 'job')} had ended since the backup, and stay ended: {numbers}")
    unnamed = sorted(set(restored.found) - {job.id for job in restored.lost})
    if unnamed:
        numbers = ", ".join(map(str, unnamed[:20]))
        say(f"{many(len(unnamed), 'job')} more with a directory will be found again: {numbers}")
    if restored.aside is not None:
        note(f"what was there before: {restored.aside}")


def check_command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A backup, or a store (default: that of --state).")
    ] = None,
    name: Name = "s3",
    state: State = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="NEW", help="Write what is sound into a new store.")
    ] = None,
    json: Json = False,
) -> None:
    """Read a store or a backup to the last byte and say what is damaged.

    The service may be running. --save NEW writes the sound jobs into a new store, which gas restore puts in place.
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
            say(f"{many(saved, 'sound job')} saved in {save}; left out: {len(left_out)}")
        if not problems:
            say(f"{path}: sound, with {many(sound, 'job')}")
    if problems:
        if saved is not None:
            raise StoreDamaged(f"{path}: is damaged; put what was saved in its place: gas restore {save}")
        way_out = (
            f"{many(sound, 'job')} in it can be saved by --save NEW" if sound else "bring back a backup: gas restore"
        )
        raise StoreDamaged(f"{path}: is damaged; {way_out}")
