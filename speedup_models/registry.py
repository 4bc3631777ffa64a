"""Finds the model that a [speedup] table names: a built-in one, or a plug-in.

A model may come from another distribution, under the entry-point group ``gas.speedup_models``: a callable that takes a
``dict`` of the keys except ``model`` and returns a `SpeedupModel`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from documents.fields import Fields, nearest, quoted, shown
from speedup_models.constraints import Constraint
from speedup_models.model import LayoutModel, SpeedupModel, said

__all__ = ["BUILT_IN", "PLUG_INS", "model_from_table"]

PLUG_INS: Final = "gas.speedup_models"
"""The entry-point group of models from other distributions."""

BUILT_IN: Final = ("amdahl", "downey", "goodput", "layouts", "nas", "table")
"""Models of this package, each in a module of its name."""


def model_from_table(fields: Fields) -> SpeedupModel:
    """Return the model of an application file's [speedup] table.

    The key ``model`` names it: nas, downey, amdahl, table, or a plug-in. Plug-ins are looked up only for names that are
    not built in, and only the named one is loaded.

    Raises
    ------
    FieldError
        A key is missing, unknown or invalid; there is no such model; or a plug-in fails.
    """
    name: str = fields.text("model")
    if name in BUILT_IN:
        model = _built_in(name)(fields)
        fields.done()
        return model
    plug_ins = list(entry_points(group=PLUG_INS))
    named = [entry for entry in plug_ins if entry.name == name]
    if not named:
        known = {*BUILT_IN, *(entry.name for entry in plug_ins)}
        raise fields.fail("model", f"{quoted(name)} is not known{nearest(name, known)}")
    origins = sorted({_origin(entry) for entry in named})
    if len(origins) > 1:
        raise fields.fail(
            "model", f'plug-in "{name}" is registered {len(origins)} times; keep one of {"; ".join(origins)}'
        )
    return _plug_in(named[0], fields)


def _built_in(name: str) -> Callable[[Fields], SpeedupModel]:
    """Return the function that makes a model from its keys; only the module of that model is imported."""
    if name == "amdahl":
        from speedup_models.amdahl import amdahl_from_fields

        return amdahl_from_fields
    if name == "downey":
        from speedup_models.downey import downey_from_fields

        return downey_from_fields
    if name == "goodput":
        from speedup_models.goodput import goodput_from_fields

        return goodput_from_fields
    if name == "layouts":
        from speedup_models.layouts import layouts_from_fields

        return layouts_from_fields
    if name == "nas":
        from speedup_models.nas import nas_from_fields

        return nas_from_fields
    from speedup_models.table import table_from_fields

    return table_from_fields


def _plug_in(entry: EntryPoint, fields: Fields) -> SpeedupModel:
    what = f'plug-in "{entry.name}" ({_origin(entry)})'
    keys = fields.rest()
    try:
        make = entry.load()
    except Exception as error:
        raise fields.fail("model", f"{what} cannot be loaded: {said(error)}; repair or uninstall it") from error
    try:
        model = make(keys)
    except Exception as error:
        raise fields.fail("model", f"{what} refuses these keys: {said(error)}") from error
    problem = _shortcoming(model)
    if problem:
        raise fields.fail("model", f"{what} returns {shown(model)}, which is not a speed-up model: {problem}")
    return model  # type: ignore[no-any-return]  # just checked


def _shortcoming(model: Any) -> str | None:
    """Return why an object is not a SpeedupModel; None if it is one."""
    try:
        name, constraint, sizes = model.name, model.constraint, model.sizes
    except Exception as error:
        return said(error)
    if not isinstance(name, str) or not name:
        return f"its name {shown(name)} is not a string"
    if constraint is not None and not isinstance(constraint, Constraint):
        return f"its constraint {shown(constraint)} is neither a Constraint nor None"
    if sizes is not None:
        if not isinstance(sizes, tuple) or not all(type(n) is int and n >= 1 for n in sizes):
            return f"its sizes {shown(sizes)} are neither None nor a tuple of whole numbers of at least 1"
        if list(sizes) != sorted(set(sizes)):
            return f"its sizes {shown(sizes)} do not ascend"
    if not callable(getattr(model, "seconds", None)) and not callable(getattr(model, "seconds_on", None)):
        return "it has neither a method seconds(processors) nor seconds_on(sizes, layouts)"
    if callable(getattr(model, "seconds_on", None)) and not isinstance(model, LayoutModel):
        return "it has seconds_on, which needs devices and layouts too (LayoutModel)"
    return None


def _origin(entry: EntryPoint) -> str:
    return f"{entry.value} of {entry.dist.name}" if entry.dist is not None else entry.value
