"""The goodput model of AdaptDL: the time to train a network, by the number of GPUs and of nodes.

Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning" (OSDI 2021), sections
3.1 ("Modeling Statistical Efficiency") and 3.2 ("Modeling System Throughput"); parameters have the names of AdaptDL's
`PerfParams`. With K GPUs, each of which processes m samples per step and accumulates s times before gradients are
exchanged:

    compute     T_c = alpha_c + beta_c · m
    network     T_n = 0 on one GPU; alpha_r + beta_r · (K - 2) on one node; alpha_n + beta_n · (K - 2) on several
    step        T   = s · T_c + (T_c^gamma + T_n^gamma)^(1/gamma)
    batch       M   = K · m · (s + 1)
    efficiency  E   = (noise + M0) / (noise + M), progress per sample, relative to the initial batch M0
    goodput     G   = M / T · E

A training takes `samples` / G seconds, at the batch with the largest goodput. If the batch per GPU is fixed, and that
of a step grows with the GPUs (weak scaling), E is 1: `samples` counts processed samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from documents.fields import Fields
from speedup_models.model import Layout, ModelError

__all__ = ["LARGEST_BATCH", "Goodput", "Network", "Work", "goodput_from_fields"]

BATCHES: Final = 64
"""Number of batches between the bounds that are tried, in equal ratios."""

LARGEST_BATCH: Final = 2**53
"""Samples; floating-point numbers count exactly up to here."""


class Work(NamedTuple):
    """The work of steps: arrays of equal length, or that broadcast to equal length.

    Attributes
    ----------
    local
        Samples on each GPU at a time.
    accumulated
        Number of accumulations before gradients are exchanged; 0 for an exchange after each time.
    """

    nodes: NDArray[np.int64] | int
    gpus: NDArray[np.int64] | int
    local: NDArray[np.float64]
    accumulated: NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """The seven parameters of a step, in seconds except `gamma`.

    Attributes
    ----------
    alpha_c, beta_c
        Computing: constant, and per sample.
    alpha_n, beta_n
        Exchange between nodes: constant, and per GPU beyond two; NaN if unknown.
    alpha_r, beta_r
        The same within a node.
    gamma
        From 1, if computing and exchange are sequential, to 10, if they overlap.
    """

    alpha_c: float
    beta_c: float
    alpha_n: float
    beta_n: float
    alpha_r: float
    beta_r: float
    gamma: float

    def step(self, work: Work, speed: float = 1.0) -> NDArray[np.float64]:
        """Return the seconds of each step; NaN if the parameters of a link are unknown."""
        compute, network = self._parts(work, speed)
        return np.asarray(work.accumulated * compute + self._overlapped(compute, network), np.float64)

    def slopes(self, work: Work) -> NDArray[np.float64]:
        """Return the derivatives of each step by the seven parameters in their order, shape (steps, 7)."""
        compute, network = self._parts(work, 1.0)
        both = self._overlapped(compute, network)
        part, other = compute / both, network / both
        by_compute = work.accumulated + part ** (self.gamma - 1)
        by_network = np.where(work.gpus == 1, 0.0, other ** (self.gamma - 1))
        shares = ((x**self.gamma * np.log(np.maximum(x, 1e-300))) for x in (part, other))
        several = work.nodes > 1
        beyond = work.gpus - 2
        return np.stack(
            [
                by_compute,
                by_compute * work.local,
                np.where(several, by_network, 0.0),
                np.where(several, by_network * beyond, 0.0),
                np.where(several, 0.0, by_network),
                np.where(several, 0.0, by_network * beyond),
                both / self.gamma * sum(shares),
            ],
            axis=-1,
        )

    def _parts(self, work: Work, speed: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the seconds of computing and of exchange."""
        several = work.nodes > 1
        alpha = np.where(several, self.alpha_n, self.alpha_r)
        beta = np.where(several, self.beta_n, self.beta_r)
        network = np.where(work.gpus == 1, 0.0, alpha + beta * (work.gpus - 2))
        return (self.alpha_c + self.beta_c * work.local) / speed, network

    def _overlapped(self, compute: NDArray[np.float64], network: NDArray[np.float64]) -> NDArray[np.float64]:
        largest = np.maximum(compute, network)  # so that powers do not overflow
        sums = (compute / largest) ** self.gamma + (network / largest) ** self.gamma
        return np.asarray(largest * sums ** (1 / self.gamma))


