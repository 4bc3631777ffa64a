"""The models of ``gas workload``: their names and options, and the log that each generates."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from documents.fields import nearest
from gas.cli.logs import read_log
from gas.cli.tables import many, note, write_text
from gas.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from workloads import Log

__all__ = ["Request", "check_model", "generated"]

_LARGEST_MACHINE = 2**24
_MOST_JOBS = 2**31 - 1


class Request(NamedTuple):
    """The options of one ``gas workload``."""

    model: str
    jobs: int
    processors: int | None
    load: float | None
    seed: int
    estimates: str
    own: dict[str, Any]
    """The given options of single models."""

    def command(self) -> str:
        """Return the command line that generates this log again, without its output options; files by name only."""
        words = ["gas", "workload", self.model, "--jobs", str(self.jobs)]
        if self.processors is not None:
            words += ["--processors", str(self.processors)]
        if self.load is not None:
            words += ["--load", f"{self.load:.12g}"]
        words += ["--seed", str(self.seed), "--estimates", self.estimates]
        for option, value in self.own.items():
            if option == "save-model":
                continue
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{option}", Path(each).name if option in ("fit", "model") else str(each)]
        return shlex.join(words)


def check_model(model: str, own: dict[str, Any]) -> str:
    """Return the model's name; BadInput if it is unknown, or if an option belongs to another model."""
    if model not in _MODELS:
        raise BadInput(f'there is no model "{model}"{nearest(model, _MODELS)}')
    for option in own:
        if option not in _MODELS[model].options:
            owners = [name for name, maker in _MODELS.items() if option in maker.options]
            raise BadInput(f"--{option}: applies to {' and '.join(owners)}, not to {model}")
    return model


def generated(request: Request) -> Log:
    """Return the requested log; its header names estimates, seed and command.

    Raises
    ------
    BadInput
        An option has an unusable value.
    """
    import numpy as np

    if not 1 <= request.jobs <= _MOST_JOBS:
        raise BadInput(f"--jobs {request.jobs}: must be from 1 to {_MOST_JOBS}")
    if request.processors is not None and not 1 <= request.processors <= _LARGEST_MACHINE:
        raise BadInput(f"--processors {request.processors}: must be from 1 to {_LARGEST_MACHINE}")
    generator = np.random.default_rng(request.seed)
    estimate = _estimator(request.estimates)
    with _model_errors(request):
        log = _MODELS[request.model].make(request, generator)
        note_lines = [f"estimates: {request.estimates}", f"seed {request.seed}; made by: {request.command()}"]
        requested = estimate(log.run_time, generator)
        if requested is not None:
            log = log.with_columns(requested_time=requested)
    header = log.header
    for line in note_lines:
        header = header.with_note(line)
    return log.with_header(header)


@contextmanager
def _model_errors(request: Request) -> Iterator[None]:
    """Turn errors of a model into `BadInput`."""
    import numpy as np

    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except MemoryError:
        raise BadInput("too many jobs for the memory of this machine; reduce --jobs") from None
    except ArithmeticError:
        given = [f"--set {value}" for value in request.own.get("set", ())]
        given += [f"--load {request.load:g}"] if request.load is not None else []
        given += [f"--estimates {request.estimates}"] if request.estimates.startswith("f=") else []
        raise BadInput(
            f"{', '.join(given) or request.model}: times or sizes of the model are too large or too small to compute; "
            "use less extreme values"
        ) from None
    except ValueError as error:
        option = "--" if str(error).startswith("load ") else ""  # as `workloads.load` calls it
        raise BadInput(f"{option}{error}") from None


def _lublin(request: Request, generator: np.random.Generator) -> Log:
    from workloads import lublin

    types = tuple(request.own.get("types", "batch,interactive").split(","))
    model = lublin.LublinModel()
    for name, value in _constants(request.own):
        kind, dot, constant = name.partition(".")
        if dot and kind in ("batch", "interactive", "one"):
            model = replace(model, **{kind: _with(getattr(model, kind), constant, value, f"{kind}.")})
        else:
            kinds = [f"{kind}.{each.name}" for kind in ("batch", "interactive", "one") for each in fields(model.batch)]
            whole = [each.name for each in fields(model) if each.name not in ("batch", "interactive", "one")]
            if name not in whole:
                raise BadInput(f"--set {name}: the model has no such constant{nearest(name, [*kinds, *whole])}")
            model = _with(model, name, value)
    return lublin.generate(
        request.jobs,
        _machine(request),
        generator=generator,
        types=types[0] if len(types) == 1 else types,
        load=request.load,
        model=model,
    )


