"""The workload models of Mu'alem & Feitelson (2001, 3.1): F after Feitelson 1996, J after Jann et al. 1997.

Fs, Fl and Fsl are model F with more small jobs, with longer jobs, and with both, to resemble the CTC log (3.3). The
paper gives no numbers for them; ours are fitted to that log (`workloads.feitelson.VARIANTS`).

For most constants of model F there is no source. `CHANGES` has another choice for each of them, one at a time, to see
which of them matter for the findings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from workloads import Log
from workloads.estimates import uniform_factor
from workloads.feitelson import VARIANTS
from workloads.feitelson import generate as feitelson_log
from workloads.jann import ctc_model
from workloads.jann import generate as jann_log

__all__ = ["CHANGES", "MODELS", "MODIFIED", "MOST_REPEATS", "PROCESSORS", "Change", "Model", "generate"]
__all__ += ["generate_changed"]

Model = Literal["F", "J", "Fs", "Fl", "Fsl"]

MODELS: tuple[Model, ...] = ("F", "J")
"""The models of the paper's Fig. 4 and 5."""

MODIFIED: tuple[Model, ...] = ("Fs", "Fl", "Fsl")
"""The models of its Fig. 7."""

PROCESSORS: dict[Model, int] = {"F": 128, "J": 322, **dict.fromkeys(MODIFIED, 128)}
"""Processors of their machines: for F our choice (the paper gives none), for J the part of CTC's SP2 in Jann et al."""

MOST_REPEATS = 20
"""Most repeated runs of a job of model F. Runs are submitted at the pace of an empty machine: hundreds of runs of a job
as large as the machine would alone make a load of 1 for weeks, and there would be no steady state to measure.
"""


def generate(model: Model, jobs: int, load: float, seed: int) -> Log:
    """Return jobs of a model at a load; at other loads, the same jobs arrive at another pace."""
    generator = np.random.default_rng([seed, int(model == "J")])
    if model == "J":
        return jann_log(jobs, PROCESSORS["J"], generator=generator, model=ctc_model(), load=load)
    return feitelson_log(jobs, PROCESSORS[model], generator=generator, model=_OF_FEITELSON[model], load=load)


@dataclass(frozen=True)
class Change:
    """Another choice for an assumption of model F without a source."""

    name: str
    constants: dict[str, Any] = field(default_factory=dict)
    """Constants of `workloads.feitelson.FeitelsonModel`."""
    processors: int = PROCESSORS["F"]
    arrivals: Literal["poisson", "uniform-log"] = "poisson"
    estimate: float = 1.0
    """Estimates in units of the run time; 1 as in the paper."""
    spread: bool = False
    """Whether estimates are uniform between the run time and `estimate`, as in section 4.2 of the paper."""


_ONLY_POWERS: Final = {"power_of_two_factor": 1e6}

CHANGES: Final = (
    Change("as simulated above"),
    Change("no job is repeated", {"most_repeats": 1}),
    Change("up to 100 repeats", {"most_repeats": 100}),
    Change("a day between repeats", {"think_time": 86400.0}),
    Change("exponential run times, the same for all sizes", {"short_share": 1.0, "short_slope": 0.0}),
    Change("run times do not depend on sizes", {"short_slope": 0.0}),
    Change("long jobs 20 times as long as short ones", {"long_mean": 20.0}),
    Change("sizes harmonic of order 1", {"size_order": 1.0}),
    Change("sizes harmonic of order 2", {"size_order": 2.0}),
    Change("powers of two not emphasised", {"power_of_two_factor": 1.0}),
    Change("nearly all sizes powers of two", _ONLY_POWERS),
    Change("the same, and no job is repeated", {**_ONLY_POWERS, "most_repeats": 1}),
    Change("a machine of 512 processors", processors=512),
    Change("interarrival times uniform in the logarithm", arrivals="uniform-log"),
    Change("estimates 10% above run times", estimate=1.1),
    Change("estimates between once and twice the run times", estimate=2.0, spread=True),
    Change("estimates twice the run times", estimate=2.0),
)


def generate_changed(change: Change, jobs: int, load: float, seed: int) -> Log:
    """Return jobs of model F with a change; without one, those of `generate`."""
    model = replace(_OF_FEITELSON["F"], **change.constants)
    generator = np.random.default_rng([seed, 0])
    log = feitelson_log(jobs, change.processors, generator=generator, model=model, load=load, arrivals=change.arrivals)
    if change.spread:
        return log.with_columns(requested_time=uniform_factor(log.run_time, change.estimate, generator))
    return log if change.estimate == 1 else log.with_columns(requested_time=np.ceil(log.run_time * change.estimate))


_OF_FEITELSON: Final = {name: replace(model, most_repeats=MOST_REPEATS) for name, model in VARIANTS.items()}
