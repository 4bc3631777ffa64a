"""Compares predicted starts with those of a real Slurm, in fast queues with priorities and limits.

`python tests/endpoints/slurm/runs.py record FOLDER --covering` lets private Slurms, one release after the other, run
queues to their end (`recorded_runs`). `python tests/endpoints/slurm/predicted.py compare FOLDER -o found.jsonl`
predicts their jobs, and resumes where it stopped; `... page found.jsonl -o measured_starts.md` makes the page.

Each job is predicted as for its user: by `Agent.watch` if it waits soon after the opening, by `Agent.submit` if it is
submitted later, with predictions from this Slurm's own accounting. Gas reads the state published at that time, with the
clock set to it (`replayed`). The prediction is the entry that Gas writes into its ledger of the machine; Gas also
records there which earlier predictions have come true.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from attainable import ByHabits, middle_of, observed
from queues import asked_of
from recorded_runs import CYCLE, Recorded
from replayed import Replayed
from sites import Asked

from gas.agent.agent import Agent
from gas.agent.options import Forecasting, PlanOptions
from gas.application import Application
from gas.endpoints.ledger_file import ledger_of
from gas.errors import GasError
from gas.prediction.ledger import INTERVAL, Made
from gas.prediction.slurm import WITHIN, Queue, compile_ahead
from gas.slurm.cluster import Job
from speedup_models import Table

KINDS = frozenset({"Priorities", "FairShares", "OthersLimited", "OwnLimits"})
NOT_SAID = frozenset({"array", "dependency", "begin"})
"""Gas submits no jobs with these options, so they are not predicted."""

SETTLED = 15
"""Seconds after the opening of a queue until its first jobs have started and schedulers run normally."""

FRESH = 1000
"""Queues with seeds from this one on were recorded for a check: predicted once, after the last change of the code."""

SAMPLES = 100

BY_HABITS = 60
"""Samples by the true distributions."""


@dataclass(frozen=True)
class Predicted:
    """A predicted job; times are in seconds since its prediction.

    Attributes
    ----------
    later
        Whether it was submitted at that time; otherwise it waited already.
    kind
        Kind of the prediction, as in the ledger.
    low, median, high
        Prediction of Gas, with an interval of 90%.
    said
        The first start that squeue --start reported; None if there was none.
    started
        Start in Slurm.
    load
        Mean load average of the machine.
    limited
        Whether its site has priorities or limits.
    old_shares
        Whether the published user shares were up to a minute old at its prediction.
    simulated
        The middle 90% of the simulation, before the ledger widens and mixes it.
    by_habits, with_running
        The middle 90% if the distributions of run times and arrivals were known (`attainable`), and if the run times of
        running jobs were known, too.
    likely
        Probability of the interval by these distributions.
    """

    version: str
    seed: str
    job: int
    later: bool
    cpus: int
    kind: str
    low: int
    median: int
    high: int
    said: int | None
    started: int
    load: float
    limited: bool = True
    old_shares: bool = False
    simulated: tuple[int, int] | None = None
    by_habits: tuple[int, int] | None = None
    with_running: tuple[int, int] | None = None
    likely: float | None = None

    @property
    def inside(self) -> bool:
        """Whether it started inside its interval."""
        return self.low <= self.started <= self.high

    @property
    def nearly(self) -> bool:
        """Whether it started inside its interval or within a cycle of it."""
        return self.low - CYCLE <= self.started <= self.high + CYCLE


class _Enough(Exception):
    """A prediction has been noted."""


def predicted_by_agents(found: Recorded, *, samples: int) -> Iterator[tuple[Job, bool, Made | str]]:
    """Yield each job, whether it is submitted at that time, and its prediction, or the reason if there is none."""
    slurm = Replayed(found)
    with tempfile.TemporaryDirectory() as state, patch.dict(os.environ, XDG_STATE_HOME=state):
        for job, view_at, later in _in_turn(found):
            slurm.now, slurm.user, slurm.submits = view_at, job.user, job.id if later else None
            with patch("time.time", lambda: float(slurm.now)), _by_cpu_time():
                try:
                    yield job, later, _predicted(slurm, _asked(found, job), job, later, samples)
                except GasError as error:
                    yield job, later, str(error)


@contextmanager
def _by_cpu_time() -> Iterator[None]:
    """Limit samples by CPU time: how many are made in time should not depend on the other users of the machine."""
    real = Queue.forecast

    def forecast(queue: Queue, *given: Any, clock: object = None, **options: Any) -> Any:
        return real(queue, *given, clock=time.process_time, **options)

    with patch.object(Queue, "forecast", forecast):
        yield


def _in_turn(found: Recorded) -> Iterator[tuple[Job, int, bool]]:
    """Yield the predictable jobs, with the time of prediction, and whether they are submitted at that time.

    Jobs that were there at the opening are predicted at the first reading after `SETTLED` seconds.
    """
    views = sorted(found.views.items(), key=lambda one: (one[1].now, one[0]))
    late = next((view for _, view in views if view.now >= found.cluster.now + SETTLED), None)
    come = {job.id: job for _, job in found.arrivals}
    for id, view in views:
        if view is late:
            there = {job.id for job in late.jobs if job.pending}
            yield from ((job, late.now, False) for job in found.cluster.jobs if job.id in there and _said(found, job))
        if _said(found, come[id]):
            yield come[id], view.now, True


def _said(found: Recorded, job: Job) -> bool:
    """Whether Gas can submit such a job; it cannot request tasks on a varying number of nodes."""
    options = _asked(found, job).options.keys()
    return not NOT_SAID & options and not {"ntasks", "nodes"} <= options


def _asked(found: Recorded, job: Job) -> Asked:
    """Return the request of a job."""
    words = [word.removeprefix("--") for word in found.words[job.id].split() if word.startswith("--")]
    pairs = (word.partition("=") for word in words)
    options = {name: value if equals else None for name, equals, value in pairs}
    return Asked(options, job.user, unit="tasks" if "ntasks" in options else "nodes")


def _predicted(slurm: Replayed, asked: Asked, job: Job, later: bool, samples: int) -> Made | str:
    """Let an agent submit or watch a job, and return the prediction that it recorded."""
    endpoint, size, seconds = asked_of(slurm, asked)
    remarks: list[str] = []
    application = Application(Table((size,), (float(seconds),)), safety=1.0)
    agent = Agent(application, [endpoint], remark=remarks.append)
    forecasting = Forecasting(samples=samples)
    if later:
        agent.submit(["true"], PlanOptions(forecasting=forecasting, choices=False))
        assert slurm.sent is not None
        shape = slurm.sent.shape
        assert (shape.tasks or shape.nodes, shape.minutes) == (size, seconds // 60), "it is the same job"
    else:

        def seen(event: object) -> None:
            raise _Enough

        with suppress(_Enough):
            agent.watch(job.id, seen, dry_run=True, forecasting=forecasting)
    made = ledger_of(endpoint.target, remarks.append).read().open.get(str(job.id))
    return made or f"no prediction: {'; '.join(remarks)}"


def judged(found: Recorded, *, samples: int = SAMPLES, by_habits: int = BY_HABITS) -> Iterator[Predicted | str]:
    """Yield each started job with its prediction and its start, or the reason if there is no prediction."""
    known = ByHabits(found)
    with observed() as asked:
        for job, later, made in predicted_by_agents(found, samples=samples):
            start, said = found.starts.get((job.id, None)), found.said.get(job.id)
            if start is None:
                continue
            if isinstance(made, str):
                yield f"{job.id}: {made}"
                continue
            one = Predicted(
                found.cluster.version, found.seed, job.id, later, job.cpus, made.kind, made.low,
                round(float(np.median(made.waits))), made.high, None if said is None else said[1] - made.now,
                max(start - made.now, 0), round(float(np.mean(found.load or [0.0])), 2),
                bool(KINDS.intersection(found.kinds)), found.old_shares,
            )  # fmt: skip
            if by_habits and known.possible and made.simulated.size:
                queue = asked[-1]
                true = known.waits(queue, by_habits)
                yield replace(
                    one, simulated=middle_of(made.simulated), by_habits=middle_of(true),
                    with_running=middle_of(known.waits(queue, by_habits, know_running=True)),
                    likely=float(np.mean((made.low <= true) & (true <= made.high))),
                )  # fmt: skip
            else:
                yield one


# -- commands


def _compared(path: Path, by_habits: int) -> tuple[list[Predicted], list[str], float]:
    found = Recorded(**vars(pickle.loads(path.read_bytes())))
    began = time.process_time()
    rows = list(judged(found, by_habits=by_habits))
    made = [one for one in rows if isinstance(one, Predicted)]
    return made, [one for one in rows if isinstance(one, str)], time.process_time() - began


def compare(asked: argparse.Namespace) -> None:
    """Predict all recorded queues that are not predicted yet."""
    compile_ahead()  # in plain Python, agents would make fewer samples
    output = Path(asked.output)
    known = {(one.version, one.seed) for one in _read(output)} if output.exists() else set()
    paths = [path for path in sorted(Path(asked.folder).glob("*.pickle")) if _queue_of(path) not in known]
    with output.open("a", buffering=1) as lines, ProcessPoolExecutor(asked.at_once, max_tasks_per_child=1) as pool:
        jobs = {pool.submit(_compared, path, asked.by_habits): path for path in paths}
        for job in as_completed(jobs):
            rows, problems, seconds = job.result()
            lines.writelines(json.dumps(asdict(one)) + "\n" for one in rows)
            inside = sum(one.inside for one in rows)
            print(f"{jobs[job].stem}: {inside} of {len(rows)} inside ({seconds:.0f} s)", *problems, sep="\n    ",
                  flush=True)  # fmt: skip


def _queue_of(path: Path) -> tuple[str, str]:
    found: Recorded = pickle.loads(path.read_bytes())
    return found.cluster.version, found.seed


def _read(path: Path) -> list[Predicted]:
    return [Predicted(**json.loads(line)) for line in path.read_text().splitlines()]


def of_similar(found: Sequence[Predicted], one: Predicted) -> tuple[float, float]:
    """Return the interval of the waits of jobs of similar size in the other queues."""
    same = [other for other in found if (other.version, other.seed) != (one.version, one.seed)]
    same = [other for other in same if other.later == one.later]
    near = sorted(same, key=lambda other: abs(np.log(other.cpus / one.cpus)))[: max(len(same) // 3, 20)]
    ends = [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2]
    low, high = np.quantile([other.started for other in near] or [one.started], ends)
    return float(low), float(high)


HEAD = """\
# Predicted starts against real Slurms

