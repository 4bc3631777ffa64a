"""Correlated use of walltimes: jobs of a user that wait or run together tend to all crash, or to all run on.

The luck of a job is the position of its run time in its expected distribution, as a normal score. Luck of two jobs of a
user is correlated: by `Amounts.user` if they were submitted together, plus `Amounts.kind` if their requests are equal,
less the longer the time between their submissions. The amounts are learned from pairs in which the first job had not
ended when the second was submitted: its run time was unknown then, so that no expectation includes it.

Correlations fall with the square root of time (a Cauchy class: Gneiting & Schlather 2004), as observed in each of four
logs (SP2s of KTH, CTC and SDSC, CM-5 of LANL), for neighbours in the queue and for jobs with twenty jobs between them
alike. Typical values from there are used if nothing can be learned.
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
        For any requests.
    kind
        Additional correlation for equal processors and walltime.
    """

    user: float
    kind: float


TYPICAL = Amounts(0.5, 0.3)
"""Values from logs of other machines."""

_MOST = 0.9
"""Largest correlation of two jobs."""

_USER_SECONDS, _KIND_SECONDS = 120.0, 86_400.0
"""Approximate seconds between submissions from which on correlations fall."""

_PRIOR = 40.0
"""Weight of typical values, in pairs at one instant."""

_BLOCK = 1_000
"""Most jobs of a user whose luck is drawn together; larger groups are split into neighbours in submission order."""

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
        Whether their requests are equal.
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
    """Return drawn luck, as the position in the remaining possible range of a job: shape ``(samples, jobs)``, 0 to 1.

    Parameters
    ----------
    user, kind
        For each job; -1 is an unknown user, who shares no luck.
    submit
        In seconds.
    gone
        Share of the expected run times that a job has exceeded; 0 for a waiting job. A job that has exceeded many has
        good luck, and so have jobs correlated with it (each is drawn given the previous ones, as in the GHK simulator:
        Geweke 1991).
    """
    drawn = generator.random((samples, len(user)))
    order = np.lexsort((submit, user))
    edges = np.flatnonzero(np.diff(user[order])) + 1
    for whole in np.split(order, edges):
        if len(whole) < 2 or user[whole[0]] < 0:
            continue
        for first in range(0, len(whole), _BLOCK):
            block = whole[first : first + _BLOCK]
            block = block[np.argsort(-gone[block], kind="stable")]  # the most informative first
            drawn[:, block] = _block(amounts, kind[block], submit[block], gone[block], drawn[:, block])
    return drawn


def _block(
    amounts: Amounts,
    kind: NDArray[np.uint64],
    submit: NDArray[np.int64],
    gone: NDArray[np.float64],
    drawn: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return correlated draws, made from independent ones."""
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
    """Return the remaining part of both correlations for jobs submitted this many seconds apart."""
    return (1 + apart / _USER_SECONDS) ** -0.5, (1 + apart / _KIND_SECONDS) ** -0.5


def _score(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal score with this probability below it, finite for all shares."""
    return np.asarray(ndtri(np.clip(shares, _EDGE, 1 - _EDGE)), np.float64)
