"""The rules that a schedule can break; each is checked everywhere it applies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gas.simulation.allocation import clashes
from gas.simulation.guarantee import delayed_heads, overtakings, view_of
from gas.simulation.recorded import UNKNOWN, Recorded, shortened
from gas.simulation.schedule import NEVER_STARTED
from workloads import Log, Overrun, RigidJobs

__all__ = ["Check", "Expected", "Rules", "Violation"]

Place: TypeAlias = tuple[float | None, float | None, str]
"""An instant in seconds, the amount by which a rule is violated there, and both in words."""


class Violation(NamedTuple):
    """The first violation of a rule."""

    job: str | None
    """The name of the job in the file."""
    time: float | None
    """The instant, in seconds of the file."""
    by: float | None
    """The amount of the violation: seconds, or processors."""
    message: str

    def to_wire(self, epoch: int | None) -> dict[str, Any]:
        """Return it as JSON, with the date of the instant if the date of second 0 is known."""
        document: dict[str, Any] = {"job": self.job, "time": self.time}
        if epoch is not None and self.time is not None:
            try:
                document["time_iso"] = datetime.fromtimestamp(epoch + int(self.time), UTC).isoformat()
            except (OverflowError, ValueError, OSError):
                document["time_iso"] = None  # outside of the calendar
        return {**document, "by": self.by, "message": self.message}


class Check(NamedTuple):
    """One rule, checked everywhere it applies."""

    check: str
    """Its name in one word."""
    rule: str
    checked: int
    """Number of checked places."""
    violations: int | None
    """Number of violations among them; None if the available data do not allow a check."""
    first: Violation | None = None
    remark: str = ""
    """Remarks; if it cannot be checked, the reason and the way out."""

    @property
    def ok(self) -> bool:
        """Whether the rule is known to hold."""
        return self.violations == 0


class Expected(NamedTuple):
    """The data of the log for the schedule."""

    log: Log
    jobs: RigidJobs
    """Under the overrun rule."""
    place: NDArray[np.int64]
    """The job of each row of the schedule, -1 for none."""
    requested: NDArray[np.int64]
    """The estimates before the overrun rule, in seconds."""
    stated: NDArray[np.int64]
    """The estimates that the schedule itself states, in its units."""


class Rules:
    """A schedule in the order of its queue, and the checks one by one."""

    def __init__(self, given: Recorded, machine: int, expected: Expected | None, of_machine: str = "") -> None:
        self.given, self.machine, self.expected = given, machine, expected
        self.of_machine = of_machine  # source of the machine's size, for the error of too many used processors
        ties = np.arange(len(given)) if expected is None else expected.place
        self.order = np.lexsort((ties, given.submit))  # rows by submission, the order of the queue
        self.started = given.started
        self.slack = 0 if given.resolution == 1 else 2  # sums of rounded numbers

    def complete(self) -> Check:
        """Every job is in the schedule once, and either started or was cancelled."""
        given, expected = self.given, self.expected
        of_jobs = ~given.reserved
        name = "jobs", "every job occurs once, with a start"
        lost = self._first(given.lost, lambda row: (None, None, f"job {self._job(row)} has no start"))
        withdrawn = int(np.count_nonzero(given.withdrawn & ~self.started))
        remark = f"{withdrawn} cancelled before they started" if withdrawn else ""
        if expected is None:
            names = given.id
            if given.label is not None:  # an array of texts would be as wide as the longest
                rows_of: dict[str, int] = {}
                names = np.array([rows_of.setdefault(label, row) for row, label in enumerate(given.label)], np.int64)
            order = np.argsort(names, kind="stable")
            again = np.zeros(len(given), np.bool_)
            again[order[1:]] = names[order[1:]] == names[order[:-1]]
            again &= of_jobs
            twice = self._first(again, lambda row: (None, None, f"job {self._job(row)} occurs more than once"))
            return self._check(name, int(np.count_nonzero(of_jobs)), [lost, twice], remark)
        jobs, log = expected.jobs, expected.log
        missing = np.ones(len(jobs), np.bool_)
        missing[expected.place[expected.place >= 0]] = False
        absent = None
        if missing.any():
            which = str(jobs.id[missing][0])
            absent = Violation(which, None, None, f"job {which} is missing")
        again = of_jobs & (expected.place < 0) & np.isin(given.id, jobs.id)
        # Jobs of the log that cannot be simulated may be present; if one starts, the other checks detect it.
        strange = of_jobs & (expected.place < 0) & ~np.isin(given.id, log.job)
        if missing.any() or strange.any():
            hint = (
                "if a part of the log or another machine size was simulated, repeat those options (--month, --from, "
                "--until, --first, --processors)"
            )
            remark = f"{remark}; {hint}" if remark else hint
        return self._check(
            name,
            len(jobs),
            [
                (int(np.count_nonzero(missing)), absent),
                lost,
                self._first(again, lambda row: (None, None, f"job {self._job(row)} occurs more than once")),
                self._first(strange, lambda row: (None, None, f"job {self._job(row)} is not in {log.name}")),
            ],
            remark,
        )

    def as_logged(self) -> Check:
        """Submissions, sizes and estimates of jobs agree with the log.

        An estimate equal to the run time counts as not stated: SWF without field 9 is read like that. Under `extend`
        both the estimate of the log and the raised one are correct.
        """
        assert self.expected is not None
        given, jobs, place = self.given, self.expected.jobs, self.expected.place
        unit, stated = given.resolution, self.expected.stated
        rows = np.flatnonzero(place >= 0)
        at = place[rows]
        submit, size, estimate = (np.zeros(len(given), np.int64) for _ in range(3))
        submit[rows] = given.submit[rows] // unit - jobs.submit[at]
        size[rows] = given.processors[rows] - jobs.processors[at]
        ran = np.where(self.started, given.end - given.start, 0)
        own = np.flatnonzero((stated != UNKNOWN) & (stated != np.maximum(ran // unit, 1) * unit) & (place >= 0))
        off = stated[own] // unit - self.expected.requested[place[own]]
        estimate[own] = np.where(stated[own] // unit == jobs.estimate[place[own]], 0, off)
        shift = int(submit[rows[0]]) if rows.size else 0
        remark = ""
        if rows.size > 1 and shift != 0 and bool((submit[rows] == shift).all()):
            remark = f"all submissions are shifted by {shift} s: the schedule counts from another second 0"
        elif submit.any():
            remark = "if the load was scaled, repeat that option (--scale-load)"

        def where(row: int) -> Place:
            if submit[row]:
                theirs = jobs.submit[place[row]]
                when = self._seconds(given.submit[row])
                return when, int(submit[row]), f"job {self._job(row)} is submitted at {when}, in the log at {theirs}"
            if size[row]:
                ours, theirs = given.processors[row], jobs.processors[place[row]]
                return None, int(size[row]), f"job {self._job(row)} has {ours} processors, in the log {theirs}"
            said, theirs = self._seconds(stated[row]), self.expected.requested[place[row]]  # type: ignore[union-attr]
            message = f"job {self._job(row)} has an estimate of {said} s, in the log {theirs} s"
            return None, int(estimate[row]), message

        wrong = self._first((submit != 0) | (size != 0) | (estimate != 0), where)
        name = "log", "submissions, sizes and estimates are the log's"
        return self._check(name, len(rows), [wrong], remark)

    def submitted(self) -> Check:
        """No job starts before its submission."""
        given = self.given
        early = np.where(self.started, given.submit - given.start, 0)

        def where(row: int) -> Place:
            start, by = self._seconds(given.start[row]), self._seconds(early[row])
            return start, by, f"job {self._job(row)} starts at {start}, {by} s before its submission"

        count = int(np.count_nonzero(self.started))
        return self._check(("submission", "no start before the submission"), count, [self._first(early > 0, where)])

    def run_times(self, rule: Overrun | None) -> Check:
        """A job ends after its run time: that of the log under an overrun rule, otherwise the stated one."""
        given, expected = self.given, self.expected
        ran = given.end - given.start
        rows = self.started.copy()
        if expected is None:
            should = np.where(given.run_time == UNKNOWN, np.maximum(ran, 0), given.run_time)
            wrong = rows & (np.abs(ran - should) > self.slack)
            remark = (
                ""
                if bool((given.run_time[rows] != UNKNOWN).all())
                else "without the log (--log), only start ≤ end can be checked"
            )
            name, source = ("end", "end = start + run time"), "its run time is"
        else:
            rows &= expected.place >= 0
            at = np.where(rows, expected.place, 0)
            unit = given.resolution
            should = np.where(rows, expected.jobs.run_time[at] * unit, 0) if len(expected.jobs) else np.zeros_like(ran)
            status = np.where(rows, expected.log.status[expected.jobs.row[at]], 0) if len(expected.jobs) else should
            cut = given.withdrawn & (status != 5) & (ran < should)  # in the schedule only: cancelled while it ran
            wrong = rows & ~cut & (np.abs(ran - should) >= unit)
            name, source = ("end", "end = start + run time of the log"), "in the log it runs"
            short = int(np.count_nonzero(cut & rows))
            taken = "taken as killed" if rule == "kill" else "taken to run on, with a longer estimate"
            remark = f"jobs that exceed their estimate are {taken} (--overrun {rule})"
            remark += f"; {short} cancelled while they ran" if short else ""

        def where(row: int) -> Place:
            start, took = self._seconds(given.start[row]), self._seconds(ran[row])
            message = f"job {self._job(row)} starts at {start} and ends {took} s later, {source} {{}} s"
            if expected is None and given.run_time[row] == UNKNOWN:
                return start, took, f"job {self._job(row)} starts at {start} and ends {-took} s before that"
            return start, self._seconds(ran[row] - should[row]), message.format(self._seconds(should[row]))

        return self._check(name, int(np.count_nonzero(rows)), [self._first(wrong, where)], remark)

    def sizes(self) -> Check:
        """A job fits the machine."""
        given = self.given
        rows = self.started & (given.processors != UNKNOWN)
        over = given.processors - self.machine

        def where(row: int) -> Place:
            start = self._seconds(given.start[row])
            message = f"job {self._job(row)} starts at {start} on {given.processors[row]} of {self.machine} processors"
            return start, int(over[row]), message

        wrong = self._first(rows & (over > 0), where)
        name = "size", "no job is larger than the machine"
        return self._check(name, int(np.count_nonzero(rows)), [wrong], self.of_machine if wrong[0] else "")

    def capacity(self) -> Check:
        """The machine is never oversubscribed; all changes are checked, and oversubscribed spans are counted."""
        given = self.given
        rows = np.flatnonzero(self.started & (given.processors != UNKNOWN) & (given.end > given.start))
        times = np.concatenate([given.start[rows], given.end[rows]])
        sizes = given.processors[rows]
        if rows.size and int(sizes.max()) * rows.size >= 2**62:
            sizes = sizes.astype(object)  # the sum may exceed int64
        change = np.concatenate([sizes, -sizes])
        order = np.argsort(times, kind="stable")
        times, used = times[order], np.cumsum(change[order])
        last = np.append(times[1:] != times[:-1], True)[: len(times)]  # the last change of each instant
        instants, used = times[last], used[last]
        del times, change, order
        over = np.asarray(used > self.machine, np.bool_)
        begins = over & ~np.concatenate([[False], over[:-1]])
        first = None
        if begins.any():
            at = int(np.flatnonzero(begins)[0])
            until = int(np.flatnonzero(~over[at:])[0]) + at
            started = rows[given.start[rows] == instants[at]]
            job = given.name_of(int(started[-1]))
            time, end = self._seconds(instants[at]), self._seconds(instants[until])
            worst = int(used[at:until].max())
            who = self._who(int(started[-1]))
            first = Violation(
                job,
                time,
                worst - self.machine,
                f"from {time}, when {who} starts, to {end} up to {worst} of {self.machine} processors are in use",
            )
        left_out = int(np.count_nonzero(self.started & (given.processors == UNKNOWN)))
        remarks = [f"left out, as of unknown size: {left_out}"] if left_out else []
        held = int(np.count_nonzero(given.reserved))
        remarks += [f"{held} reservation{'s' * (held > 1)} counted"] if held else []
        remarks += [self.of_machine] if first and self.of_machine else []
        remark = "; ".join(remarks)
        found = (int(np.count_nonzero(begins)), first)
        return self._check(("capacity", "never more processors in use than there are"), len(instants), [found], remark)

    def apart(self) -> Check:
        """No processor has two jobs at once, if the schedule states the processors of jobs."""
        given = self.given
        assert given.allocated is not None
        rows = self.order[self.started[self.order]]
        rows = rows[np.argsort(given.start[rows], kind="stable")]
        found = clashes(given.allocated, *(view_of(column) for column in (rows, given.start, given.end)))
        first = None
        if found:
            row, other, processor = found[0]
            at, until = self._seconds(given.start[row]), self._seconds(given.end[other])
            message = (
                f"{self._who(row)} starts at {at} on processor {processor}, which {self._who(other)} has until {until}"
            )
            first = Violation(given.name_of(row), at, 1, message)
        known = int(np.count_nonzero(np.diff(given.allocated.offsets)[rows]))
        return self._check(("resources", "no processor runs two jobs at once"), known, [(len(found), first)])

    def in_order(self) -> Check:
        """Starts are in submission order; jobs that overtake are counted."""
        given = self.given
        rows = self.order[(self.started & ~given.reserved)[self.order]]
        start = given.start[rows]
        latest = np.maximum.accumulate(start) if start.size else start
        ahead = np.flatnonzero(start < latest)
        first = None
        if ahead.size:
            row = int(rows[ahead[0]])
            overtaken = int(rows[np.flatnonzero(start[: ahead[0]] == latest[ahead[0]])[0]])
            time, by = self._seconds(given.start[row]), self._seconds(latest[ahead[0]] - start[ahead[0]])
            theirs = self._seconds(given.start[overtaken])
            message = (
                f"job {self._job(row)} starts at {time}, {by} s before job {self._job(overtaken)} (at {theirs}), "
                "which was submitted first"
            )
            first = Violation(given.name_of(row), time, by, message)
        return self._check(("fcfs", "starts in the order of submission"), len(rows), [(len(ahead), first)])

    def heads(self) -> Check:
        """EASY keeps its promise to the head of the queue (`gas.simulation.guarantee`); blocked heads are counted."""
        given = self.given
        name = "easy", "no queue head starts after its shadow time"
        held = int(np.count_nonzero(given.reserved))
        if held:
            remark = (
                f"cannot be checked: {held} reservation{'s' * (held > 1)} held processors; what EASY may start then "
                "depends on when each was requested and on the order of events within that second; --promise none "
                "checks the rules of every schedule, with reservations"
            )
            return Check(*name, 0, None, None, remark)
        rows = self.order[(~given.lost & (given.processors != UNKNOWN))[self.order]]
        blind = int(np.count_nonzero(given.estimate[rows] == UNKNOWN))
        if blind:
            remark = (
                f"cannot be checked: the estimates of {blind} jobs are not known; give the simulated log (--log), "
                "or give a schedule that has them (SWF, or CSV with requested_time)"
            )
            return Check(*name, 0, None, None, remark)
        blocked, heads = delayed_heads(
            given.submit[rows],
            given.processors[rows],
            given.estimate[rows],
            given.start[rows],
            given.end[rows],
            self.machine,
        )
        delayed = [head for head in heads if head.left - head.shadow > self.slack]
        first = None
        if delayed:
            job, became, shadow, left = delayed[0]
            row = int(rows[job])
            time, by = self._seconds(left), self._seconds(left - shadow)
            what = "starts" if self.started[row] else "is cancelled without having started"
            message = (
                f"job {self._job(row)} ({given.processors[row]} processors) became head of the queue at "
                f"{self._seconds(became)}, its shadow time was {self._seconds(shadow)}, it {what} at {time}: {by} s "
                "late"
            )
            first = Violation(given.name_of(row), time, by, message)
        ran = np.where(self.started[rows], given.end[rows] - given.start[rows], 0)
        over = int(np.count_nonzero(ran > given.estimate[rows]))
        share = ""
        if delayed:
            worst = self._seconds(max(head.left - head.shadow for head in delayed))
            share = f"{len(delayed) / blocked:.1%} of the blocked heads start late, by up to {worst} s"
        overran = f"jobs beyond their estimate, counted until their real end: {over}" if over else ""
        remark = "; ".join(text for text in (share, overran) if text)
        return self._check(name, blocked, [(len(delayed), first)], remark)

    def promises(self) -> Check:
        """No job starts later than the promise recorded in the schedule."""
        given = self.given
        name = "promise", "no start later than promised"
        promise = given.promise
        stated = self.started & (promise != NEVER_STARTED) if promise is not None else np.zeros(len(given), np.bool_)
        if promise is None or (not stated.any() and self.started.any()):
            remark = (
                "cannot be checked: the schedule contains no promised starts. They are in the column promised_start "
                "of a CSV, which gas simulate --output x.csv writes under the policies that promise (conservative, "
                "conservative-static, s3, s3-1999); SWF has no field for them. fcfs, easy and conservative-replan "
                "promise no start: use --promise fcfs, easy or none"
            )
            return Check(*name, 0, None, None, remark)
        late = np.where(stated, given.start - promise, 0)

        def where(row: int) -> Place:
            start, by = self._seconds(given.start[row]), self._seconds(late[row])
            then = self._seconds(promise[row])
            return start, by, f"job {self._job(row)} was promised a start at {then} and starts at {start}: {by} s late"

        return self._check(name, int(np.count_nonzero(stated)), [self._first(late > 0, where)])

    def overtaken(self) -> Check:
        """No job overtakes one of higher priority that was submitted earlier and requests no more."""
        given, priority = self.given, self.given.priority
        assert priority is not None
        name = "priority", "no job of lower priority overtakes with at least the same request"
        rows = self.order[(~given.lost & ~given.reserved & (given.processors != UNKNOWN))[self.order]]
        if (given.estimate[rows] == UNKNOWN).any():
            return Check(*name, 0, None, None, "cannot be checked: estimates are not known; give the log (--log)")
        columns = (given.submit, given.processors, given.estimate, given.start, given.end, priority)
        found = overtakings(*(column[rows] for column in columns))
        first = None
        if found:
            job, by = (int(rows[each]) for each in found[0])
            time = self._seconds(given.start[by])
            message = f"job {self._job(by)} of priority {priority[by]} starts at {time}, while job {self._job(job)} of "
            message += f"priority {priority[job]} waits, although it was submitted earlier and requests no more"
            first = Violation(given.name_of(by), time, None, message)
        return self._check(name, len(rows), [(len(found), first)])

    def _first(self, wrong: NDArray[np.bool_], place_of: Callable[[int], Place]) -> tuple[int, Violation | None]:
        """Return the number of wrong rows, and the first one in queue order in words."""
        count = int(np.count_nonzero(wrong))
        if not count:
            return 0, None
        row = int(self.order[np.flatnonzero(wrong[self.order])[0]])
        time, by, message = place_of(row)
        return count, Violation(self.given.name_of(row), time, by, message)

    @staticmethod
    def _check(
        name: tuple[str, str], checked: int, found: list[tuple[int, Violation | None]], remark: str = ""
    ) -> Check:
        first = next((violation for _, violation in found if violation is not None), None)
        return Check(*name, checked, sum(count for count, _ in found), first, remark)

    def _job(self, row: int) -> str:
        """Return the name of a job in messages."""
        return shortened(self.given.name_of(row))

    def _who(self, row: int) -> str:
        """Return the name, in messages, of a job or reservation that holds processors."""
        return f"reservation {-self.given.id[row]}" if self.given.reserved[row] else f"job {self._job(row)}"

    def _seconds(self, units: Any) -> float:
        """Return a time in seconds: an int if the file has whole seconds."""
        return int(units) if self.given.resolution == 1 else int(units) / self.given.resolution
