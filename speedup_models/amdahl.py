"""Amdahl's law: a part of the work is serial, the rest divides evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from documents.fields import FieldError, Fields, finite_number
from speedup_models.model import ModelError, SpeedupModel, processor_counts

__all__ = ["Amdahl", "amdahl_from_fields"]


@dataclass(frozen=True, slots=True)
class Amdahl(SpeedupModel):
    """An application after Amdahl's law: T(n) = L (f + (1 - f)/n).

    Attributes
    ----------
    sequential_time
        L, seconds on one processor; above 0.
    serial_fraction
        f, the share of L that gains nothing from more processors, from 0 to 1.
    """

    sequential_time: float
    serial_fraction: float

    def __post_init__(self) -> None:
        try:
            finite_number(self.sequential_time, "sequential_time", above=0)
            finite_number(self.serial_fraction, "serial_fraction", minimum=0, maximum=1)
        except FieldError as error:
            raise ModelError(f"Amdahl's law: {error}") from None

    @property
    def name(self) -> str:
        """Return the model with its parameter."""
        return f"Amdahl serial fraction {self.serial_fraction:.6g}"

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the execution time in seconds on each count; raise for a count below 1."""
        n = processor_counts(processors)
        return np.asarray(self.sequential_time * (self.serial_fraction + (1 - self.serial_fraction) / n))


def amdahl_from_fields(fields: Fields) -> Amdahl:
    """Return the model of a [speedup] table with the keys sequential_time (seconds) and serial_fraction."""
    return Amdahl(
        sequential_time=fields.number("sequential_time", above=0),
        serial_fraction=fields.number("serial_fraction", minimum=0, maximum=1),
    )
