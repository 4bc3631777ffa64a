"""The ledgers of schedulers on a login node: what was predicted for jobs sent to them, and what came of it.

A scheduler whose ledger knows little teaches it from its own past: its last jobs are predicted afterwards, each from
what was known at its submission, for a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gas.agent.choice import Planned, predicted
from gas.agent.states import ENDED
from gas.endpoints import Endpoint, JobEndpoint, QueueEndpoint
from gas.endpoints.ledger_file import ledger_of
from gas.errors import GasError, NotFound
from gas.prediction.ledger import LEAST, Ledger, Made
from gas.prediction.snapshot import Snapshot
from workloads import Log

__all__ = ["brought_up_to_date", "note_standing", "note_start", "note_submission"]

REHEARSAL_SECONDS = 5.0
"""For so long past jobs are predicted afterwards at most."""

FIRST_SECONDS = 0.5
"""So much later than evenly over that time they may be, as the first may be slow."""

REHEARSAL_SAMPLES = 100
"""How often the queue is simulated for each of them."""

ASKING_SECONDS = 2.0
"""For so long a scheduler is asked at most what has become of jobs."""


def brought_up_to_date(
    endpoint: Endpoint,
    log: Log | None,
    snapshot: Snapshot,
    remark: Callable[[str], object],
) -> Ledger:
    """Return the ledger of a scheduler, with what has become known since it was written.

    Past jobs are predicted where the queue is known at each instant of the past as it is now. Of a scheduler with
    priorities it is not: how well a simulation of counts held says nothing of one of its own scheduling. With such
    outcomes 83% of 276 starts on real Slurms were in intervals of 90%, without them 88%, in narrower ones.

    Parameters
    ----------
    log
        The scheduler's own past; None if that is not known, or not wholly.
    """
    from gas.prediction.backtest import rehearsed  # with the simulator, which a start needs none of
    from gas.prediction.recorded import RecordedQueue

    file = ledger_of(endpoint.target, remark)
    ledger = file.read()
    known = _starts(endpoint, ledger) if isinstance(endpoint, JobEndpoint) and ledger.open else {}
    learnt = []
    if log is not None and isinstance(endpoint, QueueEndpoint):
        recorded = RecordedQueue(log, snapshot.machine, still=snapshot)
        begun = time.monotonic()

        def in_time(share: float) -> bool:
            return time.monotonic() - begun <= share * REHEARSAL_SECONDS + FIRST_SECONDS

        learnt = rehearsed(recorded, ledger, in_time, samples=REHEARSAL_SAMPLES, policy=endpoint.policy)
    if not known and len(learnt) < LEAST and ledger.outcomes:
        return ledger
    with file.changing() as ledger:
        _settle(ledger, known)
        since = max((one.start for one in ledger.outcomes if one.afterwards), default=None)
        ledger.add(one for one in learnt if since is None or one.start > since)
    return ledger


def note_submission(planned: Planned, job: dict[str, Any], remark: Callable[[str], object]) -> None:
    """Write down what was predicted for the request that was submitted, if it was."""
    likely = predicted(planned.plan)
    found = None if likely is None else likely.predictions.get(planned.best)
    if found is not None and found.made is not None and job["processors"] == planned.best.processors:
        with ledger_of(planned.endpoint.target, remark).changing() as ledger:
            ledger.predicted(str(job["id"]), found.made)


def note_standing(endpoint: Endpoint, id: int, made: Made, remark: Callable[[str], object], *, anew: bool) -> None:
    """Write down what is predicted of a job that waits; `anew` if it has got another shape: what was before is void."""
    with ledger_of(endpoint.target, remark).changing() as ledger:
        if anew:
            ledger.withdrawn(str(id))
        ledger.predicted(str(id), made)


def note_change(endpoint: Endpoint, id: int) -> None:
    """Forget what was predicted of a job that has got another shape."""
    file = ledger_of(endpoint.target, lambda problem: None)
    if str(id) in file.read().open:
        with file.changing() as ledger:
            ledger.withdrawn(str(id))


def note_start(endpoint: Endpoint, job: dict[str, Any], remark: Callable[[str], object]) -> str:
    """Write down the start of a job that was predicted; return in words how well that held, nothing if it was not."""
    file, who = ledger_of(endpoint.target, remark), str(job["id"])
    made = file.read().open.get(who)
    if made is None or job["start"] is None:
        return ""
    with file.changing() as ledger:
        _settle(ledger, {who: job["start"]})
    held = made.low <= job["start"] - made.now <= made.high
    return f"its start was {'' if held else 'not '}in the predicted interval; {ledger.coverage()}"


def _starts(endpoint: JobEndpoint, ledger: Ledger) -> dict[str, int | None]:
    """Ask when the jobs of predictions without an outcome started; None of one that never will, as far as is known."""
    found: dict[str, int | None] = {}
    end = time.monotonic() + ASKING_SECONDS
    for who in ledger.open:
        if time.monotonic() > end:
            break
        try:
            job = endpoint.job(int(who))
        except NotFound:
            found[who] = None
        except GasError:  # its site is in trouble: another time
            break
        else:
            if job["state"] == "running" or job["state"] in ENDED:
                never = job["state"] == "cancelled" and job["start"] == job["finished"]  # Slurm gives it such a start
                found[who] = None if never else job["start"]
    return found


def _settle(ledger: Ledger, known: dict[str, int | None]) -> None:
    for who, start in known.items():
        if start is None:
            ledger.withdrawn(who)
        else:
            ledger.started(who, start)
    ledger.learn(1 + max((start for start in known.values() if start is not None), default=0))
