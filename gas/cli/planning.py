"""Common parts of ``gas plan`` and ``gas submit``: the options of a plan, and the agent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gas.agent.agent import Agent
from gas.agent.options import AUTO, MOST_SAMPLES, Forecasting, Instant, PlanOptions, checked_samples, percentage
from gas.agent.schedulers import Scheduler
from gas.cli.options import INSTANTS
from gas.cli.scripts import Subject, Work
from gas.cli.tables import note, remark
from gas.compiled import tell_of_compiling
from gas.errors import BadInput
from gas.planner import Algorithm

if TYPE_CHECKING:
    from gas.agent.spreading import Spread

__all__ = [
    "Everything",
    "Explain",
    "MaxProcessorHours",
    "Planning",
    "Plot",
    "Predict",
    "Spreading",
    "StaleOk",
    "agent_for",
    "forecasting",
    "repeated",
]

NotBefore = Annotated[
    str | None,
    typer.Option("--not-before", metavar="TIME", help=f"Earliest start (local time): {INSTANTS}."),
]
Deadline = Annotated[
    str | None,
    typer.Option("--deadline", metavar="TIME", help="Latest expected finish (same forms as --not-before)."),
]
MaxProcessorHours = Annotated[
    float | None,
    typer.Option(
        "--max-processor-hours",
        metavar="N",
        help="Upper limit on the processor-hours (or GPU-hours, node-hours) of the run.",
    ),
]
Tolerance = Annotated[
    str,
    typer.Option(
        "--tolerance", metavar="N%", help="Take the fewest processors that finish within N% of the best turn-around."
    ),
]
AlgorithmName = Annotated[
    Algorithm,
    typer.Option(
        "--algorithm", help="exact finds the best request; walk, the search of Cirne & Berman 1999, can miss it."
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Show the trade-offs (requests that finish later but cost less) and what the plan is based on; --all "
        "also shows why the others lost.",
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Like --explain, and list every request with the reason why it lost or cannot run."),
]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw the plan: .png, .svg or .pdf.")]

Probes = Annotated[
    int,
    typer.Option(
        "--probe",
        min=0,
        max=100,
        metavar="N",
        help="Submit up to N jobs to Slurm, read the starts that Slurm plans for them, and cancel them at once (slow).",
    ),
]


StaleOk = Annotated[
    bool,
    typer.Option(
        "--stale-ok",
        help="Also use stale availability lists: files that are more than an hour old (or ahead of the clock), and "
        "schedulers whose clock differs by more than a minute.",
    ),
]

Predict = Annotated[
    str | None,
    typer.Option(
        "--predict",
        metavar="auto|FILE",
        help="Choose by predicted starts, learned from at least 20 past jobs. auto: jobs from S³ or from Slurm's "
        "accounting (sacct). FILE: an SWF log or the output of sacct --parsable2 (plain or gzip; - for standard "
        "input).",
    ),
]
Risk = Annotated[
    str | None,
    typer.Option(
        "--risk",
        metavar="N%",
        help="With --predict: choose by the finish time that is met with N% probability (default: by the mean).",
    ),
]
Sure = Annotated[
    str | None,
    typer.Option(
        "--sure",
        metavar="N%",
        help="With --predict and --deadline: take the cheapest request that meets the deadline with N% probability.",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        help=f"With --predict: number of simulations (default: 500; at most {MOST_SAMPLES:,}).",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, metavar="N", help="With --predict: random seed (default: 0).")
]


@dataclass(frozen=True)
class Planning:
    """The options of planning."""

    not_before: NotBefore = None
    deadline: Deadline = None
    max_processor_hours: MaxProcessorHours = None
    tolerance: Tolerance = "0%"
    algorithm: AlgorithmName = "exact"
    probe: Probes = 0
    predict: Predict = None
    risk: Risk = None
    sure: Sure = None
    samples: Samples = None
    seed: Seed = None
    stale_ok: StaleOk = False

    def refuse_standard_input_of(self, subject: Subject) -> None:
        """Refuse to read both an application and a history from standard input."""
        if subject.application == self.predict == "-":
            raise BadInput("--predict -: standard input is already the application; give a file for one of the two")

    def options(self) -> PlanOptions:
        """Return the parsed options of a plan.

        Raises
        ------
        BadInput
            An option cannot be parsed, or options contradict each other.
        """
        predicted = self._forecasting()
        return PlanOptions(
            None if self.not_before is None else Instant.parse(self.not_before, "--not-before"),
            None if self.deadline is None else Instant.parse(self.deadline, "--deadline"),
            self.max_processor_hours,
            percentage(self.tolerance, "--tolerance"),
            self.algorithm,
            self.probe,
            predicted,
            self.stale_ok,
        )

    def _forecasting(self) -> Forecasting | None:
        """Return the options of predictions; None without --predict."""
        return forecasting(self.predict, risk=self.risk, sure=self.sure, samples=self.samples, seed=self.seed)


@dataclass(frozen=True)
class Spreading:
    """The options of running on several machines at once."""

    coallocate: Annotated[
        bool,
        typer.Option(
            "--coallocate",
            help=(
                "Also consider running on several S³ machines that start together, if that finishes sooner than on one."
            ),
        ),
    ] = False
    most_machines: Annotated[
        int | None,
        typer.Option("--most-machines", metavar="N", help="With --coallocate: at most N machines (default: 2)."),
    ] = None
    boundary: Annotated[
        str | None,
        typer.Option(
            "--boundary",
            metavar="N%",
            help="With --coallocate: how much longer the application runs on several machines (default: 25%).",
        ),
    ] = None

    def refuse_without(self) -> None:
        """Refuse options of coallocation without --coallocate."""
        for option, value in (("--most-machines", self.most_machines), ("--boundary", self.boundary)):
            if value is not None and not self.coallocate:
                raise BadInput(f"{option} {value}: applies to several machines; add --coallocate, or leave it out")

    def spread(self, *, script: bool) -> Spread:
        """Return the number of machines and the cost of spreading; a job script runs on one machine."""
        from gas.agent.spreading import Spread

        if script:
            raise BadInput("--coallocate: a job script runs on one machine; give an application file and a command")
        default = Spread()
        most = default.most if self.most_machines is None else self.most_machines
        cost = default.cost if self.boundary is None else 1 + percentage(self.boundary, "--boundary")
        return Spread(most, cost)


def forecasting(
    predict: str | None,
    *,
    risk: str | None,
    sure: str | None = None,
    samples: int | None = None,
    seed: int | None = None,
) -> Forecasting | None:
    """Return the options of predictions from the command line; None without --predict."""
    if predict is None:
        for option, value in {"--risk": risk, "--sure": sure, "--samples": samples, "--seed": seed}.items():
            if value is not None:
                raise BadInput(f"{option} {value}: applies to predictions; add --predict auto, or leave it out")
        return None
    from gas.cli.logs import read_history

    checked_samples(samples, "--samples")
    history = None if predict == AUTO else read_history(predict)
    return Forecasting(history, _share(risk, "--risk"), samples, seed or 0, _share(sure, "--sure"))


def _share(text: str | None, option: str) -> float | None:
    """Return the probability in an option, if any."""
    if text is None:
        return None
    try:
        value = percentage(text, option) if text.strip().endswith("%") else float(text)
    except ValueError as error:
        problem = f"{option} {text!r}: write a percentage, 90%"
        raise error if isinstance(error, BadInput) else BadInput(problem) from None
    if not 0 < value < 1:
        if 1 < value < 100 and not text.strip().endswith("%"):
            raise BadInput(f"{option} {text}: write {value:g}% or {value / 100:g}")
        raise BadInput(f"{option} {text}: must be above 0% and below 100%")
    return value


SHARED = frozenset(one.name for group in (Subject, Planning) for one in fields(group)) | {
    "endpoint",
    "config",
}
"""Common parameters of ``gas plan`` and ``gas submit`` that decide what is submitted."""


def repeated(context: typer.Context, verb: str) -> str:
    """Return the given command line with another verb."""
    words = ["gas", verb]
    for parameter in context.command.params:
        name, value = parameter.name or "", context.params.get(parameter.name or "")
        source = context.get_parameter_source(name)
        if name not in SHARED or source is None or source.name != "COMMANDLINE":
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            option = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
            words += option if one is True else [*option, str(one)]
    return shlex.join(words)


def agent_for(work: Work, schedulers: Sequence[Scheduler], config: Path | None = None) -> Agent:
    """Return an agent for an application or a job script; its remarks are printed."""
    tell_of_compiling(remark)
    return Agent(work.app, schedulers, script=work.script, unit=work.unit, remark=remark, progress=note, config=config)
