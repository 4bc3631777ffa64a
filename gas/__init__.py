"""Gas: the request, and the supercomputer, that finishes a moldable application first.

The main path, from top to bottom::

    Application.read("lu.toml")      application   how long it runs on n processors, which n it takes
    read_availability("kth.json")    availability  free processors per future time frame (endpoints fetch it)
    plan(application, lists).best    planner       the earliest-finishing request, and why the others lose
    Agent(application, endpoints)    agent         asks schedulers, plans, submits once, reshapes and watches

and under it, from the bottom: `times`, `errors`, `printable` and `json_text` (what others
wrote, safe for a terminal and within memory), `compiled` (kernels as machine code), `profile` (the step function
"free processors over time" and its few operations), `node_availability` with its `gaps` (where a job cannot move
between nodes, which nodes are free and not only how many), `s3` (the scheduler, pure), `slurm` (Slurm's
schedulers, pure), `simulation` (any log through
any policy), `prediction` (likely starts, from how jobs have used their walltimes), `endpoints` (schedulers that can be
asked), `pictures`, `agent` (asks, chooses, submits, reshapes and watches for one application), `workflows`, `service`
(S³ over HTTP), `cli`. Imports point down that list only.
"""

TYPE_CHECKING = False  # as type checkers know it; typing itself takes a while to import

if TYPE_CHECKING:
    from gas.agent.agent import Agent
    from gas.agent.options import PlanOptions, ReshapeOptions
    from gas.application import Application
    from gas.availability import AvailabilityList, Frame, read_availability
    from gas.errors import BadInput, GasError, Infeasible, StalePlan, Unreachable
    from gas.planner import Candidate, Limits, Plan, plan

__all__ = [
    "Agent",
    "Application",
    "AvailabilityList",
    "BadInput",
    "Candidate",
    "Frame",
    "GasError",
    "Infeasible",
    "Limits",
    "Plan",
    "PlanOptions",
    "ReshapeOptions",
    "StalePlan",
    "Unreachable",
    "plan",
    "read_availability",
]

_HOMES = {
    "gas.agent.agent": ("Agent",),
    "gas.agent.options": ("PlanOptions", "ReshapeOptions"),
    "gas.application": ("Application",),
    "gas.availability": ("AvailabilityList", "Frame", "read_availability"),
    "gas.errors": ("BadInput", "GasError", "Infeasible", "StalePlan", "Unreachable"),
    "gas.planner": ("Candidate", "Limits", "Plan", "plan"),
}


def __getattr__(name: str) -> object:
    """Import names on demand: the command line starts in this package, and must start fast."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
