"""The sentences of ``gas backtest``: accuracy of predictions, jobs with poor ones, and reductions of the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gas.intervals import Interval
from gas.prediction.backtest import LONGEST_QUEUE, Outcome
from gas.prediction.classes import FACTOR_SHARE, FEWEST, HELD, JobClass, best_baseline, shortly
from gas.prediction.ledger import INTERVAL
from gas.prediction.recorded import UNLIMITED
from gas.prediction.scores import FACTOR_FROM, NAMES, answered, scores_of
from gas.printable import many

__all__ = ["Extent", "bad_sentences", "good_sentences", "held_share", "of_few", "percent", "seconds_text", "share_text"]

_OVERFULL = 0.05
"""A log with more processors in use than the machine has, for a larger share of time, is from a larger machine."""

_NAMED = 6
"""Largest number of classes with poor predictions in the output."""


@dataclass(frozen=True)
class Extent:
    """The predicted part of a log.

    Attributes
    ----------
    jobs
        Usable jobs of the log, `unlimited` of them without a walltime; the `left_out` ones are unusable: their wait or
        run time is unknown, or they were cancelled while they waited.
    possible
        Those of them that could be predicted: they were submitted after the first job had ended.
    samples
        Number of simulations of each queue.
    machine, most_used
        Processors of the machine, and the largest number in use at once.
    overfull
        Share of the time in which more processors were in use than the machine has.
    """

    jobs: int
    unlimited: int
    left_out: int
    possible: int
    samples: int
    machine: int = 0
    most_used: int = 0
    overfull: float = 0.0

    @property
    def doubt(self) -> str:
        """Why the number of processors may be wrong; empty without a sign of it.

        In a few logs, more processors than there are seem in use for up to 3% of the time, as jobs follow each other.
        """
        if self.overfull <= _OVERFULL:
            return ""
        return (
            f"For {self.overfull:.0%} of the time the log has more than {many(self.machine, 'processor')} in use, up "
            f"to {self.most_used:,}. If the machine has more than that (--processors), predictions and savings are "
            "wrong."
        )

    def more_than(self, outcomes: Sequence[Outcome]) -> bool:
        """Return whether more jobs of the log could be predicted."""
        return len(outcomes) < self.possible

    def sentences(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Return sentences on the predicted jobs, and on reductions of the work."""
        count = len(outcomes)
        if count == self.possible:
            found = [f"Gas predicted {self.possible:,} submissions: all but the first of the log."]
        else:
            found = [f"Gas predicted {count:,} of {self.possible:,} submissions, spread evenly over the log."]
        simulated = [one.samples for one in outcomes if one.samples]
        if without := count - len(simulated):
            found.append(
                f"For {without:,} of them more than {LONGEST_QUEUE:,} jobs waited: Gas does not simulate queues "
                "of that length. It predicted from learned waits alone, and excluded these jobs from the savings."
            )
        if short := sum(one < self.samples for one in simulated):
            least = min(simulated)
            found.append(
                f"For {short:,} of them the queue was so long that Gas simulated it only {least} to "
                f"{self.samples - 1} times instead of {self.samples}."
            )
        if self.left_out:
            found.append(f"{many(self.left_out, 'job')} left out: no wait or run time, or cancelled while waiting.")
        if self.unlimited:
            found.append(f"{many(self.unlimited, 'job')} without walltime: taken as {shortly(UNLIMITED)}.")
        if self.doubt:
            found.append(self.doubt)
        return found


def good_sentences(outcomes: Sequence[Outcome], classes: Sequence[JobClass]) -> list[str]:
    """Return the accuracy of the predictions in a few sentences."""
    everybody, name = classes[0], best_baseline(outcomes)
    both = answered(outcomes, name)
    gas, other = scores_of(both, "median"), scores_of(both, name)
    held = of_few(everybody.held, everybody.jobs)
    found = [
        f"{held} of {many(len(outcomes), 'recorded start')} were inside their {INTERVAL:.0%} intervals; half of the "
        f"intervals are wider than {seconds_text(everybody.width)}."
    ]
    certain = [one for one in outcomes if one.one_instant]
    if len(certain) >= FEWEST:
        rest = held_share([one for one in outcomes if not one.one_instant])
        besides = "" if rest is None else f", against {percent(rest)} of the other intervals"
        found.append(
            f"{percent(len(certain) / len(outcomes))} of the intervals are a single instant, such as the submission: "
            f"{percent(held_share(certain))} of these contained the start{besides}."
        )
    if other.jobs:
        rival = f"{seconds_text(other.median_error)} for the best simple prediction ({NAMES[name]})"
        without = len(outcomes) - len(both)
        fewer = f"; this comparison omits {many(without, 'job')} without a simple prediction" if without else ""
        closer = ", which is closer" if (other.median_error or 0) < (gas.median_error or 0) else ""
        found.append(f"The median error is {seconds_text(gas.median_error)}, against {rival}{closer}{fewer}.")
    if everybody.within_factor_2 is not None:
        delayed, same = ([one for one in these if one.wait > FACTOR_FROM] for these in (outcomes, both))
        its, ours, others = (
            scores_of(these, way).median_error for these, way in ((delayed, "median"), (same, "median"), (same, name))
        )
        against = beside = ""
        if other.within_factor_2 is not None:
            where = also = ""
            if len(both) < len(outcomes):
                where = f"; Gas for the same jobs: {percent(gas.within_factor_2)}"
                also = f"; Gas for the same jobs: {seconds_text(ours)}"
            against = f" ({NAMES[name]}: {percent(other.within_factor_2)}{where})"
            beside = f"; their median error is {seconds_text(its)} ({NAMES[name]}: {seconds_text(others)}{also})"
        found.append(
            f"Of the {many(everybody.delayed, 'job')} that waited for more than {shortly(FACTOR_FROM)}, "
            f"{of_few(everybody.within_factor_2, everybody.delayed)} were predicted within a factor of two{against}"
            f"{beside}."
        )
    else:
        found.append(f"No job waited for more than {shortly(FACTOR_FROM)}: there was little to predict.")
    return found


