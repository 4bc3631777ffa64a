"""How long an application runs on n processors, and which n it accepts.

===================  ===================================================================================
`model`              what every model answers, and t(p) in whole seconds
`registry`           which model a [speedup] table means, plug-ins included
`constraints`        which processor counts are allowed, reading [processors]
`downey`             Downey's model: sequential time, average parallelism A, variance sigma
`amdahl`             Amdahl's law: sequential time and serial fraction
`table`              measured times, as they stand or interpolated
`nas`                the NAS Parallel Benchmarks, from the packaged ``data/npb.csv``
`fitting`            Downey's model and Amdahl's law fitted to timings, and which of them to believe
`families`           both of those as a least-squares search sees them
`timings`            measured pairs of processors and seconds, from CSV
`fields`             strict reading of one table of a TOML or JSON document
===================  ===================================================================================

Everything here is a pure function of its arguments, save reading a CSV file. Nothing knows of schedulers or logs.
"""

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from speedup_models.amdahl import Amdahl
    from speedup_models.constraints import Constraint, ConstraintError, Intersection, constraint_from_table
    from speedup_models.downey import Downey
    from speedup_models.fields import FieldError
    from speedup_models.model import ModelError, SpeedupModel, execution_times
    from speedup_models.nas import Nas
    from speedup_models.registry import model_from_table
    from speedup_models.table import Table

__all__ = [
    "Amdahl",
    "Constraint",
    "ConstraintError",
    "Downey",
    "FieldError",
    "Intersection",
    "ModelError",
    "Nas",
    "SpeedupModel",
    "Table",
    "constraint_from_table",
    "execution_times",
    "model_from_table",
]

_HOMES = {
    "speedup_models.amdahl": ("Amdahl",),
    "speedup_models.constraints": (
        "Constraint",
        "ConstraintError",
        "Intersection",
        "constraint_from_table",
    ),
    "speedup_models.downey": ("Downey",),
    "speedup_models.fields": ("FieldError",),
    "speedup_models.model": (
        "ModelError",
        "SpeedupModel",
        "execution_times",
    ),
    "speedup_models.nas": ("Nas",),
    "speedup_models.registry": ("model_from_table",),
    "speedup_models.table": ("Table",),
}


def __getattr__(name: str) -> object:
    """Import names on demand: a plan needs one model, and an error none."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
