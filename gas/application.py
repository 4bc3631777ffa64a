"""The application: its execution time on n processors, the accepted values of n, and the margin of its walltime.

Written as a TOML file (`gas guide formats`), or built in Python from a speed-up model and a constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from documents.fields import Fields, finite_number
from gas.times import LONGEST
from speedup_models import (
    Constraint,
    Layout,
    LayoutModel,
    SpeedupModel,
    constraint_from_table,
    execution_times,
    model_from_table,
)
from speedup_models.model import UNITS, SizeUnit

if TYPE_CHECKING:
    from gas.resources import Resources

__all__ = ["Application", "Requests"]

SAFETY = 1.1
"""The default safety factor: the walltime is a tenth longer than the expected execution time."""


class Requests(NamedTuple):
    """The requests that an application can make on a machine: ascending sizes, with execution time and walltime.

    Times are in whole seconds.
    """

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    walltimes: NDArray[np.int64]


@dataclass(frozen=True)
class Application:
    """A moldable application.

    Attributes
    ----------
    model
        Execution time on n processors.
    constraint
        The sizes that the user allows; combined with the model's own constraint, if it has one.
    safety
        Walltime as a factor of the execution time, at least 1.
    unit
        Unit of a size.
    resources
        Resources of each unit; None if a request is a number of processors only.
    in_script
        Whether a job script states the resources of each unit.
    """

    model: SpeedupModel
    constraint: Constraint = field(default_factory=lambda: Constraint("any"))
    safety: float = SAFETY
    name: str = "application"
    unit: SizeUnit = "processors"
    resources: Resources | None = None
    in_script: bool = False

    def __post_init__(self) -> None:
        finite_number(self.safety, "safety", minimum=1, maximum=1000)
        more = self.unit != "processors" or isinstance(self.model, LayoutModel)
        if self.resources is None and more and not self.in_script:
            from gas.resources import Resources  # most applications count processors and nothing else

            object.__setattr__(self, "resources", Resources(self.unit))

    @classmethod
    def from_tables(cls, tables: object, place: str, *, name: str = "application") -> Application:
        """Return the application described by the tables of a TOML or JSON document.

        Parameters
        ----------
        place
            Name of the document in messages.
        name
            Name of the application if the document has none.

        Raises
        ------
        FieldError, ModelError
            The tables cannot be used; the message names the place in them.
        """
        fields = Fields(tables, place)
        name = fields.text("name", name)
        unit: SizeUnit = fields.text("unit", "processors", choices=UNITS)
        for other in UNITS:
            if other in fields and other != unit:
                raise fields.fail(
                    other, f'says which sizes there are of unit = "{other}"; this application has unit = "{unit}"'
                )
        model = model_from_table(fields.table("speedup"))
        constraint = constraint_from_table(fields.table(unit, {}))
        resources = None
        if "resources" in fields:
            from gas.resources import Resources

            resources = Resources.of(unit, fields.table("resources"))
        walltime = fields.table("walltime", {})
        safety = walltime.number("safety", SAFETY, minimum=1, maximum=1000)
        walltime.done()
        fields.done()
        return cls(model=model, constraint=constraint, safety=safety, name=name, unit=unit, resources=resources)

    def sizes(self, machine: int) -> NDArray[np.int64]:
        """Return the processor counts, ascending, that it can use on a machine with this many processors."""
        known = self.model.sizes
        if isinstance(self.model, LayoutModel) and self.model.layouts is not None:
            of = (one.nodes * (1 if self.unit == "nodes" else max(1, one.per_node)) for one in self.model.layouts)
            known = tuple(sorted(set(of)))
        if known is not None:  # a few, while a constraint may allow millions
            return np.array([n for n in known if n <= machine and self.permits(n)], np.int64)
        return self.permitted(machine)

    def permitted(self, machine: int) -> NDArray[np.int64]:
        """Return the counts, ascending, that both constraints accept, even if the model has no time for them."""
        allowed = self.constraint.allowed(machine)
        if self.model.constraint is not None:
            allowed = np.intersect1d(allowed, self.model.constraint.allowed(machine), assume_unique=True)
        return allowed

    def permits(self, processors: int) -> bool:
        """Return whether both constraints, the user's and the model's, accept this count."""
        own = self.model.constraint
        return self.constraint.permits(processors) and (own is None or own.permits(processors))

    def refusal(self, processors: int) -> str | None:
        """Return in words why a constraint does not accept a processor count; None if both accept it."""
        own, wanted = self.model.constraint, self.constraint
        if own is not None and not own.permits(processors):
            return f"{self.model.name} takes only {own.describe()}"
        if wanted.maximum is not None and processors > wanted.maximum:
            return f"above the application's max of {wanted.maximum}"
        if processors < wanted.minimum:
            return f"below the application's min of {wanted.minimum}"
        return None if wanted.permits(processors) else f"not {wanted.describe()}"

    @property
    def is_sparse(self) -> bool:
        """Whether only few counts are accepted, so that they can be listed."""
        kinds = {self.constraint.kind, getattr(self.model.constraint, "kind", None)}
        return bool(kinds & {"power-of-two", "perfect-square"})

    def requests(self, machine: int, speed: float = 1.0) -> Requests:
        """Return the possible requests on a machine with this many processors; walltimes are at most `LONGEST`.

        Parameters
        ----------
        speed
            Speed of the machine relative to the times of the model.
        """
        sizes = self.sizes(machine)
        times = self.execution_times(sizes, speed)
        walltimes = self.walltimes(times)
        possible = (times > 0) & (walltimes <= LONGEST)
        return Requests(sizes[possible], times[possible], walltimes[possible])

    @property
    def counted(self) -> str:
        """The unit of a size, in words."""
        return "GPUs" if self.unit == "gpus" else self.unit

    @property
    def is_laid_out(self) -> bool:
        """Whether the layout of a size over nodes matters."""
        return self.resources is not None and (self.resources.laid_out or isinstance(self.model, LayoutModel))

    @property
    def asks_for_more(self) -> bool:
        """Whether a request is more than a number of processors."""
        return self.resources is not None

    @property
    def devices(self) -> tuple[str, ...]:
        """The types of GPU to choose from; an empty name means any type."""
        model, wanted = self.model, () if self.resources is None else self.resources.gpu_types
        known = model.devices if isinstance(model, LayoutModel) else ()
        return tuple(one for one in known if not wanted or one in wanted) or wanted or ("",)

    def layouts(self, size: int, largest: Mapping[str, int]) -> list[Layout]:
        """Return the layouts of a size, fewest nodes first.

        If the model depends on layouts, these are all layouts that the application allows; otherwise those with the
        fewest nodes.

        Parameters
        ----------
        largest
            Units of the largest node of the machine, by type of GPU.
        """
        model, resources = self.model, self.resources
        if resources is None:
            return []
        if not isinstance(model, LayoutModel):
            return resources.layouts(size, largest, free=False)
        found = resources.layouts(size, largest, free=True)
        if model.layouts is None:
            return found
        return [one for one in found if (one if model.devices else one._replace(device="")) in model.layouts]

    def why_uneven(self, size: int, largest: int) -> str:
        """Return in words why a size has no layout on a machine whose largest node has this many units."""
        if isinstance(self.model, LayoutModel) and self.model.layouts is not None:
            return f"{self.model.name} has no layout of {size} {self.counted} for nodes of up to {largest}"
        return "" if self.resources is None else self.resources.why_uneven(size, largest)

    def execution_times(
        self, processors: NDArray[np.int64], speed: float = 1.0, layouts: Sequence[Layout] | None = None
    ) -> NDArray[np.int64]:
        """Return t(p) in whole seconds, at least 1; 0 where the model has no time.

        On a machine of another speed, max(1, ⌈round(t(p) / speed, 6)⌉).
        """
        times = execution_times(self.model, processors, layouts)
        if speed == 1:
            return times
        divided = times / speed
        exact = np.where(divided < 2.0**33, np.round(divided, 6), divided)  # rounding larger numbers would add noise
        whole = np.minimum(np.ceil(exact), 2.0**53).astype(np.int64)  # so that a walltime does not overflow
        return np.where(times > 0, np.maximum(whole, 1), 0)

    def walltimes(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return w(p) = max(t, ⌈round(t · safety, 6)⌉) for execution times in whole seconds."""
        return np.maximum(times, np.ceil(np.round(times * self.safety, 6)).astype(np.int64))
