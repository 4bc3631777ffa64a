"""How the study of backfilling was done, and in what form: the full one, or a shorter one that must say so."""

from __future__ import annotations

from experiments.backfilling.claims import HIGH_LOAD
from experiments.backfilling.comparison import FIGURES_APART, NOISE
from experiments.backfilling.results import LOADS, PAPER_JOBS, Options, batch_jobs
from experiments.framework.report import Bullets, Section

__all__ = ["form", "method_section"]


def form(options: Options) -> str:
    """Return in what the models are run otherwise than in the full study; "" if they are not."""
    if options.full:
        return ""
    jobs = [
        f"{options.model_jobs(model):,} jobs of model {model} where the full study has {usual:,}, in batches of "
        f"{batch_jobs(options.model_jobs(model)):,} instead of {batch_jobs(usual):,}"
        for model, usual in PAPER_JOBS.items()
        if options.model_jobs(model) != usual
    ]
    loads = "all loads" if options.loads == LOADS else f"{len(options.loads)} loads instead of {len(LOADS)}"
    return (
        f"Not the full study: models are run at {loads}{''.join(f'; {words}' for words in jobs)}. What is said of "
        "models here is a first look and does not reproduce Fig. 4 and Fig. 5. Logs are simulated in full."
    )


_METHOD = (
    "A log is simulated whole, once for each scheme, on the machine that the paper names. A job belongs to the month "
    "of its submission in the log's time zone; the load of a month is what jobs used of the machine within it.",
    "Jobs that outlive their estimate are killed at it; with `overrun extend` the estimate is raised instead. Where "
    "the paper had no estimates (Par, CM5), run times are taken, as it did.",
    "Bounded slowdown is the paper's: response over the run time or 10 s, whichever is longer, not clamped to 1.",
    "A difference is what going from EASY to conservative changes, in per cent of EASY; negative is better for "
    "conservative. Signs agree only if they are equal, however small the difference.",
    "± is half of a 90% interval of the difference, from its scatter between days of submission; a difference smaller "
    "than that is not resolved by the days of one month. Such scatter is no cause: it says that a mean hangs on few "
    "days, so that little in the log or the rules may move it.",
    f"Reasons are given where signs differ or a figure is more than {FIGURES_APART:g}% off. Differences within "
    f"{NOISE:g}% say little of which scheme is better, and their signs are an accident, in the paper as here.",
    "Models: users estimate perfectly, as in the paper; all loads are the same jobs arriving at another pace.",
)


def _stopping(options: Options) -> str:
    sizes = [f"{batch_jobs(options.model_jobs(model)):,} jobs ({model})" for model in PAPER_JOBS]
    batches = "with batches of " if options.full else "but with batches of another size than in the full study: "
    return (
        "Each run of a model, that is each scheme at each load, stops by the rule of the paper's section 3.1, "
        f"{batches}{' and '.join(sizes)}: after 100 batches behind the warm-up, or from the 10th on, when the 90% "
        "interval is within 5% of the mean or the mean response is beyond 30,000 s. The paper compares the means at "
        "each run's own end. Runs that stop after different numbers of batches have seen different stretches of the "
        "jobs, and part of what lies between their means is between the stretches; pictures therefore show the means "
        "over the batches that both schemes completed, tables and verdicts both. "
        f"Loads are called high from {HIGH_LOAD:g} on; one at which both runs were stopped because their mean exceeded "
        "30,000 s does not count for or against a statement on means at own ends, which have not settled there."
    )


def method_section(options: Options) -> Section:
    """Return how the study was done."""
    return Section("How it was done", (Bullets((*_METHOD, _stopping(options))),))
