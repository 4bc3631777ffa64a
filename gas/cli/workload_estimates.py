"""``gas workload estimates``: replace the run-time estimates of a log by those of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from documents.fields import nearest
from gas.cli.logs import read_log
from gas.cli.tables import check_outputs, many, note, print_json
from gas.cli.workload import write_log
from gas.errors import BadInput

if TYPE_CHECKING:
    from workloads import Log

__all__ = ["WorkloadCommand", "estimates_command"]

NEEDS = """\b
Models, and the fields of the log that each needs:
  exact             run times; the estimate is the run time
  uniform           run times; drawn from [r, factor · r] for a run time r
  mualem-feitelson  run times; similar to users' estimates on three SP2s. As
                    published, one job in ten gets 0.99 of its run time, to
                    represent jobs that were killed at their estimates
  tsafrir           run times, and estimates to find the longest (or --set
                    longest=SECONDS); round numbers, as users choose them
  doubled           estimates; times 2, or --set factor=NUMBER
  history           users, wait and run times; mean plus 1.5 standard
                    deviations of earlier jobs of the same program, user and
                    size (of user and size if the log names no programs)
  last-two          users, wait and run times; mean of the user's last two
                    jobs, at most the user's own estimate

If a log has no wait times, gas simulate LOG --output FILE adds them.
"""
"""Text at the end of the help."""


def estimates_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="exact, uniform, mualem-feitelson, doubled, history, last-two or tsafrir."
        ),
    ],
    log_file: Annotated[str, typer.Argument(metavar="LOG", help="SWF, plain or gzip; - for standard input.")],
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Random seed: the same seed gives the same bytes.")
    ] = 0,
    constants: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a constant of the model; uniform needs factor=NUMBER.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the log (SWF; gzip if it ends in .gz); - for standard output."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as one JSON object.")] = False,
) -> None:
    """Replace the run-time estimates of a log.

    gas workload estimates uniform log.swf --set factor=3 -o changed.swf

    history and last-two use the jobs that had ended before each submission; the other models do not.

    The log goes to standard output, unless -o or --json is given.
    """
    from workloads.estimate_models import MODELS, constants_of, unnamed, with_estimates

    if model not in MODELS:
        raise BadInput(f'there is no model of estimates "{model}"{nearest(model, MODELS)}')
    if output == "-" and as_json:
        raise BadInput("-o - and --json: both write to standard output; write the log to a file")
    given = _constants(constants or [])
    for name in given:
        if name not in constants_of(model):
            raise BadInput(f"--set {name}: the model has no such constant{nearest(name, constants_of(model))}")
    if model == "uniform" and "factor" not in given:
        raise BadInput("uniform: needs the largest factor on run times, for example --set factor=3")
    check_outputs({"-o": output}, [log_file])
    log = read_log(log_file)
    try:
        changed = with_estimates(log, model, seed=seed, **given)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if output is None and not as_json:
        output = "-"
    if output is not None:
        write_log(changed, output)
    summary = {
        "schema": "gas.workload.estimates/1",
        "model": model,
        "constants": given,
        "seed": seed,
        "unnamed": unnamed(log, model),
        **_compared(log, changed),
    }
    if as_json:
        print_json(summary)
    else:
        _note_summary(summary)


class WorkloadCommand(TyperCommand):
    """The command for ``gas workload MODEL``, and for ``gas workload estimates MODEL LOG``."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command named by the first word."""
        if args[:1] != ["estimates"]:
            return super().make_context(info_name, args, parent, **extra)
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(epilog=NEEDS)(estimates_command)
        return typer.main.get_command(alone).make_context(f"{info_name} estimates", args[1:], parent, **extra)


def _constants(given: list[str]) -> dict[str, float | str]:
    """Return the constants that were set: numbers where possible, else words."""
    found: dict[str, float | str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            raise BadInput(f"--set {text}: write NAME=VALUE")
        try:
            number = float(value)
        except ValueError:
            found[name] = value
            continue
        found[name] = int(number) if number.is_integer() else number
        if number != number or abs(number) == float("inf"):
            raise BadInput(f"--set {text}: is not a finite number")
    return found


def _compared(log: Log, changed: Log) -> dict[str, Any]:
    """Return how the estimates of two logs of the same jobs differ, and how accurate they are."""
    return {
        "jobs": len(log),
        "changed": int((log.requested_time != changed.requested_time).sum()),
        "underestimated": {"before": _underestimated(log), "after": _underestimated(changed)},
        "mean_accuracy": {"before": _mean_accuracy(log), "after": _mean_accuracy(changed)},
        "distinct_estimates": {"before": _distinct(log), "after": _distinct(changed)},
    }


def _known(log: Log) -> Any:
    """Return which jobs have both a run time and an estimate."""
    return (log.run_time >= 0) & (log.requested_time > 0)


def _underestimated(log: Log) -> float | None:
    known = _known(log)
    return float((log.run_time[known] > log.requested_time[known]).mean()) if known.any() else None


def _mean_accuracy(log: Log) -> float | None:
    from workloads.estimates import accuracy

    known = _known(log)
    return float(accuracy(log.run_time[known], log.requested_time[known]).mean()) if known.any() else None


def _distinct(log: Log) -> int:
    import numpy as np

    return int(np.unique(log.requested_time[log.requested_time > 0]).size)


def _note_summary(summary: dict[str, Any]) -> None:
    note(f"{summary['model']}: {many(summary['changed'], 'estimate')} of {many(summary['jobs'], 'job')} changed")
    note(f"accuracy (the smaller of run time and estimate over the larger), mean: {_both(summary['mean_accuracy'])}")
    note(
        f"shorter than the run time: {_both(summary['underestimated'], '.1%')}; "
        f"distinct: {_both(summary['distinct_estimates'], ',')}"
    )
    if summary["underestimated"]["after"]:
        note("gas simulate kills jobs at their estimates unless --overrun extend is given")
    for line in _unnamed_in_words(summary["unnamed"], summary["jobs"]):
        note(line)


def _unnamed_in_words(unnamed: dict[str, int], jobs: int) -> list[str]:
    """Return how many jobs lack the user or program that the model needs, and how they are estimated instead."""
    lines = []
    users, programs = unnamed.get("user", 0), unnamed.get("executable", 0)
    if programs == jobs > 0:
        lines.append("the log names no programs: earlier jobs are matched by user and size only")
        programs = 0
    lacking = [f"{n:,} without {what}" for n, what in ((users, "a user"), (programs, "a program")) if n]
    if lacking:
        instead = "estimated from all earlier jobs" if "executable" in unnamed else "their estimates are unchanged"
        lines.append(f"of {many(jobs, 'job')}, {' and '.join(lacking)}: {instead}")
    return lines


def _both(pair: dict[str, Any], form: str = ".3f") -> str:
    before, after = ("none" if value is None else format(value, form) for value in (pair["before"], pair["after"]))
    return f"{before} before, {after} now"
