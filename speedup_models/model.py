"""What every speed-up model answers, and reading one from an application file.

A model may also come from another distribution, under the entry-point group ``gas.speedup_models``: a callable
that takes a ``dict`` of the keys beside ``model`` and returns a `SpeedupModel`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speedup_models.fields import Fields, nearest, shown

if TYPE_CHECKING:
    from speedup_models.constraints import Constraint

__all__ = ["PLUG_INS", "ModelError", "SpeedupModel", "execution_times", "model_from_table", "processor_counts"]

PLUG_INS: Final = "gas.speedup_models"
"""The entry-point group of models from other distributions."""

DECIMALS: Final = 6
"""Execution times are taken as exact to a microsecond before they are rounded up."""

LONGEST: Final = 2**53
"""Execution times stay below: up to here every whole number of seconds is a floating-point number of its own."""


class ModelError(ValueError):
    """A speed-up model, or a processor count put to it, that cannot be used."""


class SpeedupModel(Protocol):
    """How long an application runs on n processors."""

    @property
    def name(self) -> str:
        """Return what a person calls it, in a few words."""

    @property
    def constraint(self) -> Constraint | None:
        """Return which counts the application itself accepts, None if it says nothing about that."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Return the only counts that the model knows, ascending; None for a formula or an interpolation.

        Also a model without `sizes` may answer NaN for some counts (outside the range of an interpolation).
        """

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the expected execution time in seconds on each count, NaN where the model has no answer."""


def processor_counts(processors: ArrayLike) -> NDArray[np.int64]:
    """Return `processors` as an int64 array of the same shape.

    Raises
    ------
    ModelError
        Something in it is not a whole number, or is below 1.
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


def execution_times(model: SpeedupModel, processors: ArrayLike) -> NDArray[np.int64]:
    """Return t(p): the model's seconds rounded up to whole seconds, at least 1; 0 where the model has no answer.

    They are rounded to microseconds first. What is 55 in real arithmetic may come out of floating point as
    55.000000000000007, and rounding that up would charge a second for nothing; no model knows microseconds.
    (From 2**33 s on, neighbouring floating-point numbers lie further apart than that and are taken as they are.)

    Raises
    ------
    ModelError
        The model answers with a negative time or one of 2**53 s or more, or fails; the message names model,
        count and value.
    """
    counts = processor_counts(processors)
    try:
        seconds = np.asarray(model.seconds(counts), dtype=np.float64)
    except ModelError:
        raise
    except Exception as error:  # a plug-in's own mistake
        raise ModelError(f"{model.name}: gives no execution times: {_said(error)}") from error
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
    # Scaling by 10**6 would itself make noise where the resolution is coarser than a microsecond.
    exact = np.where(seconds < 2.0**33, np.round(seconds, DECIMALS), seconds)
    return np.where(known, np.maximum(np.ceil(exact), 1.0), 0.0).astype(np.int64)


def model_from_table(fields: Fields) -> SpeedupModel:
    """Return the model that an application file's [speedup] table describes.

    The key ``model`` names it: nas, downey, amdahl, table, or a plug-in. Plug-ins are looked up only for a name that
    is not built in, and only the one named is loaded.

    Raises
    ------
    FieldError
        A key is missing, unknown or has a value that cannot be used; no such model; a plug-in that fails.
    """
    built_in = _built_in()
    name: str = fields.text("model")
    if name in built_in:
        model = built_in[name](fields)
        fields.done()
        return model
    plug_ins = list(entry_points(group=PLUG_INS))
    named = [entry for entry in plug_ins if entry.name == name]
    if not named:
        known = {*built_in, *(entry.name for entry in plug_ins)}
        raise fields.fail("model", f'"{name}" is not known{nearest(name, known)}')
    origins = sorted({_origin(entry) for entry in named})
    if len(origins) > 1:
        raise fields.fail("model", f'plug-in "{name}" is there {len(origins)} times; keep one of {"; ".join(origins)}')
    return _plug_in(named[0], fields)


def _built_in() -> dict[str, Callable[[Fields], SpeedupModel]]:
    # The models raise this module's ModelError, so they can only be imported once it is there.
    from speedup_models import amdahl, downey, nas, table

    return {
        "amdahl": amdahl.amdahl_from_fields,
        "downey": downey.downey_from_fields,
        "nas": nas.nas_from_fields,
        "table": table.table_from_fields,
    }


def _plug_in(entry: EntryPoint, fields: Fields) -> SpeedupModel:
    what = f'plug-in "{entry.name}" ({_origin(entry)})'
    keys = fields.rest()
    try:
        make = entry.load()
    except Exception as error:
        raise fields.fail("model", f"{what} cannot be loaded: {_said(error)}; repair or uninstall it") from error
    try:
        model = make(keys)
    except Exception as error:
        raise fields.fail("model", f"{what} refuses these keys: {_said(error)}") from error
    problem = _shortcoming(model)
    if problem:
        raise fields.fail("model", f"{what} returns {shown(model)}, which is no speed-up model: {problem}")
    return model  # type: ignore[no-any-return]  # just checked


def _shortcoming(model: Any) -> str | None:
    """Return in which way an object is not a SpeedupModel, None if it is one."""
    from speedup_models.constraints import Constraint, Intersection

    try:
        name, constraint, sizes = model.name, model.constraint, model.sizes
    except Exception as error:
        return _said(error)
    if not isinstance(name, str) or not name:
        return f"its name {shown(name)} is not a text"
    if constraint is not None and not isinstance(constraint, (Constraint, Intersection)):
        return f"its constraint {shown(constraint)} is neither a Constraint nor None"
    if sizes is not None:
        if not isinstance(sizes, tuple) or not all(type(n) is int and n >= 1 for n in sizes):
            return f"its sizes {shown(sizes)} are neither None nor a tuple of whole numbers of at least 1"
        if list(sizes) != sorted(set(sizes)):
            return f"its sizes {shown(sizes)} do not ascend"
    if not callable(getattr(model, "seconds", None)):
        return "it has no method seconds(processors)"
    return None


def _origin(entry: EntryPoint) -> str:
    return f"{entry.value} of {entry.dist.name}" if entry.dist is not None else entry.value


def _said(error: Exception) -> str:
    """Return an error of foreign code on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
