"""Audits: whether a schedule keeps the rules of every machine, and the promises of its policy.

The schedule may come from any simulator, or from a machine's own log (`gas.simulation.recorded`). If the simulated log
is given, the schedule is also checked against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.checks import Check, Expected, Rules, Violation
from gas.simulation.metrics import Metrics, metrics, span
from gas.simulation.recorded import LONGEST, UNKNOWN, Recorded, as_schedule, shortened
from workloads import Log, Overrun, RigidJobs, apply_overrun, machine_size, rigid_jobs, scale_to_load

__all__ = ["PROMISES", "PROMISE_OF", "Audit", "Check", "Claim", "Promise", "Violation", "audit"]

Promise = Literal["none", "fcfs", "easy", "conservative"]
"""Claims of a schedule: nothing; starts in submission order; no delay of the queue's head; recorded promises kept."""

PROMISES: tuple[Promise, ...] = get_args(Promise)

Claim = Literal["none", "fcfs", "easy", "conservative", "conservative-static", "conservative-replan", "s3", "s3-1999"]
"""A promise, or a policy, which stands for its promise."""

PROMISE_OF: Mapping[Claim, Promise | None] = {
    **{promise: promise for promise in PROMISES},
    "conservative-static": "conservative",
    "conservative-replan": None,
    "s3": "conservative",
    "s3-1999": "conservative",
}
"""The promise of each policy; None for a policy whose plan may slip."""

_LARGEST_MACHINE = 2**31 - 1


@dataclass(frozen=True)
class Audit:
    """All checks of a schedule; ``gas.audit/1``."""

    name: str
    jobs: int
    processors: int
    promise: Promise
    overrun: Overrun | None
    """The overrun rule by which run times agree with the log; None without a log."""
    checks: tuple[Check, ...]
    remarks: tuple[str, ...] = ()
    epoch: int | None = None
    figures: Metrics | None = None
    """Figures of the jobs that started, correct or not (`gas.simulation.recorded.as_schedule`); None without jobs."""
    makespan: int | None = None
    """Seconds from the first submission to the last end of these jobs."""

    @property
    def ok(self) -> bool:
        """Whether all rules are known to hold."""
        return all(check.ok for check in self.checks)

    @property
    def violations(self) -> int:
        """Total number of violations."""
        return sum(check.violations or 0 for check in self.checks)

    def to_wire(self) -> dict[str, Any]:
        """Return the document ``gas.audit/1``."""
        return {
            "schema": "gas.audit/1",
            "schedule": self.name,
            "ok": self.ok,
            "jobs": self.jobs,
            "processors": self.processors,
            "promise": self.promise,
            "overrun": self.overrun,
            "checks": [
                {
                    "check": check.check,
                    "rule": check.rule,
                    "checked": check.checked,
                    "violations": check.violations,
                    "first": check.first.to_wire(self.epoch) if check.first else None,
                    "remark": check.remark or None,
                }
                for check in self.checks
            ],
            "metrics": None if self.figures is None else {"makespan": self.makespan, **vars(self.figures)},
            "remarks": list(self.remarks),
        }


def audit(
    given: Recorded,
    *,
    processors: int | None = None,
    promise: Claim = "none",
    log: Log | None = None,
    load: float | None = None,
    overrun: Overrun | None = None,
) -> Audit:
    """Check a schedule.

    Parameters
    ----------
    processors
        Processors of the machine; by default those in the file, otherwise those in the header of the log.
    promise
        The promise of the policy beyond the common rules, or the policy itself. Recorded promises are checked
        in any case.
    log
        The simulated log. It defines the jobs, their run times and estimates.
    load
        The load to which the log was scaled (`workloads.scale_to_load`).
    overrun
        The rule for jobs that exceed their estimate; by default the rule that agrees with more run times.

    Raises
    ------
    BadInput
        No job has a start, and no log is given; the size of the machine or of the jobs is unknown or too large to
        check; or the policy promises nothing that could be checked.
    """
    claim = _promise(promise)
    if log is None and not (given.started | given.withdrawn).any():
        what = f"none of its {len(given):,} jobs has a start" if len(given) else "has no job"
        way_out = f"; gas simulate {given.name} -o FILE.csv gives a schedule" if len(given) else ""
        raise BadInput(f"{given.name}: {what}, so there is nothing to check{way_out}")
    machine = _machine(given, processors, log)
    expected: Expected | None = None
    rule: Overrun | None = None
    if log is not None:
        rule, expected = _expected(given, log, machine, load, overrun)
        given = _completed(given, expected)
    if log is None and given.started.any() and (given.processors[given.started] == UNKNOWN).all():
        raise BadInput(f"{given.name}: has no numbers of processors; give the simulated log (--log LOG)")
    of_machine = ""
    if processors is None and given.machine is None:
        of_machine = (
            f"the size of the machine, {machine}, is that of the log; if another size was simulated, add --processors"
        )
    rules = Rules(given, machine, expected, of_machine)
    checks = [rules.complete()]
    if expected is not None:
        checks.append(rules.as_logged())
    checks += [rules.submitted(), rules.run_times(rule), rules.sizes(), rules.capacity()]
    if given.allocated is not None:
        checks.append(rules.apart())
    if claim == "fcfs":
        checks.append(rules.in_order())
    if claim == "easy":
        checks.append(rules.heads())
    if claim == "conservative" or given.promise is not None:
        checks.append(rules.promises())
    if promise in ("s3", "s3-1999") and given.priority is not None:
        checks.append(rules.overtaken())
    jobs_of_file = int(np.count_nonzero(~given.reserved))
    epoch = given.epoch if log is None else log.start_time
    name, remarks, schedule = given.name, given.remarks, as_schedule(given, machine)
    # Figures need as many columns again; free everything that is no longer used.
    del given, log, expected, rules
    first, last = (0, 0) if schedule is None else span(schedule)
    return Audit(
        name=name,
        jobs=jobs_of_file,
        processors=machine,
        promise=claim,
        overrun=rule,
        checks=tuple(checks),
        remarks=remarks,
        epoch=epoch,
        figures=None if schedule is None else metrics(schedule),
        makespan=None if schedule is None else last - first,
    )


