"""The workload models of Mu'alem & Feitelson (2001, 3.1): F after Feitelson 1996, J after Jann et al. 1997."""

from __future__ import annotations

from typing import Literal

import numpy as np

from workloads import Log
from workloads.feitelson import FeitelsonModel
from workloads.feitelson import generate as feitelson_log
from workloads.jann import ctc_model
from workloads.jann import generate as jann_log

__all__ = ["MOST_REPEATS", "PROCESSORS", "Model", "generate"]

Model = Literal["F", "J"]

PROCESSORS: dict[Model, int] = {"F": 128, "J": 322}
"""Of their machines: ours for F, which the paper does not tell; for J the part of the CTC SP2 that Jann et al. had."""

MOST_REPEATS = 20
"""Of a job of model F. Its runs are submitted at the pace of an empty machine: a job as large as the machine that is
run hundreds of times would make a load of 1 by itself, for weeks, and there would be no steady state to measure."""


def generate(model: Model, jobs: int, load: float, seed: int) -> Log:
    """Return jobs of a model at a load; those of other loads are the same, arriving at another pace."""
    generator = np.random.default_rng([seed, "FJ".index(model)])
    if model == "F":
        model_f = FeitelsonModel(most_repeats=MOST_REPEATS)
        return feitelson_log(jobs, PROCESSORS["F"], generator=generator, model=model_f, load=load)
    return jann_log(jobs, PROCESSORS["J"], generator=generator, model=ctc_model(), load=load)
