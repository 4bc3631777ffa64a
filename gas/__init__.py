"""Gas: the request, and the supercomputer, that finishes a moldable application first.

The main path, from top to bottom::

    read_application("lu.toml")      application   how long it runs on n processors, which n it takes
    read_availability("kth.json")    availability  free processors per future time frame (endpoints fetch it)
    plan("lu.toml", "kth.json")      agent         the earliest-finishing request, and why the others lose (planner)
    submit("lu.toml", command)       agent         the same sent to its scheduler, once, as a future
    Agent(application, endpoints)    agent         asks schedulers, plans, submits once, reshapes and watches

and under it, from the bottom: `times`, `errors`, `printable` and `json_text` (what others wrote, safe for a terminal
and within memory), `compiled` and `machine_code` (kernels, compiled), `heap` (what happens next), `profile` (free
processors over time: one contract, several forms), `resources` (what a unit of a size brings along), `placeholders` (of
commands), `report` (pages of tables and pictures), `intervals` (means with theirs), `reading` (applications and lists
from files), `coallocation` (one application on several machines at once), `s3` (the scheduler, pure), `slurm` (Slurm's
schedulers, pure), `simulation` (any log through any policy), `policies` (those of others, in Python), `prediction`
(likely starts, from how jobs have used their walltimes), `endpoints` (schedulers that can be asked), `pictures`,
`notebook` (how it shows plans and schedules), `agent` (asks, chooses, submits, reshapes and watches for one
application), `workflows`, `service` (S³ over HTTP), `cli`, `bundle` (one file for login nodes), `manual` (man gas).
Imports point down that list only.
"""


def __getattr__(name: str) -> object:
    """Import names on demand, and even what does that: nothing may come before interruptions are caught."""
    _attach()
    return globals()[name] if name in globals() else __getattr__(name)  # the loader's from now on


def __dir__() -> list[str]:
    """Return the names that there are."""
    _attach()
    return __dir__()  # likewise


def _attach() -> None:
    import lazy_loader

    loader = lazy_loader.attach_stub(__name__, __file__)
    globals().update(zip(("__getattr__", "__dir__", "__all__"), loader, strict=True))
