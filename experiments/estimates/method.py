"""How the study of estimates was done."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.estimates.cells import APART, NOT_KNOWN
from experiments.estimates.results import RESAMPLES, Options
from experiments.framework.logs import Found
from experiments.framework.report import Bullets, Section

__all__ = ["method_section"]


def method_section(options: Options, logs: Sequence[Found]) -> Section:
    """Return how the study was done."""
    sizes = ", ".join(f"{log.source.trace} {log.source.processors}" for log in logs)
    seeds = options.all_seeds
    drawn = f"Seeds {seeds[0]} to {seeds[-1]}, the same for all" if len(seeds) > 1 else f"Seed {seeds[0]} for all"
    return Section(
        "How it was done",
        (
            Bullets(
                (
                    f"A log is simulated whole, once for each scheme, on the machine that the paper names ({sizes}).",
                    "Drawn estimates are uniform between the recorded run time and f times that, in whole seconds, so "
                    f"that nobody is killed. {drawn} logs and factors; a seed draws the same place in "
                    "the interval whatever f is.",
                    "Under the users' own estimates jobs that outlive theirs are killed, as in the study of "
                    "backfilling; with `overrun extend` their estimate is raised instead. The paper does not say.",
                    "Bounded slowdown is the paper's: response over the run time or 10 s, whichever is longer, not "
                    "clamped to 1.",
                    "± is half of a 90% interval over seeds; a change is paired seed by seed. With f = 1 nothing is "
                    "drawn. It says how sure the mean is for this log, and nothing of another. That of the best of "
                    "several f is a little too good, as it was chosen.",
                    f"“Weeks” is the 90% interval of the change if the weeks of the log are drawn anew ({RESAMPLES:,} "
                    "times, with replacement; a job belongs to the week of its submission). It takes weeks to be "
                    "independent, which at high load they are not quite, so it is rather too narrow.",
                    f"Reasons are given where a mean is off by more than {APART:g}%: other rules that bring it nearer "
                    "(with the same seeds), and another version of the log. What jobs that a log lacks do to others is "
                    f"not known. “{NOT_KNOWN}” is said where nothing that was tried explains it.",
                )
            ),
        ),
    )
