"""Models of estimates by name; each turns a log into the same log with other estimates."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workloads import estimates
from workloads.history import WEEK, Forget, LastTwo, MeanAndDeviation
from workloads.log import Log, LogError
from workloads.replay import NEVER, ends, knowledge
from workloads.tsafrir import tsafrir

__all__ = ["MODELS", "constants_of", "unnamed", "with_estimates"]

_Estimates = NDArray[np.int64]


def with_estimates(log: Log, model: str, *, seed: int = 0, **constants: Any) -> Log:
    """Return the log with the estimates (`requested_time`) of a model, and a Note about it in its header.

    Estimates are whole seconds, at least 1. Nothing else changes. A job keeps its estimate if the model cannot
    determine one, mostly because its run time is unknown; the Note counts these jobs.

    Parameters
    ----------
    model
        One of these. From the *run time*: "exact"; "uniform" in [r, `factor` · r]; "mualem-feitelson"; "tsafrir", up to
        `longest` seconds, by default the longest user estimate in this log. From the *user's estimate*: "doubled", or
        multiplied by another `factor`. From the *past*, as known at submission: "history", the mean plus some
        `deviations` of jobs of the same executable, user and size, or of all jobs; "last-two", the mean of the user's
        last two, but never more than the user's estimate. If the log has no executables, "history" uses user and size.
        A job without a user (`unnamed`) has no past of its own: "history" uses that of all jobs, "last-two" leaves its
        estimate unchanged.
    seed
        Seed of the random choices; the same seed gives the same estimates.
    constants
        Further parameters of the model (see `constants_of`): those of the functions in `workloads.estimates` and of
        `workloads.history.MeanAndDeviation`, by name.

    Raises
    ------
    ValueError
        There is no such model or constant, or the model cannot use these values.
    LogError
        The log lacks data that the model needs.
    """
    known = constants_of(model)
    for name, value in constants.items():
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ValueError(f'model "{model}" has no constant "{name}"; {takes}')
        _check_kind(model, name, value, known[name])
    missing = [name for name, value in known.items() if value is inspect.Parameter.empty and name not in constants]
    if missing:
        raise ValueError(f'model "{model}" needs {", ".join(missing)}')
    rows, values = MODELS[model](log, np.random.default_rng(seed), **constants)
    requested = np.array(log.requested_time)
    requested[rows] = values
    return log.with_columns(requested_time=requested).with_header(
        log.header.with_note(_said(log, model, seed, constants, rows))
    )


def constants_of(model: str) -> Mapping[str, Any]:
    """Return the constants of a model, with their defaults; `inspect.Parameter.empty` for one without default.

    Raises
    ------
    ValueError
        There is no such model.
    """
    if model not in MODELS:
        raise ValueError(f'there is no model of estimates "{model}"; known: {", ".join(MODELS)}')
    parameters = inspect.signature(MODELS[model]).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def unnamed(log: Log, model: str) -> dict[str, int]:
    """Return the number of jobs that lack a field of a model: "user", and for history "executable"."""
    return {name: int(np.count_nonzero(getattr(log, name) < 0)) for name in _GOES_BY.get(model, ())}


def _check_named(log: Log, model: str) -> None:
    """Raise for a log without users: all jobs would be one user's, or no user's, and estimates would be meaningless."""
    missing = [_IN_WORDS[name] for name, jobs in unnamed(log, model).items() if jobs == len(log)]
    if len(log) and missing[:1] == [_IN_WORDS["user"]]:
        raise LogError(
            log.name,
            f"names no {' and no '.join(missing)}; {model} learns from earlier jobs of the same user, so it needs "
            "users; exact, uniform, mualem-feitelson, tsafrir and doubled do not",
        )


def _check_kind(model: str, name: str, value: Any, default: Any) -> None:
    """Raise if a text is given for a number or vice versa; the model checks the number."""
    if isinstance(default, str):
        fits, kind = isinstance(value, str), "a word"
    else:
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        fits, kind = number and not math.isnan(value), "a number"
        if fits and isinstance(default, int):
            fits, kind = float(value).is_integer(), "a whole number"
    if not fits:
        raise ValueError(f'model "{model}": {name} must be {kind}, not {value!r}')


def _said(log: Log, model: str, seed: int, constants: Mapping[str, Any], rows: NDArray[np.intp]) -> str:
    given = "".join(f", {name} {value}" for name, value in constants.items())
    kept = len(log) - rows.size
    text = f"estimates (field 9) of {rows.size} jobs by the model {model}{given}, seed {seed}"
    unknown = int(np.count_nonzero(log.run_time < 0))
    return f"{text}; {kept} jobs keep theirs ({unknown} jobs have no known run time)" if kept else text


class _Chosen(NamedTuple):
    """The rows of the log with new estimates, and these."""

    rows: NDArray[np.intp]
    values: _Estimates


def _of_run_times(log: Log, estimate: Callable[[NDArray[np.float64]], _Estimates]) -> _Chosen:
    rows = np.flatnonzero(log.run_time >= 0)
    return _Chosen(rows, estimate(log.run_time[rows]))


def _exact(log: Log, generator: np.random.Generator) -> _Chosen:
    return _of_run_times(log, estimates.exact)


def _uniform(log: Log, generator: np.random.Generator, *, factor: float) -> _Chosen:
    return _of_run_times(log, lambda seconds: estimates.uniform_factor(seconds, factor, generator))


def _mualem_feitelson(
    log: Log,
    generator: np.random.Generator,
    *,
    longest: float = 24 * 3600.0,
    underestimated: float = 0.10,
    short: float = 90.0,
    short_factor: float = 10.0,
) -> _Chosen:
    return _of_run_times(
        log,
        lambda seconds: estimates.mualem_feitelson(
            seconds,
            generator,
            longest=longest,
            underestimated=underestimated,
            short=short,
            short_factor=short_factor,
        ),
    )


def _doubled(log: Log, generator: np.random.Generator, *, factor: float = 2.0) -> _Chosen:
    rows = np.flatnonzero(log.requested_time > 0)
    if len(log) and not rows.size:
        raise LogError(
            log.name,
            "no job has an estimate (field 9) that could be multiplied; exact, uniform and mualem-feitelson make "
            "estimates from run times",
        )
    return _Chosen(rows, estimates.doubled(log.requested_time[rows], factor))


def _history(
    log: Log,
    generator: np.random.Generator,
    *,
    deviations: float = 1.5,
    age: float = float(WEEK),
    forget: Forget = "idle",
    sample: int = 0,
    least: int = 1,
) -> _Chosen:
    _check_named(log, "history")
    past = MeanAndDeviation(deviations, age, forget=forget, sample=bool(sample), least=int(least))
    size = np.where(log.requested_processors > 0, log.requested_processors, log.allocated_processors).astype(np.int64)
    named = (log.user >= 0) & (size > 0)
    if (log.executable >= 0).any():  # otherwise -1 is the program of all
        named &= log.executable >= 0
    keys = [
        key if known else None
        for key, known in zip(
            zip(log.executable.tolist(), log.user.tolist(), size.tolist(), strict=True), named.tolist(), strict=True
        )
    ]
    return _replayed(
        log,
        lambda row, run_time, end: past.ended(keys[row], run_time, end),
        lambda row, now: past.estimate(keys[row], now)[0],
    )


def _last_two(log: Log, generator: np.random.Generator) -> _Chosen:
    _check_named(log, "last-two")
    past, user = LastTwo(), log.user.tolist()
    chosen = _replayed(
        log,
        lambda row, run_time, end: past.ended(user[row], run_time, end),
        lambda row, now: past.estimate(user[row], now),
    )
    asked = log.requested_time[chosen.rows]
    most = np.where(asked > 0, np.ceil(asked), chosen.values).astype(np.int64)
    return chosen._replace(values=np.minimum(chosen.values, most))


def _tsafrir(log: Log, generator: np.random.Generator, *, longest: float | None = None) -> _Chosen:
    if longest is None:
        longest = float(log.requested_time.max(initial=-1))
        if longest <= 0:
            raise LogError(log.name, "no user asked for a time; give the longest estimate of the machine: longest")
    most = longest
    return _of_run_times(log, lambda seconds: tsafrir(seconds, generator, longest=most))


MODELS: Mapping[str, Callable[..., _Chosen]] = {
    "exact": _exact,
    "uniform": _uniform,
    "mualem-feitelson": _mualem_feitelson,
    "doubled": _doubled,
    "history": _history,
    "last-two": _last_two,
    "tsafrir": _tsafrir,
}
"""Functions of the log and a generator of random numbers; the constants are their keyword-only parameters."""

_GOES_BY: Mapping[str, tuple[str, ...]] = {"history": ("user", "executable"), "last-two": ("user",)}
"""The columns by which a model determines whose past a job shares."""

_IN_WORDS = {"user": "users (field 12)", "executable": "programs (field 14)"}


def _replayed(log: Log, learn: Callable[[int, int, int], None], ask: Callable[[int, int], int | None]) -> _Chosen:
    """Return a predictor's estimates at each submission, after it has learned the earlier ends.

    Jobs with unknown run times keep their estimates, as do those that the predictor cannot estimate.

    Parameters
    ----------
    learn
        Called with row, run time and end.
    ask
        Called with row and the second of submission.
    """
    end = ends(log)
    if len(log) and (end == NEVER).all():
        raise LogError(
            log.name,
            "without wait times and run times, ends of jobs are not known; gas simulate LOG --output FILE adds them",
        )
    submit = np.floor(log.submit).astype(np.int64)
    run_time = np.ceil(log.run_time).astype(np.int64).tolist()
    at, until = submit.tolist(), end.tolist()
    rows: list[int] = []
    values: list[int] = []
    for ended, row in knowledge(submit, end):
        if ended:
            learn(row, run_time[row], until[row])
        elif run_time[row] >= 0:
            value = ask(row, at[row])
            if value is not None:
                rows.append(row)
                values.append(value)
    return _Chosen(np.array(rows, dtype=np.intp), np.array(values, dtype=np.int64))