@dataclass(frozen=True)
class Goodput:
    """A training with a fixed batch, or a batch between bounds.

    Attributes
    ----------
    samples
        Number of samples of the training at the initial batch.
    batch
        The initial batch M0, in samples; also the smallest.
    largest_batch
        The largest; equal to `batch` if it is fixed.
    largest_local
        Most samples that fit into a GPU's memory; more are accumulated. None for no limit.
    noise
        Gradient noise scale in samples: larger batches bring little progress beyond it.
    speeds
        Relative computing speed by type of GPU; empty if the type does not matter.
    local_batch
        Samples per GPU, if that is fixed; then no other batch matters.
    """

    samples: float
    batch: int
    network: Network
    largest_batch: int
    largest_local: int | None = None
    noise: float = 0.0
    speeds: Mapping[str, float] = field(default_factory=dict)
    local_batch: int | None = None

    def __post_init__(self) -> None:
        if self.largest_batch < self.batch:
            raise ModelError(f"goodput: max_batch {self.largest_batch} is below the initial batch, {self.batch}")
        if self.largest_batch > self.batch and self.noise <= 0:
            raise ModelError("goodput: a free batch needs the gradient noise scale; give noise_scale, or no max_batch")

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return "goodput of a training"

    @property
    def constraint(self) -> None:
        """Return None: any number of GPUs up to the largest batch is accepted."""
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
        """Return the batch with the largest goodput in a layout, and that goodput in samples per second.

        The goodput is NaN over unknown links.

        Raises
        ------
        ModelError
            There are more GPUs than samples in the largest batch.
        """
        gpus = max(1, layout.nodes * max(1, layout.per_node))
        speed = self.speeds.get(layout.device, 1.0)
        if self.local_batch is not None:
            work = Work(layout.nodes, gpus, np.array([float(self.local_batch)]), np.zeros(1))
            batch = gpus * self.local_batch
            return batch, float(batch / self.network.step(work, speed)[0])
        if gpus > self.largest_batch:
            raise ModelError(f"goodput: a batch of {self.largest_batch} has no sample for each of {gpus} GPUs")
        totals = np.unique(np.round(np.geomspace(max(self.batch, gpus), self.largest_batch, BATCHES)))
        share = totals / gpus
        accumulated = np.zeros_like(share)
        if self.largest_local is not None:
            accumulated = np.maximum(np.ceil(share / self.largest_local - 1e-9) - 1, 0)
        local = np.ceil(share / (accumulated + 1) - 1e-9)
        batches = gpus * local * (accumulated + 1)
        steps = self.network.step(Work(layout.nodes, gpus, local, accumulated), speed)
        # Samples added by rounding up bring no progress; they only affect the time.
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
    """Return the model of a [speedup] table; the module's docstring explains its keys."""
    local = fields.integer("local_batch", None, minimum=1, maximum=LARGEST_BATCH)
    batch = fields.integer("batch", minimum=1, maximum=LARGEST_BATCH) if local is None else local
    parameters = {name: fields.number(name, minimum=0) for name in ("alpha_c", "beta_c")}
    for kind in "nr":
        # A link that was not measured has no keys; a layout over it has no time.
        known = f"alpha_{kind}" in fields or f"beta_{kind}" in fields
        for name in (f"alpha_{kind}", f"beta_{kind}"):
            parameters[name] = fields.number(name, minimum=0) if known else float("nan")
    network = Network(**parameters, gamma=fields.number("gamma", 1.0, minimum=1, maximum=10))
    if network.alpha_c + network.beta_c <= 0:
        raise fields.fail("alpha_c", "and beta_c are 0; computing takes time")
    for key in ("batch", "max_batch", "max_local_batch", "noise_scale"):
        if local is not None and key in fields:
            raise fields.fail(
                key, "does not go with local_batch, which fixes the samples on each GPU; keep one of them"
            )
    speeds = fields.table("speeds", {})
    found = Goodput(
        samples=fields.number("samples", above=0),
        batch=batch,
        network=network,
        largest_batch=fields.integer("max_batch", batch, minimum=1, maximum=LARGEST_BATCH),
        largest_local=fields.integer("max_local_batch", None, minimum=1, maximum=LARGEST_BATCH),
        noise=fields.number("noise_scale", 0.0, minimum=0),
        speeds={str(key): speeds.number(str(key), above=0) for key in speeds.keys()},  # noqa: SIM118  # no mapping
        local_batch=local,
    )
    speeds.done()
    return found
