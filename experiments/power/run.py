"""One moldable job at a time in a month of a log: the outcomes of each, as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.framework.ledger import Configuration, Result
from experiments.moldable.outcomes import month_with_substitutes, outcomes, rows_of
from experiments.moldable.substitution import TooFewJobs

__all__ = ["power_run"]


def power_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "month", "runs" (how many jobs give way, one at a
        time), "seed", "mix", "opponent", "form" (the fields of `Form`), "policy", and "estimates": "users", or
        "perfect" for those that are the run times.
    files
        The path of each log.
    """
    try:
        jobs, placed, form = month_with_substitutes(configuration, files)
    except TooFewJobs as error:
        return {"jobs": 0, "outcomes": [], "too_few": str(error)}
    found = outcomes(jobs, placed, form, configuration["policy"])
    return {"jobs": len(jobs), "outcomes": rows_of(found)}
