"""Predictions: when jobs are likely to start and finish, estimated from how much of their walltimes jobs use.

The planner knows walltimes and promises; predictions also know how long jobs really run. From a `Snapshot` of
a machine and a `Past` of a log, `forecast` simulates the queue forward many times, each time with other run times drawn
from what similar jobs used and other jobs arriving, and returns the distribution of each candidate's start.

    snapshot   who runs and who waits on a machine at an instant
    usage      what share of their walltimes jobs use; run times drawn from it
    luck       how alike that is for jobs of a user that wait or run together
    parts      samples in several threads, in slices
    forward    the queue simulated forward with such run times, by the simulator's own engine
    together   the same for all candidates at once, where the queue is long and they are many
    slurm      a Slurm's queue run forward by its own schedulers instead
    alike      jobs that may come to such a queue later
    partitions  which partitions of a machine have processors of their own
    past       the history of a log up to an instant: use of walltimes, and arrivals
    history    such a log, with the names of its users and jobs
    forecast   when candidates are likely to start and finish
    choice     which request of a plan is likely to finish first
    reshaping  whether a waiting job should have another shape, by what is likely
    certainty  how sure requests are to meet a deadline, and what certainty costs
    simulated  snapshots of simulations
    calibration  intervals corrected by what came true
    similar    what the last similar jobs waited
    blend      a simulation and the waits of similar jobs made one prediction
    ledger     predictions with their outcomes, and what is learnt from them
    orders     when a job would start if the queue were served in some order
    lately     what is remembered of a queue: waits, use and starts of users, requests, sizes and queues
    queue_state  what can be seen of a queue at a submission, as numbers
    forest     a forest of random trees that picks past waits
    tails      at which levels of a prediction intervals end, for long waits by themselves
    learnt     waits learnt from what the queue looked like
    present    such waits for requests that are made now
    recorded   a log whose queue is known at each instant
    backtest   what would have been predicted for the jobs of a log, and what came true
    scores     how good that was
    classes    for whom it was good and for whom not
    savings    what choosing by predictions would have saved
"""

from dataclasses import dataclass

from gas.printable import many

__all__ = ["LEAST_ENDED", "LEAST_SAMPLES", "NotPredicted", "fewer_samples"]

LEAST_ENDED = 20
"""How many jobs of a scheduler must have ended before anything is predicted from its own past."""

LEAST_SAMPLES = 10
"""From how many samples on a start is predicted, where the time ends before there are as many as asked. It lies beyond
all of n samples with a probability of 1 in n + 1: from ten on less than the tenth that a risk of 90% leaves out."""


def fewer_samples(count: int, samples: int) -> str:
    """Return that a queue was simulated fewer times than it was to be."""
    less = f"its queue was simulated {count:,} times instead of {samples:,}, to limit the time"
    return f"{less}; intervals are less accurate"


@dataclass(frozen=True)
class NotPredicted:
    """That there are too few samples to predict from: all that is known is a plan, which has no probability.

    Attributes
    ----------
    samples
        How many were done in time.
    why
        What takes so long.
    """

    samples: int
    why: str

    def __str__(self) -> str:
        """Return it as part of a sentence."""
        return f"planned start, not predicted: {many(self.samples, 'sample')} in time, {LEAST_SAMPLES} are needed"