{jobs} starts in {queues} queues, {limited} of them in queues with priorities or limits. Private Slurms
({versions}) ran the queues to their end until {date}. Jobs request minutes; depending on the user,
they fail at once, reach their limits or use a share of them. Gas's agents predict each start in up to {samples}
samples, within 10 s of CPU time, from the published state and the accounting data of that time; the prediction is
compared with the real start. *Inside*: the start is inside the 90% interval. *Nearly*: inside it, or within one cycle
of the backfill scheduler ({cycle} s) of it. *Similar jobs*: the interval of the waits of jobs of similar size in the
other queues. Widths are medians. Errors are those of the predicted median, and of the first start that `squeue
--start` reported, if any. The mean load average during a queue was {least} to {most}, on a machine of 2 cores
with other users. `tests/endpoints/slurm/predicted.py` explains more, and makes this page.

"""


def page_of(found: Sequence[Predicted]) -> str:
    """Return the page."""
    head = HEAD.format(
        jobs=f"{len(found):,}", queues=len({(one.version, one.seed) for one in found}), cycle=CYCLE, samples=SAMPLES,
        limited=f"{sum(one.limited for one in found):,}",
        versions=", ".join(sorted({one.version for one in found})), date=time.strftime("%Y-%m-%d", time.gmtime()),
        least=min(one.load for one in found), most=max(one.load for one in found),
    )  # fmt: skip
    lines = [
        "| jobs | starts | inside | nearly | width, s | similar jobs: inside | width, s | median error, s "
        "| squeue --start: reported | median error, s | Gas for the same jobs, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: list[tuple[str, list[Predicted]]] = [
        (version, [one for one in found if one.version == version]) for version in sorted({o.version for o in found})
    ]
    groups += [
        ("with priorities or limits", [one for one in found if one.limited]),
        ("of these, with user shares up to a minute old", [one for one in found if one.old_shares]),
        ("without", [one for one in found if not one.limited]),
        ("waiting soon after the opening", [one for one in found if not one.later]),
        ("submitted later", [one for one in found if one.later]),
        *(
            (f"predicted: {name}", [one for one in found if one.kind == name])
            for name in sorted({o.kind for o in found})
        ),
        ("in queues predicted only once, after the last change", [one for one in found if int(one.seed) >= FRESH]),
        ("waits of a minute and more", [one for one in found if one.started >= 60]),
        ("all", list(found)),
    ]
    lines += [_line(name, own, found) for name, own in groups if own]
    return head + "\n".join([*lines, *_attainable(found)]) + "\n"


ATTAINABLE = """
## What is attainable