def _jann(request: Request, generator: np.random.Generator) -> Log:
    from workloads import jann

    own = request.own
    if "fit" in own and "model" in own:
        raise BadInput("--fit and --model: cannot be used together; fit a model to a log, or use a saved one")
    if "ranges" in own and "fit" not in own:
        raise BadInput("--ranges: needs --fit LOG; a saved model has its ranges")
    if "fit" in own:
        log = read_log(own["fit"])
        model = jann.fit(log, request.processors, ranges=own.get("ranges", "powers-of-two"))
    elif "model" in own:
        model = jann.JannModel.from_toml(_text(own["model"]), Path(own["model"]).name)
    else:
        model = jann.ctc_model()
    machine = request.processors
    if machine is not None and machine < model.largest_size:
        raise BadInput(
            f"--processors {machine}: is too small for the model of {model.source}, whose largest jobs need "
            f"{model.largest_size}; fit a model for this size: --fit LOG -p {machine}"
        )
    if "save-model" in own:
        write_text(own["save-model"], model.to_toml())
        note(f"{own['save-model']}: written, {many(len(model.ranges), 'range')} of sizes")
    return jann.generate(request.jobs, request.processors, generator=generator, model=model, load=request.load)


def _downey(request: Request, generator: np.random.Generator) -> Log:
    from speedup_models.downey import speedup
    from workloads import downey

    def seconds(work: Any, parallelism: Any, sigma: Any, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        return work / speedup(sizes, parallelism, sigma)  # type: ignore[no-any-return]

    machine, sizes = _machine(request), request.own.get("sizes", "average")
    if sizes not in downey.SIZES:
        raise BadInput(f'--sizes "{sizes}": is not known{nearest(sizes, downey.SIZES)}')
    chosen = _constants(request.own)
    known = [each.name for each in fields(downey.DowneyModel)]
    for name, _ in chosen:
        if name not in known:
            raise BadInput(f"--set {name}: the model has no such constant{nearest(name, known)}")
    return downey.generate(
        request.jobs,
        machine,
        generator=generator,
        seconds=seconds,
        choose=downey.SIZES[sizes],
        model=downey.DowneyModel.for_machine(machine, **dict(chosen)),
        load=request.load,
        arrivals=request.own.get("arrivals", "poisson"),
    )


def _feitelson(request: Request, generator: np.random.Generator) -> Log:
    from workloads import feitelson

    variant = request.own.get("variant", "F")
    if variant not in feitelson.VARIANTS:
        raise BadInput(f'--variant "{variant}": is not known{nearest(variant, feitelson.VARIANTS)}')
    model = feitelson.VARIANTS[variant]
    for name, value in _constants(request.own):
        model = _with(model, name, value)
    return feitelson.generate(
        request.jobs,
        _machine(request),
        generator=generator,
        model=model,
        load=request.load,
        arrivals=request.own.get("arrivals", "poisson"),
    )


class _Maker(NamedTuple):
    make: Callable[[Request, np.random.Generator], Log]
    options: tuple[str, ...]


_MODELS = {
    "lublin": _Maker(_lublin, ("types", "set")),
    "jann": _Maker(_jann, ("fit", "ranges", "model", "save-model")),
    "downey": _Maker(_downey, ("sizes", "arrivals", "set")),
    "feitelson": _Maker(_feitelson, ("variant", "arrivals", "set")),
}


def _machine(request: Request) -> int:
    return 128 if request.processors is None else request.processors


def _constants(own: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the constants that were set, names and values."""
    found = []
    for text in own.get("set", []):
        name, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals or number != number or abs(number) == float("inf"):
            raise BadInput(f"--set {text}: write NAME=VALUE with a number")
        found.append((name.strip(), number))
    return found


def _with(model: Any, name: str, value: float, prefix: str = "") -> Any:
    """Return a model with one constant changed."""
    known = {each.name: getattr(model, each.name) for each in fields(model)}
    if name not in known:
        raise BadInput(f"--set {prefix}{name}: the model has no such constant{nearest(name, known)}")
    whole = isinstance(known[name], int)
    if whole and not value.is_integer():
        raise BadInput(f"--set {prefix}{name}={value:g}: must be an integer")
    return replace(model, **{name: int(value) if whole else value})


def _estimator(text: str) -> Callable[[NDArray[Any], np.random.Generator], NDArray[np.int64] | None]:
    """Return the model of users' estimates named by the option."""
    from workloads import estimates

    if text == "none":
        return lambda run_times, generator: None
    if text == "exact":
        return lambda run_times, generator: estimates.exact(run_times)
    if text == "mualem-feitelson":
        return lambda run_times, generator: estimates.mualem_feitelson(run_times, generator)
    if text.startswith("f="):
        try:
            factor = float(text[2:])
        except ValueError:
            raise BadInput(f"--estimates {text}: write f=FACTOR with a number of at least 1, for example f=2") from None
        return lambda run_times, generator: estimates.uniform_factor(run_times, factor, generator)
    raise BadInput(f"--estimates {text}: is not known{nearest(text, ['exact', 'f=2', 'mualem-feitelson', 'none'])}")


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not text; a model is a TOML file that --save-model wrote") from None