def _promise(claim: Claim) -> Promise:
    if claim not in PROMISE_OF:
        raise BadInput(f'promise "{shortened(claim)}" is not known; known: {", ".join(PROMISE_OF)}')
    promise = PROMISE_OF[claim]
    if promise is None:
        raise BadInput(
            f"policy {claim} promises no start: it replans everything after an early end, and starts can slip; "
            "--promise none checks the rules of every schedule"
        )
    return promise


def _machine(given: Recorded, processors: int | None, log: Log | None) -> int:
    if processors is None:
        processors = given.machine
    if processors is None and log is None:
        raise BadInput(f"{given.name}: has no size of the machine; add --processors N")
    if processors is not None and processors < 1:
        raise BadInput(f"processors {processors}: a machine has at least 1")
    machine = machine_size(log, processors) if log is not None else int(processors or 0)
    if machine > _LARGEST_MACHINE:
        raise BadInput(
            f"{given.name}: a machine of {shortened(str(machine))} processors is beyond {_LARGEST_MACHINE}; give its "
            "size (--processors N)"
        )
    return machine


def _expected(
    given: Recorded, log: Log, machine: int, load: float | None, overrun: Overrun | None
) -> tuple[Overrun, Expected]:
    """Return the overrun rule, and the expectations from the log under it."""
    jobs = _expected_jobs(log, machine, load)
    place = _places(given, jobs)
    _refuse_too_long(given, jobs, log)
    rule = overrun or _overrun_of(given, jobs, place)
    return rule, Expected(log, apply_overrun(jobs, rule), place, jobs.estimate, given.estimate)


def _expected_jobs(log: Log, machine: int, load: float | None) -> RigidJobs:
    jobs = rigid_jobs(log, machine)
    if load is None:
        return jobs
    try:
        return scale_to_load(jobs, load)
    except ValueError as error:
        raise BadInput(f"{log.name}: cannot be scaled: {error}") from None


def _refuse_too_long(given: Recorded, jobs: RigidJobs, log: Log) -> None:
    """Raise for times of a log that do not fit in the units of a schedule with fractions of seconds."""
    limit = LONGEST // given.resolution
    longest = np.maximum(jobs.estimate, jobs.run_time)
    if given.resolution == 1 or not len(jobs) or longest.max() < limit:
        return
    at = int(longest.argmax())
    raise BadInput(
        f"{log.name}, job {jobs.id[at]}: {longest[at]} s is beyond {limit} s, the limit for an audit "
        f"with a schedule that has fractions of seconds ({given.name}); give a schedule in whole seconds"
    )


def _places(given: Recorded, jobs: RigidJobs) -> NDArray[np.int64]:
    """Return the job of each row: by number, and where a log uses a number twice, by occurrence."""
    if given.label is not None:
        raise BadInput(
            f'{given.name}: job "{shortened(given.label[0])}" cannot be found in a log, whose jobs have integer '
            "numbers; audit the file without --log, or use the log's job numbers"
        )
    by_number = np.argsort(jobs.id, kind="stable")
    numbers = jobs.id[by_number]
    rows = np.argsort(given.submit, kind="stable")
    rows = rows[~given.reserved[rows]]
    wanted = given.id[rows]
    at = np.searchsorted(numbers, wanted) + _occurrences(wanted)
    known = at < len(numbers)
    known[known] = numbers[at[known]] == wanted[known]
    place = np.full(len(given), -1, np.int64)
    place[rows[known]] = by_number[at[known]]
    return place


def _occurrences(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of earlier equal numbers for each."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    found = np.empty_like(order)
    found[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return found


def _overrun_of(given: Recorded, jobs: RigidJobs, place: NDArray[np.int64]) -> Overrun:
    """Return the rule that agrees with more run times; `kill` if both agree equally."""
    rows = given.started & (place >= 0)
    ran = (given.end - given.start)[rows] // given.resolution
    wrong_if_killed, wrong_if_extended = (
        np.count_nonzero(ran != apply_overrun(jobs, rule).run_time[place[rows]]) for rule in get_args(Overrun)
    )
    return "extend" if wrong_if_extended < wrong_if_killed else "kill"


def _completed(given: Recorded, expected: Expected) -> Recorded:
    """Return the schedule with missing data from the log; the estimates are always those of the log."""
    jobs, place = expected.jobs, expected.place
    known = place >= 0
    at = np.where(known, place, 0)
    if len(jobs) == 0:
        return given
    return replace(
        given,
        processors=np.where(known & (given.processors == UNKNOWN), jobs.processors[at], given.processors),
        estimate=np.where(known, jobs.estimate[at] * given.resolution, given.estimate),
    )
