"""Gas: the request, and the supercomputer, that finishes a moldable application first.

The main path, from top to bottom::

    read_application("lu.toml")      application   execution time on n processors, and the n that it accepts
    read_availability("kth.json")    availability  free processors in each future time frame (endpoints fetch it)
    plan("lu.toml", "kth.json")      agent         the request that finishes first, and why the others lose (planner)
    submit("lu.toml", command)       agent         submits that request exactly once; returns a future
    Agent(application, endpoints)    agent         queries schedulers, plans, submits once, reshapes and watches

The modules and packages below this path, from the bottom: `times`, `errors`, `printable` and `json_text` (make
untrusted text and JSON safe for terminal and memory), `compiled`, `beside` and `machine_code` (compiled kernels),
`heap` (the event queue), `profile` (free processors over time: one contract, several forms), `resources` (resources of
each unit of a size), `placeholders` (in commands), `report` (pages of tables and pictures), `intervals` (means with 90%
intervals), `reading` (applications and availability lists from files), `coallocation` (one application on several
machines at once), `s3` (the scheduler, pure), `slurm` (Slurm's schedulers, pure), `simulation` (simulates any log under
any policy), `policies` (users' own, in Python), `prediction` (predicted starts, learned from past jobs), `endpoints`
(connections to schedulers), `pictures`, `notebook` (plans and schedules as HTML), `agent` (queries, chooses, submits,
reshapes and watches for one application), `workflows`, `service` (S³ over HTTP), `cli`, `bundle` (one file for login
nodes), `manual` (man gas). A module imports only modules that come before it in this list.
"""


def __getattr__(name: str) -> object:
    """Import names on demand, and even the loader itself: nothing may be imported before interruptions are caught."""
    _attach()
    return globals()[name] if name in globals() else __getattr__(name)  # from now on the loader's `__getattr__`


def __dir__() -> list[str]:
    """Return the public names."""
    _attach()
    return __dir__()  # from now on the loader's `__dir__`


def _attach() -> None:
    import lazy_loader

    loader = lazy_loader.attach_stub(__name__, __file__)
    globals().update(zip(("__getattr__", "__dir__", "__all__"), loader, strict=True))
