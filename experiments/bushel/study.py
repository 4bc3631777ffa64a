"""The study of many moldable jobs, as the command line finds it."""

from __future__ import annotations

from experiments.bushel.claims import beyond, claims
from experiments.bushel.report import TABLES, bushel_report
from experiments.bushel.results import OPPONENTS, Options, bushel_runs, summarised
from experiments.bushel.run import bushel_run
from experiments.framework.options import FirstSeed, OtherTerms, Seeds
from experiments.framework.sites import SITES
from experiments.framework.study import Study

__all__ = ["STUDY"]


def bushel_options(seed: FirstSeed = 0, seeds: Seeds = 3, others: OtherTerms = True) -> Options:
    """Compare Gas with fixed requests, many jobs at once.

    Replaces 5 to 50% of the jobs of real logs with NAS benchmarks and reproduces Tables 5.8 to 5.17 of Cirne and Berman
    (1999), with every figure next to the published one, and the effect on all other jobs. Then draws random speed-ups
    for some or all of the jobs in the logs instead, which leaves the load unchanged.

    With three logs and two processors it takes 10 to 15 minutes; with --no-other-terms --seeds 1, three to five.
    """
    return Options(seed, seeds, others)


STUDY = Study(
    "bushel",
    bushel_options,
    traces={site.trace for site in SITES},
    runs=lambda options, logs: (bushel_runs(options, logs), ()),
    run=bushel_run,
    summarise=summarised,
    report=bushel_report,
    tables=TABLES,
    claims=lambda study: {
        **{f"static requests: {words}": claims(study, opponent) for opponent, words in OPPONENTS.items()},
        "beyond the paper": beyond(study),
    },
    quick={"seeds": 1, "others": False},
    by_month=True,
    own_logs=True,
)
