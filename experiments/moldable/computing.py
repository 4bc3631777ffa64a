"""Computing a study of months."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.framework.command import computed, logs_at_hand
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.framework.ledger import Result
    from experiments.moldable.months import Options, Study
    from experiments.moldable.terms import Terms

__all__ = ["study_of"]


def study_of(
    of_month: Callable[..., Result],
    terms: Sequence[Terms],
    options: Options,
    traces: Path | None,
    *,
    output: Path,
    workers: int | None,
    part: tuple[int, int] | None,
    dask: str | None = None,
) -> Study | None:
    """Return a study of months, with what is not kept yet computed; None if only a part was. See `computed`."""
    from experiments.framework.sites import SITES
    from experiments.moldable.months import Study, cost_runs, month_runs

    logs, absent = logs_at_hand(traces, {site.trace for site in SITES})
    of_months, too_small = month_runs(options, logs, terms)
    if not of_months:
        raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs")
    configurations = [one.configuration for one in of_months]
    more = cost_runs(of_months)
    configurations += [one.configuration for one in more]
    results = computed(of_month, configurations, logs, output=output, workers=workers, part=part, dask=dask)
    if results is None:
        return None
    count = len(of_months)
    too_small += [
        f"{one.log.name} {one.month}, {one.terms.name}: {result['too_few']}"
        for one, result in zip(of_months, results, strict=False)
        if "too_few" in result
    ]
    if not any(result["outcomes"] for one, result in zip(of_months, results, strict=False) if one.terms == terms[0]):
        raise BadInput(f"--runs {options.runs}: no month has so many jobs that can give way; {too_small[-1]}")
    return Study(options, of_months, results[:count], absent, too_small, list(zip(more, results[count:], strict=True)))
