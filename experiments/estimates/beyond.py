"""The section of the report that goes beyond the paper: both schemes under every model of estimates."""

from __future__ import annotations

from experiments.estimates.claims import changed
from experiments.estimates.results import EXACT, MODELS, Results
from experiments.published import MEASURES, POLICIES
from gas.intervals import sureness
from gas.report.blocks import Bullets, Cell, Column, Section, Table, Text, heads

__all__ = ["beyond_section"]

_NAMES = {
    "users": "users' own",
    "uniform": "exact (run times)",
    "doubled": "users' own, doubled",
    "mualem-feitelson": "model of Mu'alem & Feitelson",
    "tsafrir": "model of Tsafrir, Etsion & Feitelson",
    "history": "from history: mean + 1.5 deviations",
    "last-two": "mean of the user's last two",
}


def beyond_section(study: Results) -> Section | None:
    """Return the section; None if no model was run."""
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for terms in MODELS if study.options.others else ():
            found = study.simulations(log, terms)
            if not found:
                continue
            longer = sum(result["overruns"] for result in found) / sum(result["jobs"] for result in found)
            line: list[Cell | str] = [log.source.trace, _NAMES[terms.estimates], f"{100 * longer:.1f}%"]
            for policy in POLICIES:
                for measure in MEASURES:
                    mean = study.mean(log, policy, measure, terms)
                    digits = 0 if measure == "response" else 2
                    change = study.change(log, policy, measure, EXACT, terms) if terms != EXACT else None
                    line += ["-" if mean is None else mean.text(digits), "" if change is None else changed(change)]
            rows.append(tuple(line))
    if not rows:
        return None
    columns = [Column("trace", left=True), Column("estimates", left=True), Column("jobs that exceed their estimate")]
    for policy in ("EASY", "conservative"):
        columns += heads("mean response (s)", "against exact", "bounded slowdown", "against exact", group=policy)
    text = (
        "Some estimates are too short. To keep the work equal, no job is killed here: an exceeded estimate is raised "
        "to the run time (`overrun extend`). This makes such estimates exact and favours models that underestimate. "
        "History, and the last two jobs, include only jobs that had ended in the log before the job was submitted. If "
        "a log names no programs (KTH), history goes by user and size. If few programs run twice (SDSC), nearly every "
        "estimate comes from all jobs. In the model of Tsafrir, Etsion and Feitelson, the longest and most popular "
        "estimate is the longest that at least 1% of the jobs request; longer jobs exceed it."
    )
    left_out = [Bullets(tuple(study.not_modelled))] if study.not_modelled else []
    caption = f"{sureness(study.options.seeds)} In brackets: with a 90% interval over months."
    return Section(
        "Beyond the paper: other estimates", (Text(text), Table(tuple(columns), tuple(rows), caption), *left_out)
    )
