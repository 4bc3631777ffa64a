"""Predictions: when jobs are likely to start and finish, estimated from how much of their walltimes jobs use.

The planner uses walltimes and promises; predictions also use how long jobs really run. From a `Snapshot` of a machine
and a `Past` of a log, `forecast` simulates the queue forward many times. Each time it draws run times from those of
similar jobs, and arrivals of other jobs. It returns the distribution of each candidate's start.

    snapshot   the running and waiting jobs of a machine at an instant
    usage      the share of their walltimes that jobs use; run times drawn from it
    luck       the correlation of these shares among jobs of a user that wait or run together
    parts      draws samples in several threads, slice by slice
    forward    simulating the queue forward with drawn run times, by the simulator's engine
    together   simulates all candidates at once, for long queues and many candidates
    slurm      simulates Slurm's queue forward, by the engine of Slurm's own schedulers
    slurm_samples  its samples, by machine code or in plain Python
    alike      draws jobs that may arrive later in a queue of Slurm
    partitions  partitions of a machine that have processors of their own
    past       the history of a log up to an instant: usage of walltimes, and arrivals
    history    a log as history, with the names of its users and jobs
    forecast   the distribution of the start and the finish of each candidate
    choice     the request of a plan that is predicted to finish first
    reshaping  whether a change of a waiting job is predicted to pay
    certainty  the probability of meeting a deadline, and the cost of certainty
    simulated  snapshots of simulations
    calibration  intervals corrected by the outcomes of past predictions
    similar    the waits of the latest similar jobs
    blend      one prediction made of a simulation and the waits of similar jobs
    ledger     predictions with their outcomes, and the corrections learnt from them
    orders     the start of a job if the queue were served in a given order
    lately     recent history of a queue: waits, use of walltimes, and starts by user, size and partition
    queue_state  features of a queue at a submission, as numbers
    forest     a random forest that selects similar past waits
    tails      the quantiles at which intervals end, separately for long waits
    learnt     learns waits from features of the queue
    present    applies `learnt` to requests that are made now
    recorded   the queue of a log at each instant
    backtest   predicts jobs of a log as of their submission, and compares with the outcomes
    scores     scores of predictions
    classes    scores by class of jobs
    savings    time that choosing requests by predictions would have saved
"""

from dataclasses import dataclass

from gas.printable import many

__all__ = ["LEAST_ENDED", "LEAST_SAMPLES", "NotPredicted", "fewer_samples"]

LEAST_ENDED = 20
"""Least number of ended jobs of a scheduler for predictions from its own past."""

LEAST_SAMPLES = 10
"""Least number of samples for a prediction if time ends before the requested number. A start lies beyond all of n
samples with probability 1 in n + 1: with ten, less than the tenth that a risk of 90% leaves out.
"""


def fewer_samples(count: int, samples: int, *, compiling: bool = False) -> str:
    """Return the remark that a queue was simulated fewer times than requested.

    Parameters
    ----------
    compiling
        Whether the reason is that machine code is still being compiled.
    """
    why = "as its simulator is still being compiled" if compiling else "to limit the time"
    less = f"its queue was simulated {count:,} times instead of {samples:,}, {why}; intervals are less accurate"
    return f"{less}: repeat the command in a minute" if compiling else less


@dataclass(frozen=True)
class NotPredicted:
    """The case of too few samples for a prediction: only the planned start is known, without a probability.

    Attributes
    ----------
    samples
        Number of samples finished in time.
    why
        The reason why a sample takes so long.
    soon
        Whether machine code is being compiled, with which the next prediction has enough samples.
    """

    samples: int
    why: str
    soon: bool = False

    def __str__(self) -> str:
        """Return it as part of a sentence."""
        if self.soon:
            return "planned start, not predicted yet: repeat the command in a minute"
        made = many(self.samples, "simulation")
        return f"planned start, not predicted: {made} of the queue in time, {LEAST_SAMPLES} are needed"
