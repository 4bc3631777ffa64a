"""Turns measured sizes on nodes into a model of a whole run: AdaptDL's if it fits, otherwise the measured layouts.

Without data on batches, a step is the same work on any size (strong scaling), divided into `PARTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from speedup_models.estimates import POOR, percent
from speedup_models.front import Offer, front, offers
from speedup_models.goodput import Goodput, Work
from speedup_models.goodput_fit import GoodputFit, fit_goodput
from speedup_models.layouts import LayoutTable
from speedup_models.model import Layout, ModelError
from speedup_models.sizes import measured_sizes
from speedup_models.timings import Timings

__all__ = ["LayoutReport", "Run", "fit_layouts"]

PARTS: Final = 2**20
"""Parts of a step with an unknown number of samples; enough for any number of GPUs."""


@dataclass(frozen=True)
class Run:
    """The user's data on the run to be planned; None if the timings contain them.

    Attributes
    ----------
    steps, samples
        Length of the run: one of them.
    batch
        Samples per step over all GPUs.
    largest_batch, noise
        With both, the batch may vary up to `largest_batch`.
    """

    steps: int | None = None
    samples: float | None = None
    batch: int | None = None
    largest_batch: int | None = None
    noise: float | None = None


@dataclass(frozen=True, eq=False)
class LayoutReport:
    """The goodput model fitted to timings, whether it is usable, and models of the run by it and by the table.

    Attributes
    ----------
    timings
        Timings of steps.
    fitted
        None if the model does not apply to the timings.
    goodput, table
        The run by each model; None if there is none.
    fits
        Whether the goodput model is usable.
    """

    timings: Timings
    fitted: GoodputFit | None
    goodput: Goodput | None
    table: LayoutTable | None
    fits: bool
    verdict: str
    warnings: tuple[str, ...]

    @property
    def better(self) -> str:
        """Return the model to use."""
        return "goodput" if self.fits else "layouts"

    def model(self, name: str) -> Goodput | LayoutTable:
        """Return the run by the named model.

        Raises
        ------
        ModelError
            The timings do not yield it.
        """
        found = self.goodput if name == "goodput" else self.table
        if found is None:
            raise ModelError(f"no {name} of these timings: {self.verdict}")
        return found

    def front(self, name: str) -> list[Offer]:
        """Return the sizes worth requesting, by a model, in layouts like the measured ones."""
        return front(*self._sizes(name))

    def offers(self, name: str) -> list[Offer]:
        """Return all sizes in all such layouts."""
        return offers(*self._sizes(name))

    def _sizes(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64], list[Layout]]:
        model = self.model(name)
        if isinstance(model, LayoutTable):
            layouts = list(model.layouts)
        else:
            constraint = measured_sizes(self.timings.processors)
            each = {-(-size // nodes) for size, nodes in self._pairs() if size % nodes == 0}
            sizes = constraint.allowed(int(self.timings.processors.max())).tolist()
            layouts = [
                Layout(size // per, per) for size in sizes for per in sorted(each, reverse=True) if size % per == 0
            ]
        of = np.array([one.nodes * max(1, one.per_node) for one in layouts], np.int64)
        return of, model.seconds_on(of, layouts), layouts

    def _pairs(self) -> list[tuple[int, int]]:
        assert self.timings.nodes is not None
        return sorted(set(zip(self.timings.processors.tolist(), self.timings.nodes.tolist(), strict=True)))


def fit_layouts(timings: Timings, run: Run, *, intervals: bool = True) -> LayoutReport:
    """Return the report on timings whose nodes are known.

    Raises
    ------
    ModelError
        Required data are missing: nodes, the length of the run, its batch.
    """
    if timings.nodes is None:
        raise ModelError("the number of nodes of each size is missing; add a column nodes, or --gpus-per-node")
    whole = timings.local is None
    if whole:
        timings = _as_steps(timings, run).with_batch(PARTS)
        run = Run(run.steps if timings.each == "step" else 1, batch=PARTS)
    elif timings.each == "run":
        raise ModelError("batches need the times of a step, but these times are of the whole run")
    timings = timings.of_step()
    batch, local = _batch(timings, run)
    samples = _samples(run, batch)
    assert timings.local is not None
    assert timings.nodes is not None
    accumulated = np.zeros(len(timings.seconds)) if timings.accumulated is None else timings.accumulated
    work = Work(timings.nodes, timings.processors, timings.local, accumulated)
    table = _table(timings, batch, local, samples)
    types = sorted(set(timings.devices))
    if len(types) > 1:
        verdict = f"The timings are of several types of GPU ({', '.join(types)}); fit each of them separately."
        return LayoutReport(timings, None, None, table, False, verdict, ())
    try:
        fitted = fit_goodput(work, timings.seconds, intervals=intervals)
    except ModelError as error:
        if table is None:
            raise
        return LayoutReport(timings, None, None, table, False, f"No model was fitted: {error}.", ())
    largest_local = None if whole or local is not None else max(1, int(timings.local.max()))
    goodput = Goodput(
        samples=samples,
        batch=local or batch or 1,
        network=fitted.network,
        largest_batch=run.largest_batch or local or batch or 1,
        largest_local=largest_local,
        noise=run.noise or 0.0,
        local_batch=local,
    )
    notes = fitted.notes
    if whole or local is not None:  # the number of samples per GPU is then not a choice
        notes = tuple(note for note in notes if local is None or "same number of samples" not in note)
    return LayoutReport(timings, fitted, goodput, table, fitted.fits, _verdict(fitted, table), notes)


def _as_steps(timings: Timings, run: Run) -> Timings:
    """Return timings without batches as timings of a step, or of the run as one step."""
    if run.batch is not None or run.largest_batch is not None:
        raise ModelError("the samples of the measured steps are missing; add a column global_batch or local_batch")
    if timings.each == "step" and run.samples is None and run.steps is not None:
        return timings
    return timings.of_run(run.steps, run.samples)


def _batch(timings: Timings, run: Run) -> tuple[int | None, int | None]:
    """Return the run's batch over all GPUs, or per GPU; one of them is fixed."""
    batches = np.unique(np.round(timings.batch, 6)) if timings.batch is not None else np.array([])
    locals_ = np.unique(timings.local) if timings.local is not None else np.array([])
    if run.largest_batch is not None and not run.noise:
        raise ModelError("--max-batch needs --noise-scale, which gives the benefit of a larger batch")
    if run.batch is not None:
        return run.batch, None
    if len(batches) == 1:
        return round(float(batches[0])), None
    if len(locals_) == 1 and run.largest_batch is None:
        return None, round(float(locals_[0]))
    raise ModelError(
        f"steps had batches of {batches[0]:g} to {batches[-1]:g}; give the batch of the run, over all GPUs, with "
        "--batch"
    )


