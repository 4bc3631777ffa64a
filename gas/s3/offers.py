"""Conditional backfilling: a job gets an offer of an earlier start, and keeps its own slot until it has chosen.

The paper (section 6.1): "the backfilling can be *conditional* (i.e., you don't lose your original time slot). The idea
behind conditional backfilling is that you get two (or maybe more) allocation slots, but you can use only one. The
AppLeS would have to release the slots that the application is not going to use." It is meant for a job that must start
together with others elsewhere: a promotion that one scheduler makes by itself would break them apart. What the paper
leaves open is settled as follows.

* Such a job takes part in promotion in its turn, like any other. The slot to which it would have moved is held for it,
  too: this is an *offer*. A job has at most one offer, the earliest slot found; a better one replaces it.
* `accept` releases the old slot, `decline` the offer. Released processors are available to all jobs at once, in the
  order of the queue.
* The *notice* of a job is its time to answer. An offer begins no earlier than this time after it was made, and lapses
  after this time. Only so long does a job hold processors twice (once if the slots overlap).
* A job that did not answer gets no further offers until it requests them: it may be unattended.
* All offers to a job together are held for at most a day, however often it declines and requests new ones: a single
  offer may be held as long, and the processors held besides its own slot count for no limit.
* `decline` states which slots are interesting (the paper's other idea): those from an instant on, or none.

The promise is the job's own slot and never gets later; an offer is no promise until it is accepted. It takes no slot of
other jobs, and is dropped if processors are missing, so it breaks no promise either.
"""

from __future__ import annotations

from gas.errors import BadInput, Conflict
from gas.profile.blocks import GIVEN_MOST, GIVEN_UNTIL
from gas.profile.flat import ENDLESS
from gas.s3.entries import MOST_NOTICE, NO_OFFERS, Entry
from gas.s3.schedule import Schedule
from gas.times import duration_text, iso_time

__all__ = ["MOST_NOTICE", "Offers", "verify_notice"]


def verify_notice(notice: int) -> None:
    """Raise `BadInput` for an invalid time to answer, in seconds."""
    if not 1 <= notice <= MOST_NOTICE:
        raise BadInput(f"notice {notice}: must be 1 to {MOST_NOTICE} seconds, for which processors are held twice")


class Offers(Schedule):
    """A schedule whose conditional jobs accept or decline earlier starts; the parameters are those of `Schedule`."""

    def accept(self, id: int, start: int) -> Entry:
        """Move a job to its offered start, and release its old slot; promote the others.

        Raises
        ------
        NotFound
            There is no such entry.
        Conflict
            It is not waiting, or this start is not (or no longer) offered.
        """
        entry = self._choosing(id)
        if entry.offer != start:
            raise self._other_offer(entry, start)
        begin, end = max(start + entry.walltime, entry.start), entry.end
        entry.start = entry.promise = start
        entry.end = start + entry.walltime
        entry.withdraw_offer(self.now)
        self._waiting.update(entry)
        self._changed.add(id)
        self._release(begin, end, entry.processors)
        self._promote_queue()
        return entry

    def decline(self, id: int, start: int | None = None, *, not_before: int | None = None) -> Entry:
        """Release the offer to a job, set its future offers, and promote the others.

        Parameters
        ----------
        start
            The declined start; None for the present offer, if any.
        not_before
            From now on, no earlier starts than this are offered; None for no offers at all.

        Raises
        ------
        NotFound
            As `accept`.
        BadInput
            `not_before` is no later than the declined start, which would be offered again.
        Conflict
            As `accept`; or starts from `not_before` on are asked for, and its offers were held for `MOST_NOTICE`.
        """
        entry = self._choosing(id)
        if start is not None and entry.offer != start:
            raise self._other_offer(entry, start)
        if not_before is not None and entry.offer is not None and not_before <= entry.offer:
            raise BadInput(f"not_before {not_before}: must be after the declined start, {entry.offer}")
        if not_before is not None and not 0 <= not_before < NO_OFFERS:
            raise BadInput(f"not_before {not_before}: must be between 0 and {NO_OFFERS - 1}, in epoch seconds")
        if not_before is not None and entry.offer is None and entry.held >= MOST_NOTICE:
            raise Conflict(
                f"job {id} has held processors for offers for {duration_text(MOST_NOTICE)} in all, the most that a job "
                "may; it is offered nothing more and keeps its promised start"
            )
        entry.offers_from = NO_OFFERS if not_before is None else not_before
        self._take_back(entry)
        self.version += 1
        if not_before is not None:
            # Slots from there on may have been free for long: all jobs are examined again, in queue order.
            self._waiting.look_again()
            self._profile.numbers[[GIVEN_MOST, GIVEN_UNTIL]] = self.processors, ENDLESS
        self._promote_queue()
        return entry

    # --------------------------------------------------------------------------------------------- inside

    def _choosing(self, id: int) -> Entry:
        entry = self.waiting(id)
        if entry.notice is None:
            raise Conflict(f"job {id} is moved to earlier starts without being asked: it was submitted without notice")
        return entry

    @staticmethod
    def _other_offer(entry: Entry, start: int) -> Conflict:
        by_now = "and no other" if entry.offer is None else f"but at {entry.offer} ({iso_time(entry.offer)})"
        asked = f"job {entry.id} is not offered a start at {start} ({iso_time(start)}) now, {by_now}"
        return Conflict(f"{asked}; nothing was changed")

    def _take_back(self, entry: Entry) -> None:
        """Release the offer to a job, if any; it gets no offers before `Entry.offers_from`."""
        begin, end = entry.offered
        entry.withdraw_offer(self.now)
        self._waiting.update(entry)
        self._changed.add(entry.id)
        if max(begin, self.now) < end:
            self._release(max(begin, self.now), end, entry.processors)

    def _lapse(self) -> bool:
        """Release the offers that were not answered in time; return whether there were any."""
        lapsed = self._waiting.unanswered(self.now)
        for entry in lapsed:
            entry.offers_from = NO_OFFERS
            self._take_back(entry)
        return bool(lapsed)

    def _void(self) -> set[int]:
        """Drop all offers of a schedule that will be planned again; return the numbers of their jobs."""
        offered = [e for e in self._waiting.conditional.values() if e.offer is not None]
        for entry in offered:
            entry.withdraw_offer(self.now)
        return {entry.id for entry in offered}
