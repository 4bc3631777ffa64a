"""Made-up outcomes of a backtest, and classes of them."""

from dataclasses import replace

from gas.cli.backtest_words import Extent
from gas.intervals import Interval
from gas.prediction.backtest import Outcome
from gas.prediction.classes import JobClass


def class_of(kind, name, jobs=500, held=0.9, near=0.6, width=0.02, beaten=0.6):
    held, near, beaten = (Interval(share, width) for share in (held, near, beaten))
    return JobClass(kind, name, jobs, jobs // 2, held, near, 60.0, beaten, jobs, 5400.0)


ALL = class_of("", "all", 1000)
EXTENT = Extent(jobs=5000, unlimited=0, left_out=0, possible=4000, samples=100)


def outcomes_of(jobs, wait=3000, similar=1000.0, samples=100):
    one = Outcome(
        0, 0, wait, 2000.0, 0, 4000, 0, 4000, weight=0.5, simulated=0.0, learnt=None, planned=9000, similar=similar,
        waiting=1, samples=samples, held_from=0.5, raw_held_from=0.5,
    )  # fmt: skip
    return [replace(one, row=i, submitted=60 * i) for i in range(jobs)]
