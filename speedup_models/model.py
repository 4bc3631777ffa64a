"""The interface of speed-up models, and t(p) in whole seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import Unusable

if TYPE_CHECKING:
    from speedup_models.constraints import Constraint

__all__ = [
    "UNITS",
    "Layout",
    "LayoutModel",
    "ModelError",
    "SizeUnit",
    "SpeedupModel",
    "execution_times",
    "processor_counts",
    "said",
    "seconds_in",
]

DECIMALS: Final = 6
"""Execution times count as exact to a microsecond before they are rounded up."""

LONGEST: Final = 2**53
"""Limit of execution times: below it, every whole number of seconds is a floating-point number."""


class ModelError(Unusable):
    """An unusable speed-up model, or a processor count that a model cannot use."""


class SpeedupModel(Protocol):
    """The execution time of an application on n processors. By default, a derived model accepts every count."""

    @property
    def name(self) -> str:
        """Return its name for display."""

    @property
    def constraint(self) -> Constraint | None:
        """Return the counts that the application itself accepts; None for any."""
        return None

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Return the only counts that the model knows, ascending; None for a formula or an interpolation.

        A model without `sizes` may also return NaN for some counts (outside the range of an interpolation).
        """
        return None

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected execution time in seconds on each count; NaN where the model has none."""


SizeUnit = Literal["processors", "gpus", "nodes"]
"""The unit of a size."""

UNITS: Final[tuple[SizeUnit, ...]] = get_args(SizeUnit)


class Layout(NamedTuple):
    """The layout of a size over nodes.

    Attributes
    ----------
    nodes
        Number of nodes.
    per_node
        GPUs per node (processors per node, for an application that counts processors); 0 for nodes without GPUs.
    device
        Type of GPU, as the site names it ("a100"); empty for any.
    """

    nodes: int
    per_node: int
    device: str = ""

    def __str__(self) -> str:
        """Return it as text: ``2x4 a100``, ``3 nodes``."""
        if not self.per_node:
            return f"{self.nodes} node{'' if self.nodes == 1 else 's'}"
        return f"{self.nodes}x{self.per_node}{f' {self.device}' if self.device else ''}"


@runtime_checkable
class LayoutModel(Protocol):
    """A speed-up model whose times depend on the layout: f(size, layout) instead of f(size).

    Attributes
    ----------
    devices
        The types of GPU for which it has times; empty if types do not matter.
    layouts
        The layouts for which it has times; None for a formula.
    """

    devices: tuple[str, ...]
    layouts: tuple[Layout, ...] | None

    def seconds_on(self, sizes: NDArray[np.int64], layouts: Sequence[Layout]) -> NDArray[np.float64]:
        """Return the expected execution time in seconds of each size in its layout; NaN where it has none."""


def processor_counts(processors: ArrayLike) -> NDArray[np.int64]:
    """Return `processors` as an int64 array of the same shape.

    Raises
    ------
    ModelError
        A value is not a whole number, or is below 1.
    """
    array = np.asarray(processors)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ModelError(f"processor counts are whole numbers, not {array.dtype}")
    if array.min() < 1:
        raise ModelError(f"{array.min()} processors: a count is at least 1")
    if array.max() > np.iinfo(np.int64).max:
        raise ModelError(f"{array.max()} processors: a count is below 2**63")
    return array.astype(np.int64, copy=False)


def execution_times(
    model: SpeedupModel, processors: ArrayLike, layouts: Sequence[Layout] | None = None
) -> NDArray[np.int64]:
    """Return t(p): the model's seconds rounded up to whole seconds, at least 1; 0 where the model has no answer.

    They are rounded to microseconds first. An exact 55 may become 55.000000000000007 in floating point, and rounding
    that up would add a second for nothing; no model is exact to microseconds. (From 2**33 s on, neighbouring
    floating-point numbers are further apart than that, and are used unchanged.)

    Parameters
    ----------
    layouts
        The layout of each size; a model of sizes alone ignores them.

    Raises
    ------
    ModelError
        The model requires layouts and there are none; it returns a negative time or one of 2**53 s or more, or fails.
        The message names model, count and value.
    """
    counts = processor_counts(processors)
    if isinstance(model, LayoutModel) and layouts is None:
        raise ModelError(
            f"{model.name}: its times depend on nodes and GPUs per node, not on a number of processors alone"
        )
    try:
        answer = model.seconds(counts) if layouts is None else seconds_in(model, counts, layouts)
        seconds = np.asarray(answer, dtype=np.float64)
    except ModelError:
        raise
    except Exception as error:  # an error of a plug-in
        raise ModelError(f"{model.name}: gives no execution times: {said(error)}") from error
    if seconds.shape != counts.shape:
        raise ModelError(
            f"{model.name}: gives times of shape {seconds.shape} for counts of shape {counts.shape}; "
            "one time for each count is needed"
        )
    unusable = (seconds < 0) | (seconds >= LONGEST)  # NaN is neither
    if unusable.any():
        count, value = counts[unusable].flat[0], seconds[unusable].flat[0]
        limit = "below 0" if value < 0 else "not below 2**53 s, the longest that can be planned"
        raise ModelError(f"{model.name}: {value:.6g} s on {count} processors is {limit}")
    known = np.isfinite(seconds)
    seconds = np.where(known, seconds, 0.0)
    # Scaling by 10**6 would itself add noise where the resolution is coarser than a microsecond.
    exact = np.where(seconds < 2.0**33, np.round(seconds, DECIMALS), seconds)
    return np.where(known, np.maximum(np.ceil(exact), 1.0), 0.0).astype(np.int64)


def seconds_in(model: SpeedupModel, counts: NDArray[np.int64], layouts: Sequence[Layout]) -> NDArray[np.float64]:
    """Return f(size, layout) of a model that depends on layouts, f(size) of any other model."""
    return model.seconds_on(counts, layouts) if isinstance(model, LayoutModel) else model.seconds(counts)


def said(error: Exception) -> str:
    """Return an error of foreign code on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
