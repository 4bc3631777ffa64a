"""Correlated use of walltimes: jobs of a user that wait or run together tend to all crash, or to all run on.

The luck of a job is where its run time lies in what was expected of it, as a normal score. Between two jobs of a user,
luck is correlated: by `Amounts.user` if they were submitted together, by `Amounts.kind` more if they ask for the same,
less the longer lies between their submissions. How much is learnt from pairs of which the first had not ended when the
second was submitted: what it would come to was not known then, so that no expectation has it in it.

Correlations fall with the square root of time (a Cauchy class: Gneiting & Schlather 2004), at which they did in each of
four logs (SP2s of KTH, CTC and SDSC, CM-5 of LANL), alike for neighbours in the queue and for those with twenty jobs
between them. Where nothing can be learnt they are taken to be as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["TYPICAL", "Amounts", "amounts_of", "scores_together"]


class Amounts(NamedTuple):
    """Correlations of two jobs of a user that are submitted at the same instant.

    Attributes
    ----------
    user
        Whatever they ask for.
    kind
        How much more if they ask for the same processors and walltime.
    """

    user: float
    kind: float


TYPICAL = Amounts(0.5, 0.3)
"""In logs of other machines."""

_MOST = 0.9
"""Correlated more than that no two jobs are taken to be."""

_USER_SECONDS, _KIND_SECONDS = 120.0, 86_400.0
"""From about then on between submissions correlations fall."""

_PRIOR = 40.0
"""For how many pairs at one instant what is typical counts."""

_BLOCK = 1_000
"""Jobs of a user whose luck is drawn together at most; of those with more, neighbours in the order of submission."""

_EDGE = 1e-9


def amounts_of(scores: NDArray[np.float64], apart: NDArray[np.int64], alike: NDArray[np.bool_]) -> Amounts:
    """Return the correlations, from pairs of jobs: least squares, shrunk towards typical values.

    Parameters
    ----------
    scores
        The luck of both, shape ``(pairs, 2)``.
    apart
        Seconds between their submissions.
    alike
        Whether they ask for the same.
    """
    if not len(apart):
        return TYPICAL
    products = scores.prod(axis=1) / max(float(np.mean(scores**2)), 0.1)  # expectations may be too wide or too narrow
    user, kind = _fall(apart)
    features = np.column_stack([user, kind * alike])
    left = features.T @ features + _PRIOR * np.eye(2)
    found = np.clip(np.linalg.solve(left, features.T @ products + _PRIOR * np.array(TYPICAL)), 0.0, 1.0)
    found *= min(1.0, _MOST / max(float(found.sum()), _MOST))
    return Amounts(*found.tolist())


def scores_together(
    amounts: Amounts,
    user: NDArray[np.int64],
    kind: NDArray[np.uint64],
    submit: NDArray[np.int64],
    gone: NDArray[np.float64],
    samples: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return drawn luck, as the share of what is still possible for a job: shape ``(samples, jobs)``, from 0 to 1.

    Parameters
    ----------
    user, kind
        Of each job; -1 is an unknown user, who shares no luck.
    submit
        In seconds.
    gone
        The share of expected run times that a job has outlived; 0 for one that waits. Who outlives much has good luck,
        and so has who shares it (each is drawn given those before it, as in the GHK simulator: Geweke 1991).
    """
    drawn = generator.random((samples, len(user)))
    order = np.lexsort((submit, user))
    edges = np.flatnonzero(np.diff(user[order])) + 1
    for whole in np.split(order, edges):
        if len(whole) < 2 or user[whole[0]] < 0:
            continue
        for first in range(0, len(whole), _BLOCK):
            block = whole[first : first + _BLOCK]
            block = block[np.argsort(-gone[block], kind="stable")]  # who tells most first
            drawn[:, block] = _block(amounts, kind[block], submit[block], gone[block], drawn[:, block])
    return drawn


def _block(
    amounts: Amounts,
    kind: NDArray[np.uint64],
    submit: NDArray[np.int64],
    gone: NDArray[np.float64],
    drawn: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return correlated draws made of independent ones."""
    user, same = _fall(np.abs(submit[:, None] - submit))
    together = amounts.user * user + amounts.kind * same * (kind[:, None] == kind)
    np.fill_diagonal(together, 1.0)
    lower = np.linalg.cholesky(together)
    own = np.empty_like(drawn)
    outlived = int(np.count_nonzero(gone > 0))
    for i in range(outlived):
        before = own[:, :i] @ lower[i, :i]
        least = ndtr((_score(gone[i : i + 1]) - before) / lower[i, i])
        own[:, i] = _score(least + (1 - least) * drawn[:, i])
    own[:, outlived:] = _score(drawn[:, outlived:])
    reached = ndtr(own @ lower.T)
    return np.asarray(np.clip((reached - gone) / (1 - gone), 0.0, 1.0), np.float64)


def _fall(apart: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how much of both correlations is left for jobs submitted so many seconds apart."""
    return (1 + apart / _USER_SECONDS) ** -0.5, (1 + apart / _KIND_SECONDS) ** -0.5


def _score(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return below which normal score such a share lies, finite for all shares."""
    return np.asarray(ndtri(np.clip(shares, _EDGE, 1 - _EDGE)), np.float64)
