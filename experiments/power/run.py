"""One moldable job at a time in a month of a log: the outcome of each, as kept by the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.framework.ledger import Configuration, Result
from experiments.moldable.outcomes import month_result, outcomes, rows_of

__all__ = ["power_run"]


def power_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of a month of a log; a pure function of its configuration.

    Parameters
    ----------
    configuration
        "log" (sha256 of its content), "processors" of the machine, "month", "runs" (jobs that are replaced, one at a
        time), "seed", "mix", "opponent", "form" (the fields of `Form`), "policy", "begin" (see
        `experiments.framework.months`), "load" (offered load divided by that of the log), and "estimates": "users", or
        "perfect" for the true run times.
    files
        The path of each log.
    """
    policy = configuration["policy"]
    return month_result(configuration, files, lambda month: rows_of(outcomes(month, policy)))
