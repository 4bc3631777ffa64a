"""The output of ``gas fit``: tables for people, ``gas.fit/1`` for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from gas.cli.tables import say, show
from gas.times import duration_text
from speedup_models.estimates import Estimate, four_digits, percent
from speedup_models.fitting import FitReport, ModelFit
from speedup_models.front import Offer
from speedup_models.layout_fit import LayoutReport
from speedup_models.model import SizeUnit
from speedup_models.proposal import better, curve_front

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["TITLES", "document", "layout_document", "show_curve", "show_layouts", "title"]

TITLES: Final = {
    "downey": "Downey's model",
    "amdahl": "Amdahl's law",
    "table": "the measured times",
    "goodput": "the goodput model",
    "layouts": "the measured layouts",
}


def title(report: FitReport, model: str | None) -> str:
    """Return the name of the model to write."""
    return TITLES[model or better(report)]


def document(report: FitReport, name: str, model: str | None = None) -> dict[str, Any]:
    """Return a fit of sizes alone as a ``gas.fit/1`` object.

    An interval is null if there is none; its high end is null, and ``unbounded`` true, if the timings set no limit.
    """
    counts = report.timings.processors
    return {
        "schema": "gas.fit/1",
        "name": name,
        "timings": len(counts),
        "processors": sorted(set(counts.tolist())),
        "unit": report.timings.unit,
        "models": {fitted.name: _model_document(fitted) for fitted in (report.downey, report.amdahl)},
        "better": report.better,
        "fits": report.fits,
        "written": model or better(report),
        "decided": report.decided,
        "verdict": report.verdict,
        "warnings": list(report.warnings),
        "front": _front_document(curve_front(report, model)),
        "seed": report.seed,
        "bootstrap": report.bootstrap,
    }


def layout_document(report: LayoutReport, name: str, model: str) -> dict[str, Any]:
    """Return a fit of layouts as a ``gas.fit/1`` object."""
    models = {}
    if (fitted := report.fitted) is not None:
        models["goodput"] = {
            "parameters": {key: _estimate_document(one) for key, one in fitted.parameters.items()},
            "error": fitted.error,
            "cv_error": fitted.cv_error,
            "left_out": {str(size): error for size, error in fitted.left_out.items()},
        }
    return {
        "schema": "gas.fit/1",
        "name": name,
        "timings": len(report.timings.seconds),
        "processors": sorted(set(report.timings.processors.tolist())),
        "unit": report.timings.unit,
        "models": models,
        "better": report.better,
        "fits": report.fits,
        "written": model,
        "verdict": report.verdict,
        "warnings": list(report.warnings),
        "front": _front_document(report.front(model)),
    }


def _model_document(fitted: ModelFit) -> dict[str, Any]:
    return {
        "parameters": {key: _estimate_document(one) for key, one in fitted.parameters.items()},
        "identifiable": fitted.identifiable,
        "error": fitted.error,
        "aicc": fitted.aicc,
        "cv_error": fitted.cv_error,
    }


def _estimate_document(one: Estimate) -> dict[str, Any]:
    unbounded = one.high is not None and math.isinf(one.high)
    return {"value": one.value, "low": one.low, "high": None if unbounded else one.high, "unbounded": unbounded}


def _front_document(offers: list[Offer]) -> list[dict[str, Any]]:
    return [
        {
            "size": one.size,
            "layout": None if one.layout is None else {"nodes": one.layout.nodes, "per_node": one.layout.per_node},
            "seconds": one.seconds,
            "unit_seconds": one.cost,
            "speedup": one.speedup,
            "efficiency": one.efficiency,
        }
        for one in offers
    ]


def show_curve(report: FitReport, model: str | None) -> None:
    """Print both models, the better one, and the front."""
    parameters = _table("model", "parameter", ">value", "95% interval")
    quality = _table("model", ">error of the fit", ">error on left-out counts", ">AICc")
    for fitted in (report.downey, report.amdahl):
        called = f"{fitted.title}{' *' if fitted.name == report.better else ''}"
        for i, (key, estimate) in enumerate(fitted.parameters.items()):
            parameters.add_row("" if i else called, *_parameter(key, estimate))
        parameters.add_section()
        aicc = "-" if fitted.aicc is None else f"{fitted.aicc:.1f}"
        quality.add_row(called, percent(fitted.error), percent(fitted.cv_error), aicc)
    show(parameters, quality)
    say(f"* the preferred model. {report.verdict}")
    say("AICc is Akaike's information criterion for few measurements; the lower, the better.")
    if not report.fits:
        say("No model fits well enough, so the measured times are proposed as a table.")
    _show_front(curve_front(report, model), report.timings.unit, TITLES[model or better(report)])


def show_layouts(report: LayoutReport, model: str) -> None:
    """Print the goodput model, how well it fits, and the front."""
    if (fitted := report.fitted) is not None:
        parameters = _table("parameter", ">value", "95% interval")
        for key, one in fitted.parameters.items():
            parameters.add_row(*_parameter(key, one))
        quality = _table(f">{_units(report.timings.unit)} left out", ">error")
        for size, error in fitted.left_out.items():
            quality.add_row(str(size), percent(error))
        show(parameters, quality)
    say(report.verdict)
    _show_front(report.front(model), report.timings.unit, TITLES[model])


def _parameter(key: str, one: Estimate) -> tuple[str, str, str]:
    """Return the cells of a parameter: name and unit, value, interval. All of goodput's but gamma are times."""
    unit = "" if key in ("A", "sigma", "serial_fraction", "gamma") else " (s)"
    return key + unit, four_digits(one.value), one.interval()


def _show_front(offers: list[Offer], unit: SizeUnit, by: str) -> None:
    """Print the sizes worth requesting; speed-ups are relative to the smallest."""
    units = _units(unit)
    hours = {"processors": "processor-h", "gpus": "GPU-h", "nodes": "node-h"}[unit]
    laid_out = any(one.layout is not None for one in offers)
    table = _table(f">{units}", *([">nodes"] if laid_out else []), ">time", f">{hours}", ">speed-up", ">efficiency")
    for one in offers:
        nodes = [str(one.layout.nodes)] if one.layout is not None else []
        table.add_row(
            str(one.size),
            *nodes,
            duration_text(max(1, math.ceil(one.seconds))),
            f"{one.cost / 3600:,.2f}",
            f"{one.speedup:.2f}",
            f"{one.efficiency:.0%}",
        )
    least = f"; speed-up and efficiency: over {offers[0].size:,} {units}" if offers and offers[0].size > 1 else ""
    say(f"Worth requesting, by {by} (each saves 5% of the time or more for its higher cost{least}):")
    show(table)


def _table(*titles: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for each in titles:
        table.add_column(each.lstrip(">"), justify="right" if each.startswith(">") else "left")
    return table


def _units(unit: SizeUnit) -> str:
    return "GPUs" if unit == "gpus" else unit
