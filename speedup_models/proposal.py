"""The application file that a fit proposes, with its origin in comments."""

from __future__ import annotations

import textwrap

import numpy as np

from documents.fields import shown
from speedup_models.constraints import Constraint
from speedup_models.estimates import COVERAGE, percent
from speedup_models.fitting import FitReport
from speedup_models.front import Offer, front
from speedup_models.layout_fit import PARTS, LayoutReport
from speedup_models.layouts import LayoutTable
from speedup_models.model import ModelError, SizeUnit
from speedup_models.sizes import measured_sizes
from speedup_models.table import Table

__all__ = ["application_text", "better", "curve_front", "layout_text"]


def better(report: FitReport) -> str:
    """Return the model to write: the better one, or the measured times if none fits."""
    return report.better if report.fits else "table"


def curve_front(report: FitReport, model: str | None = None) -> list[Offer]:
    """Return the sizes worth requesting, by the better model or the named one."""
    chosen = model or better(report)
    if chosen == "table":
        table = report.table()
        return front(table.counts, table.times)
    sizes = measured_sizes(report.timings.processors).allowed(int(report.timings.processors[-1]))
    if len(sizes) > 1000:
        sizes = sizes[np.unique(np.geomspace(1, len(sizes), 1000).astype(int)) - 1]
    return front(sizes, report.of("amdahl" if chosen == "amdahl" else "downey").seconds(sizes))


def application_text(report: FitReport, name: str, model: str | None = None) -> str:
    """Return an application file (TOML) of the better model, or of the one named."""
    chosen = model or better(report)
    counts = report.timings.processors
    origin = (
        f"{len(counts)} timings on {len(np.unique(counts))} {_counted(report.timings.unit)} "
        f"from {counts[0]} to {counts[-1]}"
    )
    if chosen == "table":
        why = [f"No model fits well enough: {report.verdict}"] if not report.fits else []
        comments = [f"Measured times, {origin}; there is no time on others.", *why]
        return _document(name, comments, report.timings.unit, _table_lines(report.table()), [])
    fitted = report.of("amdahl" if chosen == "amdahl" else "downey")
    comments = [
        f"{fitted.title}, fitted by gas fit to {origin}; outside of that range it extrapolates.",
        f"Least squares on log time. Typical error {percent(fitted.error)}; "
        f"predicting each count from the others: {percent(fitted.cv_error)}.",
        f"Intervals: {COVERAGE:.0%}, from {report.bootstrap} residual bootstrap samples, seed {report.seed}."
        if len(fitted.samples)
        else "There are no intervals.",
        report.verdict,
        *(f"Warning: {warning}" for warning in report.warnings),
    ]
    if fitted.name != report.better:
        comments.append(f"{fitted.title} was requested; the comparison prefers {report.of(report.better).title}.")
    elif not report.fits:
        comments.append(f"{fitted.title} was requested; the measured times themselves (table) are proposed.")
    lines = [f'model = "{fitted.name}"']
    for key, estimate in fitted.parameters.items():
        unit = "seconds; " if key == "sequential_time" else ""
        lines.append(f"{key} = {estimate.value:.6g}  # {unit}{estimate.interval()}")
    return _document(name, comments, report.timings.unit, lines, _constraint_lines(measured_sizes(counts)))


def layout_text(report: LayoutReport, name: str, model: str | None = None) -> str:
    """Return an application file (TOML) of the goodput model, or of the measured layouts if it does not fit."""
    chosen = model or report.better
    found = report.model(chosen)
    unit, counts = report.timings.unit, report.timings.processors
    origin = f"{len(counts)} timings on {counts.min()} to {counts.max()} {_units(unit)}"
    warnings = [f"Warning: {each}" for each in report.warnings]
    if isinstance(found, LayoutTable):
        comments = [f"Measured times, {origin}; there is no time in other layouts.", report.verdict]
        return _document(name, comments, unit, _layout_lines(found), [])
    fitted = report.fitted
    assert fitted is not None  # there is a model of it
    comments = [
        f"The goodput model (AdaptDL), fitted by gas fit to {origin}; outside of that range it extrapolates.",
        f"Intervals: {COVERAGE:.0%}, of profile likelihood."
        if any(one.low is not None for one in fitted.parameters.values())
        else "There are no intervals.",
        report.verdict,
        *warnings,
    ]
    if not report.fits:
        comments.append("The goodput model was requested, but it is not reliable.")
    lines = ['model = "goodput"', f"samples = {found.samples:.10g}"]
    if found.local_batch is not None:
        lines.append(f"local_batch = {found.local_batch}  # on each GPU, as in all timings")
    elif found.batch == PARTS:
        lines.append(f"batch = {found.batch}  # parts of the same work at each size; the timings have no samples")
    else:
        lines.append(f"batch = {found.batch}")
        if found.largest_local is not None:
            lines.append(f"max_local_batch = {found.largest_local}  # largest batch measured on a GPU")
    if found.largest_batch > found.batch:
        lines += [f"max_batch = {found.largest_batch}", f"noise_scale = {found.noise:.6g}"]
    lines += [f"{key} = {one.value:.6g}  # {one.interval()}" for key, one in fitted.parameters.items()]
    return _document(name, comments, unit, lines, _constraint_lines(measured_sizes(counts)))


def _document(name: str, comments: list[str], unit: SizeUnit, speedup: list[str], sizes: list[str]) -> str:
    if not name.strip() or not name.isprintable():
        raise ModelError(f"application name {shown(name)}: write one line of printable text")
    lines = [
        line for text in comments for line in textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="#   ")
    ]
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    lines.append(f'name = "{escaped}"')
    if unit != "processors":
        lines.append(f'unit = "{unit}"')
    lines += ["", "[speedup]", *speedup]
    if sizes:
        lines += ["", f"[{unit}]", *sizes]
    return "\n".join(lines) + "\n"


def _constraint_lines(constraint: Constraint) -> list[str]:
    """Return the lines of a constraint to measured sizes."""
    if constraint.sizes is not None:
        listed = ", ".join(map(str, constraint.sizes))
        return ['constraint = "list"', f'list = [{listed}]  # as measured; "any" allows those in between']
    lines = []
    if constraint.kind != "any":
        lines += [f'constraint = "{constraint.kind}"  # as the measured sizes are; "any" allows those in between']
    if constraint.multiple is not None:
        lines.append(f"multiple = {constraint.multiple}")
    if constraint.minimum > 1:
        lines.append(f"min = {constraint.minimum}")
    return [*lines, f"max = {constraint.maximum}  # the largest measured size; beyond it the model extrapolates"]


def _table_lines(table: Table) -> list[str]:
    rows = [f"{count} = {seconds:.6g}" for count, seconds in zip(table.counts, table.times, strict=True)]
    return ['model = "table"', f"times = {{ {', '.join(rows)} }}"]


def _layout_lines(table: LayoutTable) -> list[str]:
    lines = ['model = "layouts"', "times = ["]
    for layout, seconds in zip(table.layouts, table.times, strict=True):
        device = f', type = "{layout.device}"' if layout.device else ""
        lines.append(
            f"    {{ nodes = {layout.nodes}, gpus_per_node = {layout.per_node}{device}, seconds = {seconds:.6g} }},"
        )
    return [*lines, "]"]


def _counted(unit: SizeUnit) -> str:
    return {"processors": "processor counts", "gpus": "GPU counts", "nodes": "node counts"}[unit]


def _units(unit: SizeUnit) -> str:
    return "GPUs" if unit == "gpus" else unit
