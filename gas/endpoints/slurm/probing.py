"""Probes: real jobs that do nothing, submitted to see when Slurm plans them, and cancelled.

They are the last resort where other users' jobs are not shown. No probe is left behind: each is cancelled as soon as it
has a plan; a process of its own, which outlives the one that started it, cancels them by their name when that one is
interrupted or killed; and the next probing cancels what a crash of the whole machine left.
"""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

from gas.endpoints.sending import RefusedAs, Unclear
from gas.endpoints.slurm.transport import Batch, Shape, Transport
from gas.errors import GasError, Missing, NotFound

__all__ = ["PREFIX", "probe", "sweep"]

PREFIX = "gas-probe-"
"""How the names of all probes begin."""

SCRIPT = "#!/bin/sh\nexit 0\n"

ANYWHERE = "/"
"""Where probes run: slurmrestd from 24.05 on takes no job without a directory, and all nodes have this one."""

PATIENCE_SECONDS = 90.0
"""How long a plan is waited for: backfill cycles are 30 s apart by default, and one may be under way."""

READY = b"ready\n"
"""What the sweeping process says before anything is probed."""

LEFT_SECONDS = 1800
"""After how long a probe is taken to be abandoned."""

SWEEPS = (0.0, 2.0, 8.0, 20.0)
"""Pauses before each sweep: what was on its way to slurmctld may arrive after the first."""

AWAY_SECONDS = 3600.0
"""For how long a sweep is tried of a Slurm that does not answer."""


def probe(
    transport: Transport,
    shapes: Sequence[Shape],
    options: Mapping[str, str | None],
    *,
    patience: float = PATIENCE_SECONDS,
    tell: Callable[[str], None] = lambda text: None,
) -> list[int | None]:
    """Return the start that Slurm plans for each shape, one after the other; None where it plans none.

    They are requested one at a time, since each stands in the way of those behind it.

    Raises
    ------
    GasError
        Slurm refuses a probe, or cannot be reached; none is left.
    """
    _cancel_left_ones(transport)
    name = f"{PREFIX}{uuid.uuid4().hex[:12]}"
    silent = {**options, "output": "/dev/null"}  # one that is started at once leaves no file behind either
    silent.pop("error", None)
    starts: list[int | None] = []
    with _swept(transport, name) as left:
        for number, shape in enumerate(shapes, 1):
            tell(f"probe {number} of {len(shapes)}: {shape.tasks or shape.nodes} for {shape.minutes} minutes")
            left.add(number)  # stays there if it is not known what has become of it
            try:
                id = transport.submit(Batch(name, SCRIPT, shape, silent, directory=ANYWHERE))
            except RefusedAs as refusal:
                transport.cancel(refusal.id)
                left.discard(number)
                raise
            except Unclear:
                raise
            except GasError:
                left.discard(number)
                raise
            try:
                starts.append(_planned(transport, id, shape, patience))
            finally:
                with contextlib.suppress(NotFound):
                    transport.cancel(id)
                left.discard(number)
    return starts


def _planned(transport: Transport, id: int, shape: Shape, patience: float) -> int | None:
    """Return when Slurm plans to start a job, once it has a plan.

    slurmctld compares whole seconds to see whether there is something new to plan, and overlooks a job that came in
    the second of its last cycle until something about it changes.
    """
    ends = time.monotonic() + patience
    nudge, pause = time.monotonic() + 2, 0.2
    while True:
        found = next((job for job in transport.jobs(ids=[id]) if job.id == id), None)
        if found is None or found.start is not None:
            return None if found is None else found.start
        if time.monotonic() + pause > ends:
            return None
        if time.monotonic() > nudge:
            with contextlib.suppress(GasError):
                transport.reshape(id, shape)
            nudge = time.monotonic() + patience / 3
        time.sleep(pause)
        pause = min(2.0, 1.3 * pause)


def _cancel_left_ones(transport: Transport) -> None:
    """Cancel the user's probes that are so old that the process that made them must have ended."""
    for job in transport.jobs(user=transport.user):
        old = job.submitted is not None and job.submitted < time.time() - LEFT_SECONDS
        if job.pending and job.name.startswith(PREFIX) and old:
            with contextlib.suppress(NotFound):
                transport.cancel(job.id)


@contextlib.contextmanager
def _swept(transport: Transport, name: str) -> Iterator[set[int]]:
    """See to it that no job of this name stays, whatever becomes of this process.

    Yields the set of those of which it is not certain that they are gone.
    """
    left: set[int] = set()
    sweeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "gas.endpoints.slurm.probing"],  # -P: no modules of the user's own folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert sweeper.stdin is not None
    assert sweeper.stdout is not None
    with contextlib.closing(sweeper.stdin) as line, contextlib.closing(sweeper.stdout) as answer:
        with contextlib.suppress(BrokenPipeError):
            line.write(pickle.dumps((transport, name)))
            line.flush()
        if answer.readline() != READY:
            with contextlib.suppress(BrokenPipeError):
                line.close()
            sweeper.wait()
            raise Missing("the process that cancels leftover probes cannot be started; nothing was probed")
        try:
            yield left
        finally:
            if left:
                _SWEEPING.append(sweeper)  # it goes on without us
            else:
                with contextlib.suppress(BrokenPipeError):
                    line.write(b"done")
                    line.close()
                sweeper.wait()


_SWEEPING: list[subprocess.Popen[bytes]] = []


def sweep(transport: Transport, name: str) -> int:
    """Cancel all of the user's jobs of a name that wait, and return how many there were."""
    left = [job for job in transport.jobs(user=transport.user) if job.name == name and job.pending]
    for job in left:
        with contextlib.suppress(NotFound):
            transport.cancel(job.id)
    return len(left)


def _wait_and_sweep() -> None:
    """Wait until the process that started this has ended, and cancel what is left of its probes, unless nothing is."""
    transport, name = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    if sys.stdin.buffer.read() == b"done":
        return
    deadline = time.monotonic() + AWAY_SECONDS
    for pause in SWEEPS:
        time.sleep(pause)
        while time.monotonic() < deadline:
            try:
                sweep(transport, name)
                break
            except GasError:
                time.sleep(5)


if __name__ == "__main__":
    _wait_and_sweep()
