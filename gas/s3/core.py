"""S³, the space-shared scheduler: conservative backfilling with promotion until nothing moves (paper, section 4.3).

The core is pure: no clock, no file, no process. Its caller passes the time and the jobs that have ended:

    submit, reserve, cancel      operations of users; `submit` returns the promised start
    use                          replace a reservation by a job
    reshape                      change size and walltime of a waiting job
    accept, decline              answer the offer of an earlier start (`gas.s3.offers`)
    step(now, ended)             handle one instant: ended jobs, promotion, jobs to start now
    resize                       change the size of the machine
    go_on                        continue the promotion that stopped when patience ended
    next_start(), next_lapse()   the next instants at which a start is due, and at which an offer lapses
    availability(...)            the frames that the profile implies
    check()                      check all invariants; AssertionError if one is violated

A *promise* is the planned start of a waiting job: it moves earlier or stays, unless its user reshapes the job. Only
missing processors, a job that cannot be killed or a start missed in an outage can break one; the schedule is then
repaired, keeps every promise that can be kept and lists the others in `broken`.

Between any two operations no waiting job could start earlier. So after processors were released, only the holes that
grew need to be examined (`gas.profile.holes`). If an operation has limited `patience`, this holds again when `go_on`
has finished. A job submitted before that may take a hole into which a waiting job would have moved; every promise holds
at all times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gas.errors import BadInput, Conflict, StalePlan
from gas.profile.blocks import STAMP
from gas.profile.flat import NEVER
from gas.s3.entries import Broken, Cause, Entry, Resized, profile_left_by
from gas.s3.offers import Offers, verify_notice
from gas.s3.repair import repair
from gas.times import LATEST, LONGEST, duration_text, iso_time

__all__ = ["S3", "warm_up"]


class S3(Offers):
    """The schedule of one machine, with the operations that change it; the parameters are those of `Schedule`."""

    def submit(
        self,
        processors: int,
        walltime: int,
        *,
        not_before: int | None = None,
        start_by: int | None = None,
        priority: int = 0,
        notice: int | None = None,
    ) -> Entry:
        """Place a job in its first fitting slot from now (or `not_before`) on, and promise this start.

        Its priority makes no other promise later. It counts when processors become free: jobs of higher priority are
        then moved to earlier starts first (`gas.s3.placing`). With a `notice` the job is not moved but offered earlier
        starts, with that many seconds to answer (`gas.s3.offers`).

        Raises
        ------
        BadInput
            More processors than the machine has, or a size, walltime or instant out of range.
        StalePlan
            The first slot is later than `start_by`; nothing was queued.
        """
        self._verify_request(processors, walltime)
        earliest = self.soonest if not_before is None else max(self.soonest, not_before)
        self._verify_start("not_before", earliest)
        if notice is not None:
            verify_notice(notice)
        if start_by is not None and not_before is not None and start_by < not_before:
            raise BadInput(f"start_by {start_by}: is before not_before {not_before}")
        self._make_room(2)
        if start_by is not None:
            anchor = self.anchor(processors, walltime, earliest)
            if anchor > start_by:
                raise StalePlan(
                    f"the first slot for {processors} processors and {duration_text(walltime)} starts "
                    f"{duration_text(anchor - start_by)} after start_by {start_by}; nothing was queued, plan again"
                )
        start = int(self._place(self._profile, processors, walltime, earliest))
        assert start != NEVER, "the last frame of the profile is the whole machine"
        entry = self._new(processors, walltime, start, "queued", earliest, priority)
        entry.notice = notice
        self._waiting.add(entry, int(self._profile.numbers[STAMP]))
        return entry

    def reserve(self, processors: int, start: int, walltime: int, *, start_by: int | None = None) -> Entry:
        """Reserve processors from an instant on; a reservation never moves.

        `start_by` allows a later start: the earliest that fits from `start` on.

        Raises
        ------
        BadInput
            As `submit`, or a start in the past.
        StalePlan
            The processors are not free then; nothing was reserved.
        """
        self._verify_request(processors, walltime)
        self._verify_start("start", start)
        latest = start if start_by is None else start_by
        if latest < start:
            raise BadInput(f"start_by {latest}: is before the reservation's start {start}")
        self._make_room(2)
        anchor = self.anchor(processors, walltime, start)
        if anchor > latest:
            raise StalePlan(
                f"{processors} processors are not free for {duration_text(walltime)} from {iso_time(start)}; the first "
                f"such slot starts {duration_text(anchor - start)} later, at {iso_time(anchor)}; nothing was reserved"
            )
        self._take(self._profile, anchor, anchor + walltime, processors)
        entry = self._new(processors, walltime, anchor, "reserved", start)
        self._waiting.add(entry)
        return entry

    def use(self, id: int) -> Entry:
        """Replace a reservation that has not begun by a job, with its processors, start and walltime.

        The job never moves, like the reservation, and no other entry moves.

        Raises
        ------
        NotFound
            There is no such entry.
        Conflict
            It is not a reservation, or has begun.
        """
        held = self.entry(id)
        if held.state != "reserved":
            what = "is running" if held.state == "running" else "is no reservation"
            raise Conflict(f"job {id} {what}; only a reservation that has not begun can be used")
        self._withdraw([held])
        entry = self._new(held.processors, held.walltime, held.start, "reserved", held.earliest)
        self._waiting.add(entry)
        return entry

    def cancel(self, id: int) -> Entry:
        """Remove a waiting job or a reservation that has not begun from the schedule, and promote the others.

        Raises
        ------
        NotFound
            There is no such entry.
        Conflict
            It is running; end it, and report it to `step` when its processors are free.
        """
        entry = self.entry(id)
        if entry.state == "running":
            raise Conflict(f"job {id} is running; it leaves the schedule when its processors are free")
        self._withdraw([entry])
        self._release(entry.start, entry.end, entry.processors)
        if entry.offer is not None:
            self._release(*entry.offered, entry.processors)
        self._promote_queue()
        return entry

    def reshape(self, id: int, processors: int, walltime: int, *, start_by: int | None = None) -> Entry:
        """Give a waiting job another size and walltime, and promise it the first slot that delays no other job.

        It keeps its number and its place in the queue; its start may get earlier or later. An offer to its old shape is
        released. Other jobs are moved only afterwards, and only to earlier starts, as after a cancellation.

        Raises
        ------
        NotFound
            There is no such entry.
        Conflict
            It is not a waiting job.
        BadInput
            More processors than the machine has, or a size or walltime out of range.
        StalePlan
            The first such slot is later than `start_by`; nothing was changed.
        """
        entry = self.waiting(id)
        self._verify_request(processors, walltime)
        before = entry.start, entry.end, entry.processors
        offered = None if entry.offer is None else (*entry.offered, entry.processors)
        self._make_room(6)
        self._give_back(self._profile, *before)
        if offered is not None:
            self._give_back(self._profile, *offered)
        # A job that is due, and only waits for processors that are about to become free, is not delayed.
        first = max(entry.earliest, min(self.soonest, entry.start))
        start = int(self._first_fit(self._profile, processors, walltime, first))
        if start_by is not None and start > start_by:
            self._take(self._profile, *before)
            if offered is not None:
                self._take(self._profile, *offered)
            raise StalePlan(
                f"job {id}: the first slot for {processors} processors and {duration_text(walltime)} that delays no "
                f"other job starts {duration_text(start - start_by)} after start_by {start_by}, at {iso_time(start)}; "
                "nothing was changed, plan again"
            )
        after = start, start + walltime, processors
        self._take(self._profile, *after)
        if after != before:
            entry.processors, entry.walltime = processors, walltime
            entry.start = entry.promise = start
            entry.end = start + walltime
            entry.withdraw_offer(self.now)
            self._waiting.update(entry)
            self._changed.add(id)
            self.version += 1
            self._promote_queue()
        return entry

    def step(self, now: int, ended: Iterable[int] = ()) -> list[Entry]:
        """Handle one instant and return the entries that start at it, in queue order.

        First the processors of `ended` become free; if a job ended early, the queue is promoted; then every due entry
        starts if its processors are really free. Instants must not decrease; one may be handled several times.
        """
        assert now >= self.now, f"time went back from {self.now} to {now}"
        self.now = now
        self._forget(self._profile, now)
        lapsed = self._lapse()
        crowded = self.in_use > self.processors
        early = []
        for id in ended:
            entry = self._running.pop(id)
            del self.entries[id]
            self._changed.discard(id)
            if entry.end > now:
                early.append(entry)
        if self._impossible():
            self._repair("overrun")
        elif early:
            if crowded:  # some of the released processors no longer exist
                self._rebuild()
            else:
                for entry in early:
                    self._release(now, entry.end, entry.processors)
            self._promote_queue()
        elif lapsed:
            self._promote_queue()
        return self._start_due()

    def resize(self, processors: int) -> Resized:
        """Change the size of the machine from now on.

        Running entries continue, even if they hold more processors than exist; then nothing starts until enough of them
        have ended. Waiting entries keep their starts if possible, otherwise they get their first slot. Entries larger
        than the machine leave the schedule. Broken promises are in `broken` and in the returned value.

        Raises
        ------
        BadInput
            The machine would have no processors.
        """
        if processors < 1:
            raise BadInput(f"processors {processors}: a machine has at least 1; to empty it, drain it")
        if processors == self.processors:
            return Resized([], [])
        known, shrinks = len(self.broken), processors < self.processors
        self.processors = processors
        self._most_in_use = max(processors, self.in_use)
        evicted = self._evict()
        if shrinks or self._impossible():
            self._repair("resize")
        else:
            self._rebuild()
            self._promote_queue()
        return Resized(self.broken[known:], evicted)

    def restore(self, entries: Iterable[Entry], *, version: int, last_id: int) -> list[Entry]:
        """Restore the entries of an earlier run of this schedule; return those larger than the present machine.

        Starts missed in the meantime, jobs that exceeded their walltimes, and missing processors are repaired as in
        `step` and `resize`.
        """
        assert not self.entries, "only a fresh schedule can be restored"
        self.version, self._last_id = version, last_id
        for given in sorted(entries, key=lambda e: e.turn):
            entry = replace(given)
            if entry.answer_by is not None and (entry.answer_by <= self.now or entry.state == "running"):
                entry.withdraw_offer(self.now)  # it does not lapse: it could not be answered during the outage
                self._changed.add(entry.id)
            self.entries[entry.id] = entry
            if entry.state == "running":
                self._running.add(entry)
            else:
                self._waiting.add(entry)
        self._most_in_use = max(self.processors, self.in_use)
        evicted = self._evict()
        profile = profile_left_by(self.entries.values(), self.processors, self.now)
        if evicted or self._impossible() or bool((profile.free < 0).any()):
            self._repair("outage")
        else:
            self._profile = self._indexed(profile)
            self._promote_queue()  # there may be more processors than before
            self.version += bool(self._changed)
        return evicted

    def go_on(self) -> bool:
        """Continue promotion where patience ended; return whether it is still `unfinished`."""
        if self.unfinished:
            self.version += self._move_earlier()
        return self.unfinished

    # --------------------------------------------------------------------------------------------- inside

    def _verify_request(self, processors: int, walltime: int) -> None:
        if not 1 <= processors <= self.processors:
            raise BadInput(
                f"processors {processors}: the machine has {self.processors}; request 1 to {self.processors}"
            )
        if not 1 <= walltime <= LONGEST:
            raise BadInput(f"walltime {walltime}: must be 1 to {LONGEST} seconds")

    def _verify_start(self, what: str, instant: int) -> None:
        if instant < self.soonest:
            raise BadInput(
                f"{what} {iso_time(instant)} ({instant}): has passed; it is {iso_time(self.soonest)} "
                f"({self.soonest}) now: choose a later time"
            )
        if instant > LATEST - LONGEST:
            raise BadInput(f"{what} {instant}: is above {LATEST - LONGEST} (epoch seconds), the latest start")

    def _evict(self) -> list[Entry]:
        evicted = [e for e in self._waiting.entries if e.processors > self.processors]
        self._withdraw(evicted)
        return evicted

    def _impossible(self) -> bool:
        """Return whether processors are held too long, or a start was missed."""
        end = self.next_overrun()
        return self._waiting.first_start() < self.now or (end is not None and end < self.now)

    def _repair(self, cause: Cause) -> None:
        """Plan again around processors that are not released in time (`gas.s3.repair`)."""
        after_outage = cause == "outage"
        self._changed |= self._running.outlast(self.now, after_outage=after_outage)
        self._changed |= self._void()
        waiting = self._waiting.entries
        promised = {e.id: e.promise for e in waiting}
        profile, moved = repair(
            self._running.entries.values(),
            waiting,
            self.processors,
            self.now,
            self.soonest,
            missed_first=after_outage,
            machine_code=self._machine_code,
        )
        self._changed |= {e.id for e in moved}
        self._waiting.write_starts()
        self._profile = self._indexed(profile)
        self.version += 1
        self._promote_queue()
        for e in moved:
            if e.start > promised[e.id]:
                self.broken.append(Broken(e.id, promised[e.id], e.start, self.now, cause))
            e.promise = min(e.promise, e.start)


def warm_up() -> None:
    """Compile the kernels, so that the first request does not wait for the compiler."""
    schedule = S3(2, 0, machine_code=True)
    first = schedule.submit(2, 10)
    second = schedule.submit(2, 10, start_by=10)
    schedule.reshape(second.id, 1, 10)
    schedule.availability(without=second.id)
    schedule.reserve(1, 30, 10)
    schedule.step(0)
    schedule.step(5, [first.id])
    schedule.resize(1)
