"""How the study of backfilling was done, and in what form: the full one, or a shorter one that must say so."""

from __future__ import annotations

from experiments.backfilling.claims import HIGH_LOAD
from experiments.backfilling.comparison import FIGURES_APART, NOISE
from experiments.backfilling.results import LOADS, PAPER_JOBS, Options, batch_jobs
from experiments.framework.method import method_section as method_of
from experiments.framework.report import Section

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


def method_section(options: Options) -> Section:
    """Return how the study was done."""
    sizes = " and ".join(f"{batch_jobs(options.model_jobs(model)):,} jobs ({model})" for model in PAPER_JOBS)
    batches = "with batches of " if options.full else "but with batches of another size than in the full study: "
    return method_of(
        "experiments.backfilling",
        batches=f"{batches}{sizes}",
        high_load=HIGH_LOAD,
        figures_apart=FIGURES_APART,
        noise=NOISE,
    )
