"""A small Slurm with accounts, QOS and limits, made up for tests; and what real ones answered."""

from dataclasses import replace
from pathlib import Path

from gas.endpoints.slurm.accounting_answers import QUERIES, read_accounting
from gas.endpoints.slurm.setting_answers import config_values, read_settings
from gas.slurm.accounting import Accounting, Association, Bounds, Qos, Use
from gas.slurm.cluster import Cluster, Job, Licence, Node, Partition
from gas.slurm.settings import FACTORS, Settings

FOLDER = Path(__file__).parent / "endpoints" / "slurm" / "answers"
ASKER = {"22.05": "games", "24.11": "u1", "26.05": "u1"}
NOW = 1_000_000

NODES = tuple(Node(f"n{number}", 4, memory=1000) for number in range(1, 11))
MAIN = Partition("main", tuple(node.name for node in NODES), default_time=3600, longest=86400, job_factor=20)
SETTINGS = Settings(
    version="24.11.5",
    priority_type="multifactor",
    weights=dict.fromkeys(FACTORS, 0),
    favour_small=False,
    max_age=86400,
    half_life=86400,
    calculation_period=300,
    dampening=1,
    enforced=frozenset({"associations", "limits", "qos"}),
    with_accounting=True,
    partition_limits="NO",
    memory_per_cpu=50,
)


def job(cpus=1, minutes=60, **more):
    return Job(0, "mine", "me", "PENDING", ("main",), cpus, 0, **{"time_limit": 60 * minutes, **more})


def running(id, cpus, ends_in, **more):
    """Return a job of mine on account lab with QOS normal that runs."""
    about = {"user": "me", "account": "lab", "qos": "normal", "partitions": ("main",)} | more
    nodes = about.pop("nodes", ("n1",))
    return Job(
        id, "runs", state="RUNNING", cpus=cpus, priority=1, start=NOW - 60, end=NOW + ends_in, nodes=nodes,
        time_limit=ends_in + 60, **about,
    )  # fmt: skip


def an_accounting(mine=None, lab=None, root=None, **qos):
    """Return accounts root > lab > me and QOS normal and high, with these limits."""
    bounds = {"normal": Bounds(), "high": Bounds()} | qos
    chain = (
        Association("root", parent="", bounds=root or Bounds(), use=Use()),
        Association("lab", parent="root", bounds=lab or Bounds(), use=Use()),
        Association("lab", "me", parent="lab", bounds=mine or Bounds(), use=Use(), qos=("normal", "high", *qos)),
        Association("lab", "other", parent="lab", use=Use()),
    )
    named = {name: Qos(name, flags=frozenset(), bounds=one, use=Use()) for name, one in bounds.items()}
    return Accounting("me", chain, named, "lab", shares_complete=True)


def using(accounting, jobs):
    """Return the accounting with the use of these running jobs, as the controller would print it."""

    def use(counts):
        there = [one for one in jobs if one.state == "RUNNING" and counts(one)]
        cpus = sum(one.cpus for one in there)
        tres = {"cpu": cpus, "mem": 50 * cpus, "node": len({name for one in there for name in one.nodes})}
        left = sum(one.cpus * ((one.end or NOW) - NOW) / 60 for one in there)
        return Use(len(there), len(there), tres, run_minutes={"cpu": left})

    associations = tuple(
        replace(one, use=use(lambda job, one=one: job.user == one.user if one.user else True))
        for one in accounting.associations
    )
    qos = {
        name: replace(
            one,
            use=use(lambda job, name=name: job.qos == name),
            use_by_user={"me": use(lambda job, name=name: job.qos == name and job.user == "me")},
            use_by_account={"lab": use(lambda job, name=name: job.qos == name and job.account == "lab")},
        )
        for name, one in accounting.qos.items()
    }
    return replace(accounting, associations=associations, qos=qos)


def a_cluster(accounting=None, *, jobs=(), settings=None, partitions=(MAIN,), licences=(), **changes):
    accounting = using(accounting or an_accounting(), jobs)
    return Cluster(
        "here", NOW, "24.11.5", NODES, tuple(jobs), (), tuple(partitions), licences=tuple(licences),
        settings=replace(settings or SETTINGS, **changes), accounting=accounting, others_visible=True,
    )  # fmt: skip


def licence(total, used=0):
    return Licence("lic", total, used)


def told(release, variant="plain"):
    """Return what a real Slurm answered to the questions of `accounting_answers`, by name."""
    folder = FOLDER / f"v{release}-{variant}"
    return {name: (folder / f"{name}.txt").read_text() for name in QUERIES}


def read(release, variant="plain"):
    """Return the settings and the accounting of these answers."""
    answers = told(release, variant)
    return read_settings(config_values(answers["config"])), read_accounting(answers, ASKER[release])
