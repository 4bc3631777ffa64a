"""The goodput model of AdaptDL: how long the training of a network takes on so many GPUs over so many nodes.

Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning" (OSDI 2021), sections
3.1 (statistical efficiency) and 3.2 (throughput); parameters are called as in AdaptDL's `PerfParams`. With K GPUs, each
of which works on m samples a step and accumulates s times before gradients are exchanged:

    compute     T_c = alpha_c + beta_c · m
    network     T_n = 0 on one GPU; alpha_r + beta_r · (K - 2) on one node; alpha_n + beta_n · (K - 2) on several
    step        T   = s · T_c + (T_c^gamma + T_n^gamma)^(1/gamma)
    batch       M   = K · m · (s + 1)
    efficiency  E   = (noise + M0) / (noise + M), progress a sample brings, against the initial batch M0
    goodput     G   = M / T · E

A training takes `samples` / G seconds, at the batch with the largest goodput.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from documents.fields import Fields
from speedup_models.model import Layout, ModelError

__all__ = ["Goodput", "Network", "goodput_from_fields"]

BATCHES: Final = 64
"""How many batches between the bounds are looked at, in equal ratios."""


@dataclass(frozen=True)
class Network:
    """The seven parameters of a step, in seconds but for `gamma`.

    Attributes
    ----------
    alpha_c, beta_c
        Computing: constant, and for each sample.
    alpha_n, beta_n
        Exchange between nodes: constant, and for each GPU beyond two.
    alpha_r, beta_r
        The same within a node.
    gamma
        From 1, where computing and exchange follow each other, to 10, where they overlap.
    """

    alpha_c: float
    beta_c: float
    alpha_n: float
    beta_n: float
    alpha_r: float
    beta_r: float
    gamma: float

    def step(
        self, nodes: int, gpus: int, local: NDArray[np.float64], accumulated: NDArray[np.float64], speed: float
    ) -> NDArray[np.float64]:
        """Return the seconds of a step for numbers of samples on each GPU, accumulated so many times."""
        compute = (self.alpha_c + self.beta_c * local) / speed
        alpha, beta = (self.alpha_n, self.beta_n) if nodes > 1 else (self.alpha_r, self.beta_r)
        network = 0.0 if gpus == 1 else alpha + beta * (gpus - 2)
        largest = np.maximum(compute, network)  # so that no power overflows
        overlapped = largest * ((compute / largest) ** self.gamma + (network / largest) ** self.gamma) ** (
            1 / self.gamma
        )
        return np.asarray(accumulated * compute + overlapped, np.float64)


@dataclass(frozen=True)
class Goodput:
    """A training whose batch is fixed, or free between bounds.

    Attributes
    ----------
    samples
        How many samples it takes at the initial batch.
    batch
        The initial batch M0, in samples; also the smallest.
    largest_batch
        The largest; equal to `batch` where it is fixed.
    largest_local
        The most samples that a GPU has memory for; more are accumulated. None for as many as there are.
    noise
        Gradient noise scale in samples: from here on larger batches bring little.
    speeds
        By type of GPU, how many times as fast it computes; empty if any will do.
    """

    samples: float
    batch: int
    network: Network
    largest_batch: int
    largest_local: int | None = None
    noise: float = 0.0
    speeds: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.largest_batch < self.batch:
            raise ModelError(f"goodput: max_batch {self.largest_batch} is below the initial batch, {self.batch}")
        if self.largest_batch > self.batch and self.noise <= 0:
            raise ModelError("goodput: a free batch needs the gradient noise scale; give noise_scale, or no max_batch")

    @property
    def name(self) -> str:
        """Return what it is of."""
        return "goodput of a training"

    @property
    def constraint(self) -> None:
        """Return None: any number of GPUs up to the largest batch will do."""
        return

    @property
    def sizes(self) -> None:
        """Return None: it is a formula."""
        return

    @property
    def layouts(self) -> None:
        """Return None: it is a formula."""
        return

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the types of GPU whose speed is known."""
        return tuple(self.speeds)

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Raise `ModelError`: a size alone has no time."""
        raise ModelError(f"{self.name}: a size has a time only in a layout over nodes")

    def seconds_on(self, sizes: NDArray[np.int64], layouts: Sequence[Layout]) -> NDArray[np.float64]:
        """Return the seconds of the training in each layout, NaN where GPUs outnumber the samples of a batch."""
        return np.array([self._seconds(one) for one in layouts], np.float64)

    def best_batch(self, layout: Layout) -> tuple[int, float]:
        """Return the batch with the largest goodput in a layout, and that goodput in samples a second.

        Raises
        ------
        ModelError
            There are more GPUs than the largest batch has samples.
        """
        gpus = max(1, layout.nodes * max(1, layout.per_node))
        if gpus > self.largest_batch:
            raise ModelError(f"goodput: a batch of {self.largest_batch} has no sample for each of {gpus} GPUs")
        totals = np.unique(np.round(np.geomspace(max(self.batch, gpus), self.largest_batch, BATCHES)))
        share = totals / gpus
        accumulated = np.zeros_like(share)
        if self.largest_local is not None:
            accumulated = np.ceil(share / self.largest_local - 1e-9) - 1
        local = np.ceil(share / (accumulated + 1) - 1e-9)
        batches = gpus * local * (accumulated + 1)
        speed = self.speeds.get(layout.device, 1.0)
        steps = self.network.step(layout.nodes, gpus, local, accumulated, speed)
        # What rounding up adds to a batch brings no progress: it stands in the time alone.
        efficiency = (self.noise + self.batch) / (self.noise + totals)
        goodput = totals / steps * efficiency
        best = int(np.argmax(goodput))
        return int(batches[best]), float(goodput[best])

    def _seconds(self, layout: Layout) -> float:
        try:
            return self.samples / self.best_batch(layout)[1]
        except ModelError:
            return float("nan")


def goodput_from_fields(fields: Fields) -> Goodput:
    """Return the model of a [speedup] table; the module's docstring says what its keys stand for."""
    batch = fields.integer("batch", minimum=1)
    names = ("alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r")
    parameters = {name: fields.number(name, minimum=0) for name in names}
    network = Network(**parameters, gamma=fields.number("gamma", 1.0, minimum=1, maximum=10))
    if network.alpha_c + network.beta_c <= 0:
        raise fields.fail("alpha_c", "and beta_c are 0; computing takes time")
    speeds = fields.table("speeds", {})
    found = Goodput(
        samples=fields.number("samples", above=0),
        batch=batch,
        network=network,
        largest_batch=fields.integer("max_batch", batch, minimum=1),
        largest_local=fields.integer("max_local_batch", None, minimum=1),
        noise=fields.number("noise_scale", 0.0, minimum=0),
        speeds={str(key): speeds.number(str(key), above=0) for key in speeds.keys()},  # noqa: SIM118  # no mapping
    )
    speeds.done()
    return found