The distributions of run times and arrivals in these queues are known (`attainable.py`), so the same engine also
simulates the queues with draws from them: given the user, the limit and the time that a job has run for. No prediction
can be narrower and hold as often. {jobs} of the starts are compared, in {queues} queues without arrays.
*Engine*: the probability of Gas's intervals by these distributions; it would be 90% if intervals were exact, and it is
more where many draws agree on an instant. *Ratios*: the widths, divided by those of similar jobs: median. *Score*: the
mean of the width, plus 20 times the seconds by which a start is outside (interval score; lower is better). The widths
of similar jobs, and so the ratios, depend on which queues are compared.
"""


def _attainable(found: Sequence[Predicted]) -> list[str]:
    """Return the section on the widths that the true distributions allow."""
    own = [one for one in found if one.by_habits is not None]
    if not own:
        return []
    similar = [of_similar(found, one) for one in own]
    seconds = WITHIN

    def also(ends: tuple[float, float]) -> tuple[float, float]:
        return max(ends[0] - seconds, 0), ends[1] + seconds

    ways: list[tuple[str, list[tuple[float, float]]]] = [
        ("similar jobs", similar),
        ("Gas", [(one.low, one.high) for one in own]),
        ("Gas's simulation alone", [one.simulated or (0, 0) for one in own]),
        ("true distributions", [one.by_habits or (0, 0) for one in own]),
        (f"true distributions ± {seconds} s, as in Gas", [also(one.by_habits or (0, 0)) for one in own]),
        ("true distributions, and the run times of running jobs", [one.with_running or (0, 0) for one in own]),
    ]
    queues = len({(one.version, one.seed) for one in own})
    lines = ATTAINABLE.format(jobs=f"{len(own):,}", queues=queues).splitlines()
    lines += ["", "| intervals | median width, s | mean | ratio of medians | ratios | waits below 10 s: median width "
              "| 10 to 60 s | a minute and more | inside | engine | score |"]  # fmt: skip
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    started = np.array([one.started for one in own])
    usual = np.array([high - low for low, high in similar])
    for name, ends in ways:
        low, high = np.array(ends, np.float64).T
        width, outside = high - low, np.maximum(low - started, 0) + np.maximum(started - high, 0)
        of_class = [
            f"{np.median(width[of]):.0f}" if of.any() else "-"
            for of in (started < 10, (started >= 10) & (started < 60), started >= 60)
        ]
        likely = f"{np.mean([one.likely or 0 for one in own]):.0%}" if name == "Gas" else "-"
        cells = [
            name, f"{np.median(width):.0f}", f"{width.mean():.0f}",
            f"{np.median(width) / max(np.median(usual), 1):.2f}",
            f"{np.median(width / np.maximum(usual, 1)):.2f}", *of_class, f"{np.mean(outside == 0):.0%}", likely,
            f"{np.mean(width + 2 / (1 - INTERVAL) * outside):.0f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _line(name: str, own: Sequence[Predicted], found: Sequence[Predicted]) -> str:
    similar = [of_similar(found, one) for one in own]
    covered = sum(low <= one.started <= high for one, (low, high) in zip(own, similar, strict=True))
    said = [one for one in own if one.said is not None]
    cells = [
        name, str(len(own)), f"{sum(one.inside for one in own) / len(own):.0%}",
        f"{sum(one.nearly for one in own) / len(own):.0%}", f"{np.median([one.high - one.low for one in own]):.0f}",
        f"{covered / len(own):.0%}", f"{np.median([high - low for low, high in similar]):.0f}",
        _median([one.median - one.started for one in own]), str(len(said)),
        _median([(one.said or 0) - one.started for one in said]), _median([one.median - one.started for one in said]),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _median(errors: Sequence[int]) -> str:
    return f"{np.median(np.abs(errors)):.0f}" if errors else "-"


def main() -> None:
    """Compare, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    two = commands.add_parser("compare", help="predict the starts")
    two.add_argument("folder")
    two.add_argument("-o", "--output", required=True)
    two.add_argument("--at-once", type=int, default=2)
    two.add_argument("--by-habits", type=int, default=BY_HABITS, help="samples by the true distributions; 0: none")
    two.set_defaults(run=compare)
    three = commands.add_parser("page", help="write the page")
    three.add_argument("found")
    three.add_argument("-o", "--output", required=True)
    three.set_defaults(run=lambda asked: Path(asked.output).write_text(page_of(_read(Path(asked.found)))))
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