def held_share(outcomes: Sequence[Outcome]) -> float | None:
    """Return the share of 90% intervals that held; None without any."""
    return sum(one.inside for one in outcomes) / len(outcomes) if outcomes else None


def bad_sentences(classes: Sequence[JobClass], *, more: bool = False) -> list[str]:
    """Return sentences on jobs with significantly poor predictions, and on what the data leave open.

    Parameters
    ----------
    more
        Whether more jobs of the log can be predicted.
    """
    everybody, parts = classes[0], classes[1:]
    if everybody.jobs < FEWEST:
        return [f"Too few predictions to compare classes of jobs: at least {FEWEST} are needed."]
    if everybody.held.half_width is None:
        return ["The log is too short to compare classes of jobs."]
    narrow = _listed([(one, one.jobs, one.held) for one in parts if one.too_narrow], HELD)
    far = _listed([(one, one.delayed, one.within_factor_2) for one in parts if one.far_off], FACTOR_SHARE)
    beaten = _listed([(one, one.told_apart, one.beaten) for one in parts if one.no_better], 0.5)
    found = [
        f"{what}: {'overall, and ' if at_all else ''}for {which}." if which else f"{what}: overall."
        for what, at_all, which in (
            (f"Significantly fewer than {HELD:.0%} of the intervals contain the start", everybody.too_narrow, narrow),
            (
                f"Significantly fewer than {FACTOR_SHARE:.0%} of the waits above {shortly(FACTOR_FROM)} are predicted "
                "within a factor of two",
                everybody.far_off,
                far,
            ),
            (
                "Where the two differ, the simple prediction is significantly more often closer than Gas",
                everybody.no_better,
                beaten,
            ),
        )
        if at_all or which
    ]
    found += [
        f"Of the {one.jobs:,} jobs with a {one.kind} {one.name}, {one.delayed:,} ({one.delayed / one.jobs:.0%}) waited "
        f"for more than {shortly(FACTOR_FROM)}."
        for one in parts
        if one.within_factor_2 is None and one.delayed and one.jobs >= FEWEST
    ]
    few = sum(one.jobs < FEWEST for one in parts)
    enough = len(parts) - few
    if not found and enough:
        which = f"None of the {enough} classes of jobs with at least {FEWEST} predictions is"
        found.append(
            f"{which if enough > 1 else f'The only class of jobs with at least {FEWEST} predictions is not'} "
            f"significantly below its bound: {HELD:.0%} of the intervals contain the start, {FACTOR_SHARE:.0%} of the "
            "waits are predicted within a factor of two."
        )
    if few:
        hint = "; predict more jobs (--jobs N)" if more else ""
        found.append(f"{few} of {len(parts)} classes have fewer than {FEWEST} predictions and cannot be judged{hint}.")
    return found


def _listed(classes: Sequence[tuple[JobClass, int, Interval | None]], bound: float) -> str:
    """Return the classes with figures and numbers of jobs; those that miss their bound by most predictions first."""
    known = [(one, count, share) for one, count, share in classes if share is not None]
    worst = sorted(known, key=lambda each: each[1] * (each[2].mean - bound))
    parts = [f"{one.kind} {one.name} ({share_text(share)} of {count:,})" for one, count, share in worst[:_NAMED]]
    return "; ".join(parts) + (f"; and {len(worst) - _NAMED} more classes" if len(worst) > _NAMED else "")


def of_few(found: Interval | None, count: int) -> str:
    """Return a share, without its interval if there are few predictions: it would be too narrow, by chance."""
    return share_text(Interval(found.mean, None) if found is not None and count < FEWEST else found)


def seconds_text(value: float | None) -> str:
    """Return seconds in words; a dash for None."""
    return "–" if value is None else shortly(round(value))


def percent(value: float | None) -> str:
    """Return a share in per cent; a dash for None."""
    return "–" if value is None else f"{100 * value:.0f}%"


def share_text(found: Interval | None) -> str:
    """Return a share in per cent with half of its interval, if there is one."""
    if found is None:
        return "–"
    width = "" if found.half_width is None else f" ± {100 * found.half_width:.0f}"
    return f"{100 * found.mean:.0f}{width}%"