def _samples(run: Run, batch: int | None) -> float:
    if run.samples is not None and run.steps is not None:
        raise ModelError(f"--steps {run.steps} and --samples {run.samples:g}: give only one of them")
    if run.samples is not None:
        return run.samples
    if run.steps is None:
        raise ModelError("times are of one step; give the length of the run with --steps or --samples")
    if batch is None:
        raise ModelError(
            f"--steps {run.steps}: the batch grows with the GPUs, so steps do not determine the length of the run; "
            "give --samples"
        )
    return float(run.steps * batch)


def _table(timings: Timings, batch: int | None, local: int | None, samples: float) -> LayoutTable | None:
    """Return the measured layouts with the run's batch; None if no layout had it."""
    assert timings.nodes is not None
    assert timings.batch is not None
    assert timings.local is not None
    had = timings.local == local if batch is None else np.abs(timings.batch - batch) < 0.5
    logs: dict[Layout, list[float]] = {}
    for i in np.flatnonzero(had & (timings.processors % timings.nodes == 0)).tolist():
        nodes = int(timings.nodes[i])
        layout = Layout(nodes, int(timings.processors[i]) // nodes, timings.devices[i] if timings.devices else "")
        logs.setdefault(layout, []).append(float(np.log(timings.seconds[i] * samples / timings.batch[i])))
    if not logs or len({bool(one.device) for one in logs}) > 1:
        return None
    return LayoutTable(tuple(logs), tuple(float(np.exp(np.mean(each))) for each in logs.values()))


def _verdict(fitted: GoodputFit, table: LayoutTable | None) -> str:
    errors = (
        f"its typical error is {percent(fitted.error)}, and {percent(fitted.cv_error)} at sizes left out of the fit"
    )
    if fitted.fits:
        return f"The goodput model fits: {errors}."
    worst = int(np.argmax(np.abs(fitted.residuals)))
    gpus, nodes = (int(np.asarray(array)[worst]) for array in (fitted.work.gpus, fitted.work.nodes))
    share = float(fitted.residuals[worst])
    why = f"The goodput model does not fit: {errors} (at most {percent(POOR)} is usable)."
    if fitted.cv_error is None:
        why = "The goodput model is not reliable: there are too few sizes to predict any from the others."
    off = f"Farthest off: {gpus} on {nodes} node{'s' if nodes > 1 else ''}, measured {percent(abs(share))} "
    off += f"{'above' if share > 0 else 'below'} it."
    instead = "The measured times are proposed." if table is not None else "There is no model to propose."
    return f"{why} {off} {instead}"
