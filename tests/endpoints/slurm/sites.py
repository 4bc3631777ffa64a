"""Sites of many kinds, drawn at random: how their Slurm is configured, what waits there, and what is asked for.

An `Aspect` is one thing that sites do: priorities, memory, GPUs, limits, ... A kind of site has one of them or a few;
the kind `mixture` draws from nearly all at once. Everything follows from the kind and a seed.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from private_slurm import USERS, Nodes, PrivateSlurm

from gas.endpoints.slurm.choices import Choice

ASKER = USERS[0]
"""The ordinary user who asks Gas."""

OTHERS = USERS[1:]


@dataclass
class Asked:
    """A job as it is submitted: options of sbatch by their long names; who submits it."""

    options: dict[str, str | None]
    user: str = ASKER
    parts: tuple[str, ...] = ()
    unit: str = "tasks"

    @property
    def words(self) -> tuple[str, ...]:
        own = [f"--{name}" if value is None else f"--{name}={value}" for name, value in self.options.items()]
        return (*own, *self.parts)

    @property
    def size(self) -> int:
        return int(self.options.get("ntasks") or 1)


@dataclass
class Site:
    """What is configured; aspects add to it."""

    groups: list[Nodes] = field(default_factory=lambda: [Nodes(4), Nodes(4), Nodes(4)])
    lines: dict[str, str] = field(default_factory=dict)
    main: dict[str, str] = field(default_factory=dict)
    partitions: dict[str, str] = field(default_factory=dict)
    scheduling: dict[str, str | None] = field(
        default_factory=lambda: {
            "bf_interval": "1", "bf_resolution": "60", "bf_window": "1440", "bf_max_job_test": "1000",
            "bf_continue": None,
        }
    )  # fmt: skip
    qos: dict[str, str] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)
    topology: str = ""
    enforced: set[str] = field(default_factory=set)
    accounting: bool = False
    tree: dict[str, str] = field(default_factory=dict)
    """The account above an account, if it is not root."""
    jobs: int = 18

    @property
    def cpus(self) -> int:
        return sum(group.count * group.cpus for group in self.groups)

    def slurm(self, release: str, *, rest: bool = True) -> PrivateSlurm:
        """Return its Slurm, to be started; with slurmrestd or without."""
        main = {"Nodes": "ALL", "Default": "YES", "OverSubscribe": "NO", "DefaultTime": "60", "MaxTime": "1440"}
        lines = [f"{key}={value}" for key, value in self.lines.items()]
        if self.enforced:
            lines.append(f"AccountingStorageEnforce={','.join(sorted(self.enforced))}")
        partitions = {
            "main": " ".join(f"{key}={value}" for key, value in (main | self.main).items()),
            **self.partitions,
        }
        lines += [f"PartitionName={name} State=UP {words}" for name, words in partitions.items()]
        scheduling = ",".join(key if value is None else f"{key}={value}" for key, value in self.scheduling.items())
        return PrivateSlurm(
            self.groups, 0, *lines, release=release, scheduling=scheduling, rest=rest, accounting=self.accounting,
            accounts=self.accounts() if self.accounting else "", topology=self.topology,
        )  # fmt: skip

    def accounts(self) -> str:
        """Return the lines for sacctmgr: two accounts, in which everybody is, with all qualities of service."""
        lines = [f"add qos {name}" for name in self.qos]
        lines += [f"modify qos {name} set {words}" for name, words in self.qos.items() if words]
        lines += [f"add account {name} fairshare=30" for name in dict.fromkeys(self.tree.values())]
        for name, shares in (("lab", 20), ("dept", 10)):
            above = f" parent={self.tree[name]}" if name in self.tree else ""
            lines.append(f"add account {name}{above} fairshare={shares}")
        allowed = ",".join(("normal", *(name for name in self.qos if name != "normal")))
        for number, user in enumerate((ASKER, *OTHERS)):
            where = "lab" if number % 3 == 0 else "dept"
            lines.append(f"add user {user} account={where} fairshare={5 + 3 * number} qos={allowed} defaultqos=normal")
        return "\n".join([*(line for line in lines if not line.startswith("add qos normal")), *self.own])


class Aspect:
    """One thing that sites do. `chance` is the source of all that is drawn."""

    def configure(self, site: Site, chance: random.Random) -> None:
        """Add to the configuration."""

    def prepare(self, slurm: PrivateSlurm, chance: random.Random) -> None:
        """Do what is done when the daemons run, before jobs are submitted."""

    def after(self, slurm: PrivateSlurm, chance: random.Random, past: list[int]) -> None:
        """Do what is done when the jobs of the queue, with these numbers, are submitted."""

    def job(self, job: Asked, chance: random.Random, past: list[int]) -> None:
        """Change a job of the queue; `past` are the numbers of those before it."""

    def probe(self, job: Asked, chance: random.Random) -> None:
        """Change what is asked for; by default as jobs of the queue."""
        self.job(job, chance, [])


def ask_for_tasks(job: Asked, chance: random.Random, way: float, ends: tuple[float, float, float, float]) -> None:
    """Ask for CPUs per task, tasks per node, whole nodes or few tasks if `way` is below the first of these ends."""
    if way < ends[0]:
        job.options |= {"cpus-per-task": str(chance.choice((2, 3, 4))), "ntasks": str(max(1, job.size // 4))}
    elif way < ends[1]:
        each = chance.randint(1, 3)
        job.options |= {"ntasks-per-node": str(each), "ntasks": str(min(job.size, 12 * each))}
    elif way < ends[2]:
        job.options["exclusive"] = None
    elif way < ends[3]:
        job.options["ntasks"] = str(chance.choice((1, 2, 3, 5)))


class SingleCpus(Aspect):
    """Nodes of one CPU, round figures: nothing but the order of jobs counts."""

    def configure(self, site, chance):
        site.groups, site.jobs = [Nodes(16, 1)], 12

    def job(self, job, chance, past):
        job.options |= {"ntasks": str(chance.choice((4, 8, 16))), "time": str(chance.choice((20, 30, 60)))}

    def probe(self, job, chance):
        job.options["ntasks"] = str(chance.randint(1, 16))


class Shapes(Aspect):
    """Tasks a node, CPUs a task, ranges of nodes, whole nodes."""

    def job(self, job, chance, past):
        self._change(job, chance, ("plain", "exclusive", "tasks", "cpus", "nodes"))

    def probe(self, job, chance):
        self._change(job, chance, ("plain", "exclusive", "tasks", "cpus"))

    def _change(self, job, chance, ways):
        way, size = chance.choice(ways), job.size
        if way == "exclusive":
            job.options["exclusive"] = None
        elif way == "tasks":
            each = chance.randint(1, 4)
            job.options |= {"ntasks-per-node": str(each), "ntasks": str(min(size, 12 * each))}
        elif way == "cpus":
            each = chance.choice((2, 2, 3, 4))
            job.options |= {"cpus-per-task": str(each), "ntasks": str(max(1, min(size // each, 12 * (4 // each))))}
        elif way == "nodes":
            least = chance.randint(1, 4)
            most = least + chance.randint(0, 4)
            job.options |= {"nodes": f"{least}-{most}", "ntasks": str(max(least, min(size, 4 * most)))}


class WholeNodes(Aspect):
    """A partition whose jobs share no nodes, and jobs that want theirs whole."""

    def configure(self, site, chance):
        site.partitions["whole"] = "Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=1440"

    def job(self, job, chance, past):
        if chance.random() < 0.4:
            job.options |= chance.choice(({"exclusive": None}, {"partition": "whole"}))

    def probe(self, job, chance):
        if chance.random() < 0.6:
            del job.options["ntasks"]
            job.unit = "nodes"
            job.options |= {"nodes": str(chance.randint(1, 12)), "exclusive": None}
            job.options["partition"] = chance.choice(("main", "whole"))


class Arrays(Aspect):
    """Arrays of a few tasks."""

    limited = False

    def job(self, job, chance, past):
        if chance.random() < 0.5:
            limit = f"%{chance.randint(1, 3)}" if self.limited else ""
            job.options |= {
                "ntasks": str(min(job.size, chance.randint(1, 8))),
                "array": f"0-{chance.randint(1, 6)}{limit}",
            }

    def probe(self, job, chance):
        """Leave it a job of its own."""


class Throttled(Arrays):
    """Arrays of which only some tasks may run at once."""

    limited = True


class Priorities(Aspect):
    """Multifactor priority of several users, with QOS and sizes that count."""

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"associations", "qos"}
        site.qos |= {"high": "Priority=100", "low": "Priority=10"}
        site.lines |= {
            "PriorityType": "priority/multifactor", "PriorityMaxAge": "1-0", "PriorityCalcPeriod": "1",
            "PriorityWeightAge": str(chance.choice((0, 1000))), "PriorityWeightFairshare": "2000",
            "PriorityWeightJobSize": str(chance.choice((0, 1000, 5000))),
            "PriorityWeightQOS": str(chance.choice((0, 1000, 3000))), "PriorityWeightPartition": "500",
            "PriorityFavorSmall": chance.choice(("NO", "NO", "YES")),
        }  # fmt: skip
        if chance.random() < 0.15:
            site.lines["PriorityFlags"] = chance.choice(("SMALL_RELATIVE_TO_TIME", "NO_FAIR_TREE", "MAX_TRES"))
        if chance.random() < 0.2:
            site.lines["PriorityWeightTRES"] = "CPU=700,Mem=300"

    def job(self, job, chance, past):
        job.options["qos"] = chance.choice(("normal", "high", "low"))


class FairShares(Priorities):
    """And what users have used counts, which takes a minute to come."""

    def configure(self, site, chance):
        super().configure(site, chance)
        site.lines["PriorityWeightFairshare"] = "20000"

    wait: ClassVar[int] = 65


class Memory(Aspect):
    """Nodes of two sizes of memory, and jobs that ask for it."""

    def configure(self, site, chance):
        site.lines["SelectTypeParameters"] = chance.choice(("CR_CPU_Memory", "CR_Core_Memory"))
        site.main["DefMemPerCPU"] = chance.choice(("250", "500", "1000"))
        for at, size in enumerate((4000, 4000, 16000)):
            site.groups[at] = replace(site.groups[at], memory=size)

    def job(self, job, chance, past):
        if chance.random() < 0.6:
            asked = chance.choice(
                ({"mem": str(chance.choice((500, 1500, 3000, 8000)))}, {"mem-per-cpu": str(chance.choice((300, 900)))})
            )
            if not {"mem", "mem-per-gpu"} & job.options.keys():  # sbatch takes one of them
                job.options |= asked


class Features(Aspect):
    """Nodes of several kinds, and constraints."""

    def configure(self, site, chance):
        for at, features in enumerate((("fast", "ib"), ("slow",), ("fast",))):
            site.groups[at] = replace(site.groups[at], features=features)

    def job(self, job, chance, past):
        if chance.random() < 0.6:
            wanted = chance.choice(("fast", "slow", "ib", "fast&ib", "slow|ib"))
            room = {"fast": 8, "slow": 4, "ib": 4, "fast&ib": 4, "slow|ib": 8}[wanted]
            job.options["constraint"] = wanted
            if "ntasks" in job.options:
                job.options["ntasks"] = str(min(job.size, 4 * room))


class Gpus(Aspect):
    """Some nodes with GPUs of one type or another, of both, or of none that is named; at times memory counts too."""

    MACHINES = (
        ((("a100", 4),), (("h100", 2),), ()),
        ((("a100", 4),), (("a100", 2), ("h100", 2)), ()),
        ((("a100", 4),), (("h100", 2),), (("h100", 4),)),
        ((("", 4),), (("", 2),), ()),
    )
    """What the nodes of each of the three groups have."""

    def configure(self, site, chance):
        self.machine = chance.choice(self.MACHINES)
        self.memory = chance.random() < 0.5
        for at, (gpus, cpus) in enumerate(zip(self.machine, (8, chance.choice((8, 12)), 8), strict=True)):
            site.groups[at] = replace(site.groups[at], cpus=cpus, gpus=gpus, memory=8000)
        if self.memory:
            site.lines["SelectTypeParameters"] = chance.choice(("CR_CPU_Memory", "CR_Core_Memory"))
            key, value = chance.choice((("DefMemPerCPU", "500"), ("DefMemPerGPU", "900"), ("DefMemPerCPU", "200")))
            site.main[key] = value

    def job(self, job, chance, past):
        if chance.random() < 0.6:
            self._ask(job, chance)

    def probe(self, job, chance):
        if chance.random() < 0.95:
            self._ask(job, chance)

    def _ask(self, job, chance):
        there = {kind for gpus in self.machine for kind, _ in gpus}
        kind = chance.choice(("", *sorted(there - {""})))
        nodes = [sum(count for one, count in gpus if kind in (one, "")) for gpus in self.machine for _ in range(4)]
        total, each = sum(nodes), max(nodes)
        typed = f"{kind}:" if kind else ""
        way = chance.choice(("task", "tasks", "node", "nodes", "job", "gres", "unit"))
        if way == "unit":  # Gas writes it as so many tasks with one each
            job.options |= {"ntasks": str(chance.randint(1, 5 * total // 6)), "gpus-per-task": "1"}
            job.unit = "gpus"
        elif way == "task":
            job.options |= {"ntasks": str(chance.randint(1, total // 2)), "gpus-per-task": f"{typed}1"}
        elif way == "tasks":
            count = chance.randint(2, each)
            job.options |= {"ntasks": str(chance.randint(1, total // (2 * count))), "gpus-per-task": f"{typed}{count}"}
        elif way == "job":
            size = chance.randint(1, total // 2)
            tasks = chance.choice((size, size, max(1, size // 2)))
            job.options |= {"ntasks": str(tasks), "gpus": f"{typed}{size}"}
        else:
            most = min(4, sum(count > 0 for count in nodes))
            count, size = chance.randint(1, each), chance.randint(1, most)
            job.options |= {"gpus-per-node": f"{typed}{count}"} if way != "gres" else {"gres": f"gpu:{typed}{count}"}
            if way == "nodes":
                del job.options["ntasks"]
                job.options |= {"nodes": str(size), "exclusive": None}
                job.unit = "nodes"
            else:
                job.options |= {"ntasks": str(size), "ntasks-per-node": "1"}
        if way in ("job", "task", "node", "gres") and chance.random() < 0.3:
            job.options["cpus-per-gpu"] = str(chance.randint(1, 3))
        elif way == "node" and chance.random() < 0.3:
            job.options["cpus-per-task"] = str(chance.randint(2, 6))
        if self.memory and chance.random() < 0.5:
            more = chance.choice((("mem-per-gpu", "700"), ("mem-per-gpu", "1500"), ("mem", "3000"), ("mem", "6000")))
            job.options[more[0]] = more[1]


class OthersLimited(Aspect):
    """A QOS with limits, in which others wait."""

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        site.qos["few"] = chance.choice(
            ("GrpTRES=cpu=12", "MaxTRESPerUser=cpu=8", "MaxJobsPerUser=1", "GrpTRES=node=3", "MaxTRES=cpu=10")
        )

    def job(self, job, chance, past):
        if chance.random() < 0.5:
            job.options["qos"] = "few"

    def probe(self, job, chance):
        """Leave it without limits."""


class OwnLimits(Aspect):
    """The asker is at a limit, or near it: of the association, of a QOS, of the partition."""

    LIMITS = (
        ("association", "GrpTRES=cpu=16"), ("association", "GrpTRES=node=5"), ("association", "MaxJobs=2"),
        ("association", "MaxWall=60"), ("association", "MaxSubmit=4"), ("association", "MaxTRES=cpu=12"),
        ("association", "GrpJobs=2"), ("account", "GrpTRES=cpu=24"), ("account", "GrpJobs=3"),
        ("qos", "GrpTRES=cpu=14"), ("qos", "MaxTRESPerUser=cpu=10"), ("qos", "MaxJobsPerUser=2"),
        ("qos", "MaxWall=60"), ("qos", "MaxSubmitJobsPerUser=4"), ("qos", "MaxTRES=cpu=12"),
        ("qos", "MaxTRESPerUser=node=3"), ("partition", "MaxTime=60"), ("partition", "MaxNodes=3"),
    )  # fmt: skip

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        site.qos.setdefault("own", "")
        self.where, limit = chance.choice(self.LIMITS)
        if self.where == "association":
            site.own.append(f"modify user {ASKER} set {limit}")
        elif self.where == "account":
            site.own.append(f"modify account lab set {limit}")
        elif self.where == "qos":
            site.qos["own"] = limit
        else:
            key, value = limit.split("=")
            site.main[key] = value

    def job(self, job, chance, past):
        if len(past) in (0, 2, 7, 9):
            job.user = ASKER
            job.options |= {"ntasks": str(chance.randint(3, 7)), "qos": "own", "time": str(chance.randint(20, 60))}

    def probe(self, job, chance):
        if chance.random() < 0.8:
            job.options["qos"] = "own"


class Tiers(Aspect):
    """Partitions of several tiers on some of the same nodes."""

    def configure(self, site, chance):
        site.main["PriorityTier"] = "5"
        site.partitions |= {
            "urgent": "Nodes=n[01-08] MaxTime=1440 PriorityTier=10",
            "spare": "Nodes=n[05-12] MaxTime=1440 PriorityTier=1",
        }

    def job(self, job, chance, past):
        job.options["partition"] = chance.choice(("main", "urgent", "spare"))
        if "ntasks" in job.options:
            job.options["ntasks"] = str(min(job.size, 32))


class Preemption(Aspect):
    """Jobs that push others aside: those with the value "urgent" in an option."""

    option: str
    plugin: str

    def configure(self, site, chance):
        mode = chance.choice(("REQUEUE", "CANCEL"))
        site.lines |= {"PreemptType": f"preempt/{self.plugin}", "PreemptMode": mode, "JobRequeue": "1"}

    def job(self, job, chance, past):
        if chance.random() < 0.2:
            job.options[self.option] = "urgent"

    def probe(self, job, chance):
        if chance.random() < 0.6:
            job.options[self.option] = "urgent"


class PreemptionByTier(Preemption):
    """A partition whose jobs push others aside."""

    option, plugin = "partition", "partition_prio"

    def configure(self, site, chance):
        super().configure(site, chance)
        site.partitions["urgent"] = "Nodes=ALL MaxTime=1440 PriorityTier=10"


class PreemptionByQos(Preemption):
    """A QOS whose jobs push others aside."""

    option, plugin = "qos", "qos"

    def configure(self, site, chance):
        super().configure(site, chance)
        site.accounting = True
        site.enforced |= {"associations", "qos"}
        site.qos["urgent"] = "Preempt=normal"


class Reserved(Aspect):
    """Nodes kept for others or for maintenance later on, and one that is drained."""

    def prepare(self, slurm, chance):
        kept = f"n[{chance.randrange(1, 5):02}-{chance.randrange(6, 12):02}]"
        where, flags = chance.choice(((kept, ()), (kept, ("Flags=MAINT",)), ("ALL", ("Flags=MAINT,IGNORE_JOBS",))))
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=kept", "Users=root", f"Nodes={where}", *flags,
            f"StartTime=now+{chance.randrange(40, 300)}minutes", f"Duration={chance.randrange(30, 150)}",
        )  # fmt: skip
        if chance.random() < 0.6:
            slurm.run("scontrol", "update", "NodeName=n05", "State=DRAIN", "Reason=test")


class Deferred(Aspect):
    """Jobs that are held, wait for others or for a time, or have several parts."""

    def job(self, job, chance, past):
        way = chance.choice(("begin", "dependency", "held", "parts", "", "", "", ""))
        if way == "begin":
            job.options["begin"] = f"now+{chance.randint(5, 200)}minutes"
        elif way == "dependency" and past:
            job.options["dependency"] = f"afterany:{chance.choice(past)}"
        elif way == "held":
            job.options["hold"] = None
        elif way == "parts":
            job.options["ntasks"] = str(min(job.size, 8))
            job.parts = (":", f"--ntasks={chance.randint(1, 8)}", f"--time={job.options['time']}")

    def probe(self, job, chance):
        """Leave it one that can start."""


class Depth(Aspect):
    """The backfill scheduler looks at some of the jobs only."""

    def configure(self, site, chance):
        key, value = chance.choice(
            (("bf_max_job_test", "6"), ("bf_max_job_test", "12"), ("bf_max_job_user", "2"), ("bf_max_job_part", "7"))
        )
        site.scheduling[key] = value

    def job(self, job, chance, past):
        if len(past) in (8, 11, 14):
            job.user = ASKER

    def probe(self, job, chance):
        """Leave it as it is."""


class Licences(Aspect):
    """Licences, of which there are few."""

    def configure(self, site, chance):
        site.lines["Licenses"] = "matlab:4,ansys:20"

    def job(self, job, chance, past):
        if chance.random() < 0.5:
            job.options["licenses"] = chance.choice(("matlab:1", "matlab:3", "ansys:8", "matlab:2,ansys:4"))


class Several(Aspect):
    """Two partitions with some nodes in common, and jobs that go to either."""

    def configure(self, site, chance):
        site.partitions["half"] = "Nodes=n[07-12] MaxTime=1440"

    def job(self, job, chance, past):
        job.options["partition"] = chance.choice(("main", "half", "half,main"))
        if "half" in str(job.options["partition"]) and "ntasks" in job.options:
            job.options["ntasks"] = str(min(job.size, 24))


class NodeOrders(Aspect):
    """Jobs go to the least loaded nodes, small ones to the last nodes, or to as few switches as can be."""

    def configure(self, site, chance):
        way = chance.choice(("all least loaded", "least loaded", "serial last"))
        if way == "all least loaded":
            site.lines["SelectTypeParameters"] = chance.choice(("CR_CPU,CR_LLN", "CR_Core,CR_LLN"))
        elif way == "least loaded":
            site.partitions["half"] = "Nodes=ALL MaxTime=1440 LLN=YES"
        else:
            site.scheduling["pack_serial_at_end"] = None
        self.way = way

    def job(self, job, chance, past):
        small = chance.random() < 0.6
        if small and "ntasks" in job.options:
            job.options["ntasks"] = str(chance.choice((1, 1, 1, 2, 3)))
        if self.way == "least loaded":
            job.options["partition"] = chance.choice(("main", "half"))
        if not small and chance.random() < 0.5:
            job.options["exclusive"] = None

    def probe(self, job, chance):
        self.job(job, chance, [])


class Switches(Aspect):
    """Nodes on switches: leaves of several sizes below one or two levels of others, at times in islands."""

    def configure(self, site, chance):
        if site.groups == Site().groups and chance.random() < 0.5:
            site.groups = [Nodes(8), Nodes(8)]
        nodes = sum(group.count for group in site.groups)
        site.lines["TopologyPlugin"] = "topology/tree"
        site.lines.setdefault("SelectTypeParameters", chance.choice(("CR_CPU", "CR_Core")))
        lines, leaves, first = [], 0, 1
        while first <= nodes:
            last = min(first + chance.choice((1, 2, 3, 4, 5)), nodes)
            lines.append(f"SwitchName=leaf{leaves} Nodes=n[{first:02}-{last:02}]")
            leaves, first = leaves + 1, last + 1
        shape = chance.choice(("one root", "one root", "three levels", "islands"))
        middle = chance.randint(1, leaves - 1) if leaves > 1 else 1
        above = [f"leaf[0-{middle - 1}]", *([f"leaf[{middle}-{leaves - 1}]"] if middle < leaves else [])]
        if shape == "one root" or len(above) == 1:
            lines.append(f"SwitchName=root Switches=leaf[0-{leaves - 1}]")
        else:
            lines += [f"SwitchName=middle{number} Switches={names}" for number, names in enumerate(above)]
            if shape == "three levels":
                lines.append("SwitchName=root Switches=middle[0-1]")
        site.topology = "\n".join([*lines, ""])

    def job(self, job, chance, past):
        self.probe(job, chance)
        if chance.random() < 0.25 and "ntasks" in job.options:
            job.options["nodes"] = str(chance.randint(1, min(job.size, 4)))

    def probe(self, job, chance):
        way = chance.random()
        if way < 0.2:
            job.unit = "nodes"
            job.options |= {"nodes": str(max(1, job.size // 4)), "exclusive": None}
            del job.options["ntasks"]
        elif way < 0.4:
            job.options["exclusive"] = None
        elif way < 0.7:
            job.options["ntasks"] = str(chance.choice((1, 2, 3, 5, 7, 9)))


class Threads(Aspect):
    """Nodes of several threads a core, which are CPUs, or of which only the cores are; jobs get cores, or CPUs."""

    def configure(self, site, chance):
        threads = "Sockets={} CoresPerSocket={} ThreadsPerCore=2"
        two, four = threads.format(1, 2), threads.format(chance.choice((1, 2)), 2)
        kinds = [Nodes(4, 4, more=two), Nodes(4, 8 if "Sockets=2" in four else 4, more=four)]
        kinds.append(Nodes(4, 4, more=threads.format(1, 4)) if chance.random() < 0.3 else Nodes(4, 4, more=two))
        site.groups = kinds
        site.lines["SelectTypeParameters"] = chance.choice(
            ("CR_CPU", "CR_Core", "CR_Core", "CR_Core_Memory", "CR_CPU_Memory", "CR_Core,CR_ONE_TASK_PER_CORE")
        )
        if "Memory" in site.lines["SelectTypeParameters"]:
            site.lines["DefMemPerCPU"] = "100"

    def job(self, job, chance, past):
        way = chance.random()
        size = job.size
        if way < 0.2:
            job.options |= {"cpus-per-task": str(chance.choice((2, 2, 3, 4))), "ntasks": str(max(1, size // 4))}
        elif way < 0.35:
            each = chance.randint(1, 3)
            job.options |= {"ntasks-per-node": str(each), "ntasks": str(min(size, 12 * each))}
        elif way < 0.5:
            job.options["exclusive"] = None
        elif way < 0.75:
            job.options |= {"ntasks": str(max(1, min(size // 2, 20)))}
            job.options |= dict([chance.choice((("hint", "nomultithread"), ("threads-per-core", "1"),
                                                ("ntasks-per-core", "1")))])  # fmt: skip
        if chance.random() < 0.3 and "ntasks-per-node" not in job.options:
            job.options["ntasks"] = str(chance.choice((1, 2, 3, 5)))

    def probe(self, job, chance):
        self.job(job, chance, [])


class GpuThreads(Gpus):
    """Nodes with GPUs and cores of two threads, whole cores for jobs, and defaults for each GPU."""

    def configure(self, site, chance):
        self.machine = chance.choice(self.MACHINES)
        shape = "Sockets={} CoresPerSocket={} ThreadsPerCore=2"
        for at, gpus in enumerate(self.machine):
            sockets = chance.choice((1, 2))
            more = shape.format(sockets, chance.choice((4, 6)) // sockets)
            cpus = 2 * math.prod(int(word.partition("=")[2]) for word in more.split()[:2])
            site.groups[at] = replace(site.groups[at], cpus=cpus, gpus=gpus, memory=8000, more=more)
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core_Memory", "CR_Core_Memory", "CR_Core"))
        self.memory = "Memory" in site.lines["SelectTypeParameters"]
        defaults: dict[str, str] = {}
        if self.memory:
            key, value = chance.choice((("DefMemPerCPU", "500"), ("DefMemPerCPU", "200"), ("DefMemPerGPU", "900")))
            defaults[key] = value
        if each := chance.choice(("", "", "2", "3")):
            defaults["DefCpuPerGPU"] = each
        where = chance.choice((site.lines, site.main))
        where |= defaults

    def _ask(self, job, chance):
        super()._ask(job, chance)
        if "exclusive" not in job.options and chance.random() < 0.25:
            job.options["hint"] = "nomultithread"


class MemoryThreads(Aspect):
    """Cores of two threads where memory binds: of a CPU or a node, with limits for them."""

    WAYS = ("", "", "MaxMemPerCPU=400", "MaxMemPerCPU=500", "MaxMemPerNode=3000")

    def configure(self, site, chance):
        threads = chance.choice(("Sockets=1 CoresPerSocket=4 ThreadsPerCore=2", "Sockets=2 CoresPerSocket=2 "
                                 "ThreadsPerCore=2", "Sockets=2 CoresPerSocket=4"))  # fmt: skip
        site.groups = [Nodes(4, 8, memory=size, more=threads) for size in (4000, 2400, 8000)]
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core_Memory", "CR_Core_Memory", "CR_CPU_Memory"))
        site.main["DefMemPerCPU"] = chance.choice(("200", "300", "450"))
        if way := chance.choice(self.WAYS):
            key, value = way.split("=")
            (site.main if chance.random() < 0.5 else site.lines)[key] = value

    def job(self, job, chance, past):
        way = chance.random()
        if way < 0.55:
            job.options["mem-per-cpu"] = str(chance.choice((150, 300, 450, 600, 900)))
            job.options["ntasks"] = str(max(1, job.size // 2))
        elif way < 0.75:
            job.options["mem"] = str(chance.choice((0, 1000, 2000, 3000)))
        elif way < 0.85:
            job.options |= {"exclusive": None, **chance.choice(({}, {"mem": "2000"}, {"mem-per-cpu": "300"}))}
        more = chance.random()
        if more < 0.3 and "exclusive" not in job.options:
            job.options |= dict([chance.choice((("hint", "nomultithread"), ("threads-per-core", "1")))])
            job.options["ntasks"] = str(max(1, job.size // 2))
        if 0.2 < more < 0.5:
            job.options |= {"cpus-per-task": str(chance.choice((2, 3, 4))), "ntasks": str(max(1, job.size // 4))}
        elif more > 0.85:
            job.options["ntasks-per-node"] = str(each := chance.randint(1, 3))
            job.options["ntasks"] = str(min(job.size, 8 * each))

    def probe(self, job, chance):
        self.job(job, chance, [])


class GpuPartitions(Gpus):
    """A partition of nodes with GPUs among those of another, which leaves CPUs for them; nodes by weight; features."""

    def configure(self, site, chance):
        self.machine = ((), (("a100", 4),), (("h100", 2),))
        self.memory = False
        threads = chance.choice(("", "Sockets=2 CoresPerSocket=4", "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2"))
        weighted = chance.random() < 0.6
        for at, gpus in enumerate(self.machine):
            more = f"{threads} Weight={10 * at + 1}" if weighted else threads
            features = tuple(kind for kind, _ in gpus)
            site.groups[at] = replace(site.groups[at], cpus=8, gpus=gpus, memory=8000, more=more, features=features)
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core", "CR_CPU"))
        most = chance.choice((4, 6))
        self.cpu = chance.choice(("main", "cpu"))
        if self.cpu == "main":
            site.main["MaxCPUsPerNode"] = str(most)
        else:
            site.partitions["cpu"] = f"Nodes=ALL MaxTime=1440 MaxCPUsPerNode={most}"
        site.partitions["gpu"] = "Nodes=n[05-12] MaxTime=1440" + chance.choice(("", f" MaxCPUsPerNode={most}"))

    def job(self, job, chance, past):
        if chance.random() < 0.6:
            self._ask(job, chance)
            job.options["partition"] = "gpu"
            if chance.random() < 0.2:
                job.options["constraint"] = "a100|h100"
        else:
            job.options["partition"] = self.cpu
            job.options["ntasks"] = str(min(job.size, 40))
            if chance.random() < 0.3:
                job.options["cpus-per-task"] = "2"
                job.options["ntasks"] = str(min(job.size, 16))

    def probe(self, job, chance):
        self.job(job, chance, [])


class GpuCores(Gpus):
    """Nodes of two sockets, each with GPUs of its own (Cores= of gres.conf), which jobs may be bound to."""

    def configure(self, site, chance):
        self.machine = ((("a100", 4),), (("a100", 4),), ())
        self.memory = False
        more = chance.choice(("Sockets=2 CoresPerSocket=4", "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"))
        cpus = 16 if "Threads" in more else 8
        for at, gpus in enumerate(self.machine):
            cores = ("0-3", "4-7") if gpus else ()
            site.groups[at] = replace(site.groups[at], cpus=cpus, gpus=gpus, memory=8000, more=more, cores=cores)
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core", "CR_Core", "CR_CPU"))
        self.binds = chance.random() < 0.5

    def _ask(self, job, chance):
        super()._ask(job, chance)
        if self.binds and chance.random() < 0.4:
            job.options["gres-flags"] = "enforce-binding"
        elif chance.random() < 0.1 and "ntasks" in job.options:
            for name in [name for name in job.options if "gpu" in name or name == "gres"]:
                del job.options[name]
            job.options |= {"gpus-per-socket": "1", "sockets-per-node": "1", "cpus-per-task": "1"}


class Selections(Aspect):
    """Other ways to give out nodes: whole ones, whole sockets, packed; on nodes of one thread a core, or two."""

    def configure(self, site, chance):
        threads = chance.choice(("Sockets=2 CoresPerSocket=2", "Sockets=2 CoresPerSocket=2 ThreadsPerCore=2",
                                 "Sockets=4 CoresPerSocket=2"))  # fmt: skip
        cpus = 4 if threads == "Sockets=2 CoresPerSocket=2" else 8
        site.groups = [Nodes(4, cpus, more=threads, memory=4000)] * 3
        self.way = way = chance.choice(("linear", "socket", "socket", "socket memory", "pack"))
        if way == "linear":
            site.lines |= {"SelectType": "select/linear", "SelectTypeParameters": "CR_Memory"}
            if chance.random() < 0.5:
                site.lines["DefMemPerCPU"] = "100"
        elif way == "pack":
            site.lines["SelectTypeParameters"] = "CR_Core,CR_Pack_Nodes"
        else:
            site.lines["SelectTypeParameters"] = "CR_Socket" if way == "socket" else "CR_Socket_Memory"
            if way == "socket memory":
                site.lines["DefMemPerCPU"] = "400"

    def job(self, job, chance, past):
        way = chance.random()
        ask_for_tasks(job, chance, way, (0.2, 0.35, 0.45, 0.75))
        if 0.75 <= way < 0.85:
            job.options["mem"] = "1500"

    def probe(self, job, chance):
        self.job(job, chance, [])


class PowerSaving(Aspect):
    """Some nodes are off, and boot for a job; those that come first by weight, or any."""

    def configure(self, site, chance):
        site.groups = [Nodes(6, 4, more=f"Weight={weight}") for weight in chance.choice(((1, 1), (1, 5), (5, 1)))]
        site.lines |= {
            "SuspendProgram": "/bin/true", "ResumeProgram": "/bin/true", "SuspendTime": "99999", "SuspendTimeout": "2",
            "ResumeTimeout": "900",
        }  # fmt: skip
        site.jobs = chance.choice((18, 18, 2))

    def prepare(self, slurm, chance):
        off = [f"n{number:02}" for number in chance.sample(range(1, 13), chance.randint(2, 8))]
        slurm.run("scontrol", "update", f"nodename={','.join(off)}", "state=power_down_force")
        until = time.monotonic() + 40
        while slurm.tried("sinfo", "-h", "-N", "-o", "%N %T").count("~") < len(off):  # powered down
            if time.monotonic() > until:
                raise RuntimeError(f"{off} are not powered down")
            time.sleep(0.5)


class RareOptions(Aspect):
    """Options that few jobs have: numbers of CPUs of a node, ways to spread, nodes that are named, other limits."""

    OPTIONS = (
        {"mincpus": "3"}, {"mincpus": "4"}, {"spread-job": None}, {"use-min-nodes": None}, {"overcommit": None},
        {"oversubscribe": None}, {"tmp": "10"}, {"distribution": "cyclic"}, {"nodelist": "n05"},
        {"exclude": "n[01-03]"}, {"contiguous": None}, {"ntasks-per-socket": "2"}, {"nice": "50"}, {"nice": "300"},
    )  # fmt: skip

    def configure(self, site, chance):
        site.groups = [Nodes(4, 4, more="TmpDisk=100 Sockets=2 CoresPerSocket=2")] * 3
        self.options = chance.sample(self.OPTIONS, 4)

    def job(self, job, chance, past):
        if chance.random() < 0.5:
            job.options |= chance.choice(self.options)

    def probe(self, job, chance):
        self.job(job, chance, [])


class RareSettings(Aspect):
    """Settings that few sites have, of the scheduler, of nodes, partitions and qualities of service."""

    WAYS = ("busy nodes", "no reserve", "pack", "socket", "spec", "most cpus", "force", "yes", "memory only", "weights",
            "one resv", "min age", "user exclusive")  # fmt: skip

    def configure(self, site, chance):
        self.way = way = chance.choice(self.WAYS)
        if way == "busy nodes":
            site.scheduling["bf_busy_nodes"] = None
        elif way == "no reserve":
            site.accounting = True
            site.enforced |= {"limits", "qos"}
            site.qos["free"] = "Flags=NoReserve"
        elif way == "pack":
            site.lines["SelectTypeParameters"] = "CR_Core,CR_Pack_Nodes"
        elif way == "socket":
            site.groups = [Nodes(4, 4, more="Sockets=2 CoresPerSocket=2")] * 3
            site.lines["SelectTypeParameters"] = "CR_Socket"
        elif way == "spec":
            site.groups = [Nodes(4, 4), Nodes(4, 4, more="CoreSpecCount=1 MemSpecLimit=100"), Nodes(4, 4)]
            site.lines["SelectTypeParameters"] = "CR_Core_Memory"
            site.lines["DefMemPerCPU"] = "230"
        elif way == "most cpus":
            site.partitions["half"] = "Nodes=ALL MaxTime=1440 MaxCPUsPerNode=2"
        elif way == "force":
            site.main["OverSubscribe"] = "FORCE:1"
        elif way == "yes":
            site.main["OverSubscribe"] = "YES:1"
        elif way == "memory only":
            site.lines["SelectTypeParameters"] = "CR_Memory"
            site.lines["DefMemPerCPU"] = "250"
        elif way == "weights":
            site.groups = [Nodes(4, 4, more="Weight=10"), Nodes(4, 4, more="Weight=1"), Nodes(4, 4, more="Weight=5")]
        elif way == "one resv":
            site.scheduling["bf_one_resv_per_job"] = None
            site.partitions["other"] = "Nodes=n[05-12] MaxTime=1440"
        elif way == "min age":
            site.scheduling["bf_min_age_reserve"] = "600"
        elif way == "user exclusive":
            site.partitions["mine"] = "Nodes=n[07-12] MaxTime=1440 ExclusiveUser=YES"

    def job(self, job, chance, past):
        if self.way == "no reserve" and chance.random() < 0.4:
            job.options["qos"] = "free"
        named = {"most cpus": ("main", "half"), "one resv": ("main", "main,other"), "user exclusive": ("main", "mine")}
        if self.way in named:
            job.options["partition"] = chance.choice(named[self.way])
            job.options["ntasks"] = str(min(job.size, 20))

    def probe(self, job, chance):
        self.job(job, chance, [])
        if self.way == "one resv":
            job.options["partition"] = "main"


class SameUsers(Aspect):
    """Jobs that share nodes only with jobs of their user: of a partition, or because they ask for it."""

    def configure(self, site, chance):
        self.nodes = chance.choice(("ALL", "n[05-12]"))
        self.most = 48 if self.nodes == "ALL" else 32
        site.partitions["mine"] = f"Nodes={self.nodes} MaxTime=1440 ExclusiveUser=YES"

    def job(self, job, chance, past):
        if chance.random() < 0.3:
            job.user = ASKER
        if len(past) < 8 or chance.random() < 0.4:
            job.options["ntasks"] = str(chance.choice((1, 2, 3, 5, 7)))
        self.probe(job, chance)

    def probe(self, job, chance):
        way = chance.random()
        if way < 0.6:
            job.options["partition"] = "mine"
            job.options["ntasks"] = str(min(job.size, self.most))
        elif way < 0.75:
            job.options["exclusive"] = "user"


class Linear(Aspect):
    """Nodes that are given out as wholes by select/linear, of two sizes, of cores or threads; memory counts, or not."""

    def configure(self, site, chance):
        threads = chance.choice(("", "Sockets=2 CoresPerSocket=2", "Sockets=1 CoresPerSocket=2 ThreadsPerCore=2"))
        large = threads.replace("CoresPerSocket=2", "CoresPerSocket=4") if chance.random() < 0.5 else threads
        weights = chance.choice(("", "", "Weight=5"))
        site.groups = [
            Nodes(6, 4, more=threads, memory=4000),
            Nodes(6, 8 if large != threads else 4, more=f"{large} {weights}".strip(), memory=8000),
        ]
        site.lines["SelectType"] = "select/linear"
        if chance.random() < 0.5:
            site.lines["SelectTypeParameters"] = "CR_Memory"
            if chance.random() < 0.5:
                site.lines["DefMemPerCPU"] = "100"

    def job(self, job, chance, past):
        way, size = chance.random(), job.size
        ask_for_tasks(job, chance, way, (0.15, 0.3, 0.4, 0.6))
        if 0.6 <= way < 0.7:
            job.options["mem"] = str(chance.choice((1500, 5000)))
        elif 0.7 <= way < 0.8:
            least = chance.randint(1, 4)
            job.options |= {"nodes": str(least), "ntasks": str(max(least, min(size, 4 * least)))}

    def probe(self, job, chance):
        self.job(job, chance, [])
        if "nodes" in job.options:
            del job.options["nodes"]


class PartitionLimits(Aspect):
    """Partitions on all nodes that differ in what their jobs may have together, by a QOS, or each, by their lines."""

    OF_QOS = (
        "GrpTRES=cpu=20", "GrpTRES=node=4", "MaxTRESPerUser=cpu=12", "MaxJobsPerUser=2", "GrpJobs=3", "MaxWall=60",
        "MaxTRES=cpu=12", "MinTRES=cpu=4", "GrpTRESRunMins=cpu=1500", "MaxTRESRunMinsPerUser=cpu=900",
        "MaxTRESPerAccount=cpu=16", "MaxTRESPerNode=cpu=2", "MaxSubmitJobsPerUser=3", "GrpTRES=billing=24",
        "MaxTRESMins=cpu=600",
    )  # fmt: skip
    OF_LINE = ("MaxNodes=3", "MinNodes=2", "MaxTime=45", "MaxNodes=2 MaxTime=90", "DefaultTime=20")

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        flags = chance.choice(("", "", "Flags=DenyOnLimit", "Flags=OverPartQOS"))
        site.qos["part"] = f"{chance.choice(self.OF_QOS)} {flags if 'Deny' in flags else ''}".strip()
        if "OverPart" in flags:
            site.qos["over"] = f"{chance.choice(self.OF_QOS)} {flags}"
        weights = chance.choice(("", "", " TRESBillingWeights=CPU=2.0"))
        site.partitions["floating"] = f"Nodes=ALL MaxTime=1440 QOS=part{weights}"
        line = chance.choice(self.OF_LINE)
        site.partitions["lined"] = f"Nodes=n[03-12] {line}{'' if 'MaxTime' in line else ' MaxTime=1440'}"
        if chance.random() < 0.4:
            site.lines["EnforcePartLimits"] = chance.choice(("ALL", "ANY", "NO"))

    def job(self, job, chance, past):
        job.options["partition"] = chance.choice(("main", "floating", "lined", "floating"))
        job.options["ntasks"] = str(min(job.size, 30))
        if len(past) in (0, 2, 7, 9):
            job.user = ASKER
            job.options |= {"ntasks": str(chance.randint(3, 7)), "partition": "floating"}

    def probe(self, job, chance):
        job.options["partition"] = chance.choice(("main", "floating", "floating", "lined"))


class PreemptionModes(Aspect):
    """Jobs that push others aside in other ways: by suspending them, after some grace, not everywhere, or not yet."""

    WAYS = ("grace", "off", "suspend", "exempt", "youngest", "qos grace", "qos mode", "within", "two tiers")

    def configure(self, site, chance):
        self.way = way = chance.choice(self.WAYS)
        mode = chance.choice(("REQUEUE", "CANCEL"))
        by_qos = way.startswith("qos") or way == "within"
        site.lines |= {
            "PreemptType": f"preempt/{'qos' if by_qos else 'partition_prio'}", "PreemptMode": mode, "JobRequeue": "1",
        }  # fmt: skip
        if by_qos:
            site.accounting = True
            site.enforced |= {"associations", "qos"}
            more = {"qos grace": "GraceTime=120", "qos mode": "PreemptMode=cluster"}.get(way, "")
            site.qos |= {"normal": more, "urgent": "Preempt=normal", "calm": "PreemptMode=requeue"}
            if way == "within":
                site.lines["PreemptMode"] = f"{mode},WITHIN"
            return
        site.partitions["urgent"] = "Nodes=ALL MaxTime=1440 PriorityTier=10"
        if way == "grace":
            site.main["GraceTime"] = "120"
        elif way == "off":
            site.partitions["safe"] = "Nodes=ALL MaxTime=1440 PreemptMode=OFF"
        elif way == "suspend":
            site.lines["PreemptMode"] = "SUSPEND,GANG"
            site.main["OverSubscribe"] = "FORCE:1"
            site.partitions["urgent"] += " OverSubscribe=FORCE:1"
        elif way == "exempt":
            site.lines["PreemptExemptTime"] = "01:00:00"
        elif way == "youngest":
            site.scheduling |= {"preempt_youngest_first": None, "preempt_strict_order": None}
        elif way == "two tiers":
            site.partitions["middle"] = "Nodes=n[05-12] MaxTime=1440 PriorityTier=5"

    def job(self, job, chance, past):
        if self.way.startswith("qos") or self.way == "within":
            job.options["qos"] = chance.choice(("normal", "normal", "urgent", "calm"))
        else:
            names = {"off": ("main", "safe", "urgent"), "two tiers": ("main", "middle", "urgent")}
            job.options["partition"] = chance.choice(names.get(self.way, ("main", "main", "main", "urgent")))
            job.options["ntasks"] = str(min(job.size, 32))

    def probe(self, job, chance):
        self.job(job, chance, [])
        if chance.random() < 0.4:
            key = "qos" if self.way.startswith("qos") or self.way == "within" else "partition"
            job.options[key] = "urgent"


class Backfill(Aspect):
    """Other parameters of the backfill scheduler."""

    WAYS: ClassVar[tuple[dict[str, str | None], ...]] = (
        {"bf_window": "120"}, {"bf_resolution": "300"}, {"bf_resolution": "600", "bf_window": "10080"},
        {"bf_max_job_user_part": "2"}, {"bf_max_job_assoc": "3"}, {"bf_max_job_user": "3", "bf_max_job_part": "9"},
        {"bf_job_part_count_reserve": "3"}, {"bf_min_prio_reserve": "4294901750"}, {"bf_running_job_reserve": None},
        {"bf_licenses": None}, {"bf_window_linear": "60"}, {"bf_max_job_start": "2"}, {"bf_node_space_size": "8"},
        {"bf_hetjob_prio": "min"}, {"bf_max_job_array_resv": "3"}, {"assoc_limit_stop": None},
        {"default_queue_depth": "5"}, {"partition_job_depth": "3"}, {"defer": None}, {"sched_max_job_start": "1"},
        {"bf_max_job_test": "9", "bf_max_job_array_resv": "0"}, {"sched_interval": "-1"},
    )  # fmt: skip

    def configure(self, site, chance):
        self.way = chance.choice(self.WAYS)
        site.scheduling |= self.way
        site.partitions["half"] = "Nodes=n[05-12] MaxTime=1440"
        site.lines["Licenses"] = "matlab:4"
        if "assoc_limit_stop" in self.way or "bf_max_job_assoc" in self.way:
            site.accounting = True
            site.enforced |= {"limits", "qos"}
            site.qos["few"] = chance.choice(("GrpTRES=cpu=12", "MaxJobsPerUser=1"))

    def job(self, job, chance, past):
        if len(past) in (3, 8, 11, 14):
            job.user = ASKER
        if chance.random() < 0.3:
            job.options |= {"partition": "half", "ntasks": str(min(job.size, 30))}
        if "bf_licenses" in self.way and chance.random() < 0.5:
            job.options["licenses"] = f"matlab:{chance.randint(1, 3)}"
        if "array" in "".join(self.way) and chance.random() < 0.4:
            job.options |= {"array": f"0-{chance.randint(2, 8)}", "ntasks": str(min(job.size, 8))}
        if "assoc_limit_stop" in self.way and chance.random() < 0.4:
            job.options["qos"] = "few"

    def probe(self, job, chance):
        if chance.random() < 0.3:
            job.options |= {"partition": "half", "ntasks": str(min(job.size, 30))}
        if "bf_licenses" in self.way and chance.random() < 0.5:
            job.options["licenses"] = f"matlab:{chance.randint(1, 3)}"


class Constraints(Aspect):
    """Constraints with alternatives, and preferences; Gas ignores numbers of nodes by feature, and says so."""

    WAYS: ClassVar[tuple[dict[str, str | None], ...]] = (
        {"constraint": "[fast|slow]"}, {"constraint": "(fast|slow)&ib"}, {"constraint": "[(fast&ib)|slow]"},
        {"prefer": "ib"}, {"prefer": "slow", "constraint": "fast|slow"},
        {"constraint": "[rack1|rack2]"}, {"constraint": "fast&rack1"}, {"constraint": "slow|ib|rack2"},
    )  # fmt: skip

    def configure(self, site, chance):
        for at, features in enumerate((("fast", "ib", "rack1"), ("slow", "rack1"), ("fast", "rack2"))):
            site.groups[at] = replace(site.groups[at], features=features)

    def job(self, job, chance, past):
        if chance.random() < 0.5:
            self._ask(job, chance)

    def probe(self, job, chance):
        if chance.random() < 0.8:
            self._ask(job, chance)

    def _ask(self, job, chance):
        job.options["ntasks"] = str(min(job.size, 16))
        job.options |= chance.choice(self.WAYS)


class OwnReservations(Aspect):
    """Reservations that the asker may use, of nodes, cores or licences, which attract jobs or are flexible."""

    WAYS = ("", "MAGNETIC", "FLEX", "IGNORE_JOBS,FLEX", "MAGNETIC,FLEX", "ANY_NODES", "cores")

    def configure(self, site, chance):
        self.way = chance.choice(self.WAYS)
        site.accounting = True
        site.enforced |= {"associations", "qos"}
        site.lines["Licenses"] = "matlab:4"

    def prepare(self, slurm, chance):
        first = chance.randint(1, 6)
        flags = [f"Flags={self.way}"] if self.way not in ("", "cores") else []
        what = chance.choice((f"Nodes=n[{first:02}-{first + chance.randint(1, 5):02}]", "NodeCnt=4", "NodeCnt=3"))
        if self.way == "ANY_NODES":
            what = "Licenses=matlab:2"
        elif self.way == "cores":
            what = "CoreCnt=8"
        begin = chance.choice(("now", "now+20minutes", "now+90minutes"))
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=own", f"Users={ASKER},{OTHERS[0]}", what, *flags,
            f"StartTime={begin}", f"Duration={chance.randrange(60, 400)}",
        )  # fmt: skip

    def job(self, job, chance, past):
        if chance.random() < 0.3:
            job.user = chance.choice((ASKER, OTHERS[0]))
            job.options |= {"ntasks": str(min(job.size, 8))}
            if chance.random() < 0.7:
                job.options["reservation"] = "own"
        if chance.random() < 0.2:
            job.options["licenses"] = "matlab:1"

    def probe(self, job, chance):
        if chance.random() < 0.6:
            job.options |= {"reservation": "own", "ntasks": str(min(job.size, 12))}


class Times(Aspect):
    """Limits that may be shortened, deadlines, jobs that begin later, jobs without a limit, and partitions without."""

    def configure(self, site, chance):
        site.main |= chance.choice(({}, {"DefaultTime": "10"}, {"MaxTime": "UNLIMITED"}))
        site.lines |= chance.choice(({}, {"OverTimeLimit": "20"}, {"OverTimeLimit": "UNLIMITED"}))

    def job(self, job, chance, past):
        way = chance.choice(("min", "deadline", "begin", "none", "", ""))
        if way == "min":
            job.options["time-min"] = str(max(int(job.options["time"] or 1) // 3, 1))
        elif way == "deadline":
            job.options["deadline"] = f"now+{chance.randint(150, 900)}minutes"
        elif way == "begin":
            job.options["begin"] = f"now+{chance.randint(5, 200)}minutes"
        elif way == "none":
            del job.options["time"]

    def probe(self, job, chance):
        way = chance.choice(("min", "deadline", "", ""))
        if way == "min":
            job.options["time-min"] = str(max(int(job.options["time"] or 1) // 3, 1))
        elif way == "deadline":
            job.options["deadline"] = f"now+{chance.randint(20, 900)}minutes"


class Sizes(Aspect):
    """Nodes of many sizes of CPUs and memory in one partition, with weights or none, some of them out of order."""

    def configure(self, site, chance):
        cpus = chance.choice(((4, 8, 16), (16, 4, 8), (2, 12, 6), (32, 4, 4)))
        weights = chance.choice(((1, 1, 1), (1, 5, 10), (10, 5, 1)))
        site.groups = [
            Nodes(4, each, memory=1000 * each, more=f"Weight={weight}")
            for each, weight in zip(cpus, weights, strict=True)
        ]
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core_Memory", "CR_Core", "CR_CPU_Memory"))
        if "Memory" in site.lines["SelectTypeParameters"]:
            site.lines |= chance.choice(({"DefMemPerNode": "2000"}, {"DefMemPerCPU": "800"}, {"DefMemPerNode": "800"}))
        self.largest = max(cpus)

    def prepare(self, slurm, chance):
        for number in chance.sample(range(1, 13), chance.choice((0, 1, 2))):
            how = chance.choice(("DRAIN", "DOWN", "FAIL"))
            slurm.run("scontrol", "update", f"NodeName=n{number:02}", f"State={how}", "Reason=test")

    def job(self, job, chance, past):
        way, size = chance.random(), job.size
        if way < 0.2:
            job.options |= {"exclusive": None, "ntasks": str(max(1, size // 2))}
        elif way < 0.35:
            nodes = chance.randint(1, 4)
            job.options |= {"nodes": str(nodes), "ntasks": str(max(nodes, min(size, nodes * 2)))}
        elif way < 0.5:
            each = chance.choice((2, 4, 6))
            job.options |= {"cpus-per-task": str(each), "ntasks": str(max(1, min(size // each, 6)))}
        elif way < 0.6:
            job.options |= {"mem": "3000", "ntasks": str(chance.randint(1, 8))}
        elif way < 0.8:
            job.options["ntasks"] = str(chance.randint(1, self.largest))

    def probe(self, job, chance):
        self.job(job, chance, [])
        job.options.pop("nodes", None)


class Crowd(Shapes):
    """A long queue of many users."""

    def configure(self, site, chance):
        site.jobs = 150
        site.scheduling["bf_window"] = "20160"


class GpuCentre(Gpus):
    """GPUs with limits by QOS and partition QOS, access by account and QOS, nodes by weight, some of them down."""

    OF_QOS = (
        "MaxTRESPerUser=gres/gpu=4", "MaxTRESPerUser=gres/gpu=6,cpu=24", "GrpTRES=gres/gpu=8", "MaxWall=90",
        "MaxTRES=gres/gpu=3", "MaxTRESPerUser=gres/gpu=5 MaxWall=240", "MaxTRESPerAccount=gres/gpu=8",
    )  # fmt: skip
    OF_PARTITION = ("MaxTRESPerUser=gres/gpu=6", "GrpTRES=gres/gpu=10", "MaxTRESPerUser=node=3", "MaxJobsPerUser=3")

    def configure(self, site, chance):
        self.machine = ((("a100", 4),), (("a100", 4),), (("h100", 2),))
        self.memory = True
        for at, gpus in enumerate(self.machine):
            more = f"Weight={chance.choice((1, 5, 10))}"
            features = (gpus[0][0], *(("nvlink",) if at == 1 else ()))
            site.groups[at] = replace(site.groups[at], cpus=8, gpus=gpus, memory=8000, more=more, features=features)
        site.lines |= {"SelectTypeParameters": chance.choice(("CR_Core_Memory", "CR_CPU_Memory")),
                       "AccountingStorageTRES": "gres/gpu,gres/gpu:a100"}  # fmt: skip
        site.main |= {"DefMemPerGPU": "900"}
        site.accounting = True
        site.enforced |= {"limits", "qos", "safe"}
        site.qos |= {"short": "", "long": "", "part": ""}
        self.limits = {"short": chance.choice(self.OF_QOS), "long": chance.choice(self.OF_QOS),
                       "part": chance.choice(self.OF_PARTITION)}  # fmt: skip
        site.partitions |= {
            "gpu": "Nodes=n[01-08] MaxTime=1440 MaxNodes=4 QOS=part DefMemPerCPU=300 "
                   + chance.choice(("", "DenyAccounts=other")),
            "large": "Nodes=n[05-12] MaxTime=1440 DefMemPerCPU=300 "
                     + chance.choice(("AllowQos=long", "DenyAccounts=dept", "AllowAccounts=lab")),
        }  # fmt: skip

    def prepare(self, slurm, chance):
        for name, limit in self.limits.items():  # GPUs can be limited as soon as slurmctld has named them
            slurm.run("sacctmgr", "-i", "modify", "qos", name, "set", *limit.split())
        slurm.run("scontrol", "update", f"NodeName=n{chance.randint(1, 12):02}", "State=DRAIN", "Reason=ECC errors")
        slurm.run("scontrol", "update", f"NodeName=n{chance.randint(1, 12):02}", "State=DOWN", "Reason=Not responding")

    def job(self, job, chance, past):
        super().job(job, chance, past)
        self._place(job, chance)
        if len(past) in (0, 2, 6):
            job.user = ASKER

    def probe(self, job, chance):
        super().probe(job, chance)
        self._place(job, chance)

    def _place(self, job, chance):
        job.options |= {"partition": chance.choice(("main", "gpu", "gpu", "large")),
                        "qos": chance.choice(("normal", "short", "long"))}  # fmt: skip
        if "ntasks" in job.options:
            job.options["ntasks"] = str(min(job.size, 16))
        if chance.random() < 0.15:
            job.options["constraint"] = chance.choice(("a100", "nvlink", "a100|h100"))


class SharedCentre(Aspect):
    """A centre whose jobs share cores, with suspended jobs, jobs beyond their limits, drained and reserved nodes."""

    def configure(self, site, chance):
        self.force = chance.choice(("FORCE:2", "FORCE:1", "YES:2"))
        site.partitions["shared"] = f"Nodes=n[01-06] MaxTime=1440 OverSubscribe={self.force}"
        site.lines |= chance.choice(({}, {"OverTimeLimit": "30"}))
        site.groups = [Nodes(6, 4), Nodes(6, 8, more="Weight=4")]
        site.lines["SelectTypeParameters"] = chance.choice(("CR_Core", "CR_CPU", "CR_Core_Memory"))
        if "Memory" in site.lines["SelectTypeParameters"]:
            site.lines["DefMemPerCPU"] = "100"

    def prepare(self, slurm, chance):
        slurm.run("scontrol", "update", f"NodeName=n{chance.randint(7, 12):02}", "State=DRAIN", "Reason=disk")
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=course", "Users=root", "Nodes=n[09-10]",
            f"StartTime=now+{chance.randrange(20, 90)}minutes", f"Duration={chance.randrange(30, 150)}",
        )  # fmt: skip

    def after(self, slurm, chance, past):
        running = [int(id) for id in slurm.run("squeue", "-h", "-t", "running", "-o", "%A").split()]
        for id in chance.sample(running, min(len(running), chance.choice((0, 1, 2)))):
            slurm.run("scontrol", "suspend", str(id))

    def job(self, job, chance, past):
        self._place(job, chance)

    def probe(self, job, chance):
        self._place(job, chance)

    def _place(self, job, chance):
        job.options["partition"] = chance.choice(("main", "main", "shared"))
        if job.options["partition"] == "shared":
            job.options["ntasks"] = str(min(job.size, 20))
        if chance.random() < 0.3:
            job.options |= chance.choice(({"oversubscribe": None}, {"exclusive": None}))


class DepthCentre(Priorities):
    """Only some jobs get plans: by user, partition, account, priority and their number in a partition."""

    WAYS: ClassVar[tuple[dict[str, str | None], ...]] = (
        {"bf_max_job_user": "3", "bf_job_part_count_reserve": "4"}, {"bf_max_job_assoc": "2", "bf_max_job_part": "8"},
        {"bf_max_job_user_part": "2", "bf_max_job_test": "15"}, {"bf_job_part_count_reserve": "2"},
        {"bf_min_prio_reserve": "1500"}, {"bf_max_job_part": "5", "bf_min_age_reserve": "30"}, {},
    )  # fmt: skip

    def configure(self, site, chance):
        super().configure(site, chance)
        self.wait = 0
        site.lines["PriorityCalcPeriod"] = "30"
        if chance.random() < 0.5:
            site.lines["PriorityFlags"] = chance.choice(
                ("MAX_TRES", "ACCRUE_ALWAYS", "CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "NO_NORMAL_ALL",
                 "NO_NORMAL_QOS", "SMALL_RELATIVE_TO_TIME", "ACCRUE_ALWAYS,NO_FAIR_TREE")
            )  # fmt: skip
        site.scheduling |= chance.choice(self.WAYS)
        site.enforced |= {"limits"}
        site.qos["low"] = f"Priority=10 MinPrioThresh={chance.choice((100, 2000, 4000))}"
        site.partitions["half"] = "Nodes=n[05-12] MaxTime=1440 PriorityJobFactor=50"

    def job(self, job, chance, past):
        super().job(job, chance, past)
        self._place(job, chance)
        if len(past) in (7, 9, 12):
            job.user = ASKER

    def probe(self, job, chance):
        super().job(job, chance, [])
        self._place(job, chance)

    def _place(self, job, chance):
        job.options["partition"] = chance.choice(("main", "main", "half"))
        job.options["ntasks"] = str(min(job.size, 32))
        if chance.random() < 0.2:
            job.options["nice"] = str(chance.choice((50, 500, 3000)))


class WorkflowCentre(Aspect):
    """Workflows: dependencies, singletons, throttled arrays, held and released jobs, licences, some of them remote."""

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        site.lines["Licenses"] = "matlab:4,ansys:20"
        site.qos["day"] = chance.choice(("MaxWall=100", "MaxWall=60 MaxJobsPerUser=3", "MaxWall=240"))
        site.own.append("add resource name=abaqus server=flex count=10 type=license cluster=private percentallowed=60")
        site.main["DefaultTime"] = "45"

    def after(self, slurm, chance, past):
        for id in past:
            if chance.random() < 0.3:
                slurm.tried("scontrol", "release", str(id))

    def job(self, job, chance, past):
        way = chance.choice(("chain", "singleton", "begin", "array", "held", "licence", "", "", ""))
        if way == "chain" and past:
            kind = chance.choice(("afterok", "afterany", "after", "afternotok"))
            job.options["dependency"] = f"{kind}:{past[-1]}" + (",singleton" if chance.random() < 0.2 else "")
        elif way == "singleton":
            job.options |= {"dependency": "singleton", "job-name": chance.choice(("prepare", "solve"))}
        elif way == "begin":
            job.options["begin"] = f"now+{chance.randint(5, 200)}minutes"
        elif way == "array":
            job.options |= {"array": f"1-{chance.randint(2, 7)}%{chance.randint(1, 3)}",
                            "ntasks": str(min(job.size, 8))}  # fmt: skip
        elif way == "held":
            job.options["hold"] = None
        else:
            self._ask(job, chance)

    def probe(self, job, chance):
        self._ask(job, chance)
        if chance.random() < 0.2:
            job.options["begin"] = f"now+{chance.randint(5, 100)}minutes"

    def _ask(self, job, chance):
        if chance.random() < 0.5:
            job.options["licenses"] = chance.choice(("matlab:1", "ansys:8", "abaqus@flex:2", "abaqus@flex:5",
                                                     "matlab:2,abaqus@flex:1"))  # fmt: skip
        if chance.random() < 0.4:
            job.options["qos"] = "day"


class BillingCentre(Aspect):
    """Limits on billing, of users, accounts and jobs, by weights of partitions, which also limit nodes."""

    WEIGHTS = ("CPU=1.0,Mem=0.002", "CPU=2.0", "CPU=1.0,Mem=0.5G", "CPU=0.5,Mem=1.0G")
    LIMITS = (
        "GrpTRES=billing=30", "MaxTRESPerUser=billing=20", "MaxTRES=billing=16", "GrpTRESRunMins=billing=2000",
        "MaxTRESPerAccount=billing=24", "MaxTRESMins=billing=1200", "MaxTRESRunMinsPerUser=billing=1500",
    )  # fmt: skip

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"} | chance.choice((set(), {"safe"}))
        site.lines |= {"SelectTypeParameters": chance.choice(("CR_Core_Memory", "CR_CPU_Memory")),
                       "DefMemPerCPU": "200"}  # fmt: skip
        if chance.random() < 0.5:
            site.lines |= {"PriorityType": "priority/multifactor", "PriorityFlags": "MAX_TRES",
                           "PriorityWeightAge": "0", "PriorityWeightJobSize": "1000",
                           "PriorityCalcPeriod": "30"}  # fmt: skip
        site.groups = [Nodes(4, 4, 2000), Nodes(4, 8, 4000), Nodes(4, 8, 2000)]
        site.main |= {"TRESBillingWeights": chance.choice(self.WEIGHTS)}
        site.partitions |= {
            "small": f"Nodes=ALL MaxTime=1440 MaxNodes=2 TRESBillingWeights={chance.choice(self.WEIGHTS)}",
            "fat": f"Nodes=n[05-12] MaxTime=600 MinNodes={chance.choice((1, 2))} AllowQos=normal,cheap "
                   f"TRESBillingWeights={chance.choice(self.WEIGHTS)}",
        }  # fmt: skip
        site.qos |= {"cheap": chance.choice(self.LIMITS), "dear": f"{chance.choice(self.LIMITS)} UsageFactor=2.0"}
        site.own.append(f"modify account {chance.choice(('lab', 'dept'))} set {chance.choice(self.LIMITS[:1])}")

    def job(self, job, chance, past):
        self._place(job, chance)
        if len(past) in (1, 4, 8):
            job.user = ASKER

    def probe(self, job, chance):
        self._place(job, chance)

    def _place(self, job, chance):
        job.options |= {"partition": chance.choice(("main", "main", "small", "fat")),
                        "qos": chance.choice(("normal", "cheap", "dear"))}  # fmt: skip
        job.options["ntasks"] = str(min(job.size, 12 if job.options["partition"] == "small" else 24))
        if chance.random() < 0.4:
            job.options["mem-per-cpu"] = str(chance.choice((100, 300, 600)))


class PreemptingCentre(Aspect):
    """A centre with a scavenger QOS that is requeued after some grace, on nodes some of which are off, down or kept."""

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        site.lines |= {
            "PreemptType": "preempt/qos", "PreemptMode": "REQUEUE", "JobRequeue": "1",
            "SuspendProgram": "/bin/true", "ResumeProgram": "/bin/true", "SuspendTime": "99999", "SuspendTimeout": "2",
            "ResumeTimeout": "900",
        }  # fmt: skip
        grace = chance.choice(("", "GraceTime=60", "GraceTime=300"))
        site.qos |= {
            "scavenger": f"Priority=1 {grace}", "normal": "Preempt=scavenger", "high": "Preempt=scavenger Priority=50",
        }  # fmt: skip
        if chance.random() < 0.4:
            site.qos["high"] = "Preempt=scavenger,normal Priority=50 MaxTRESPerUser=cpu=24"
        if chance.random() < 0.3:
            site.lines["PreemptExemptTime"] = "00:30:00"
        site.groups = [Nodes(4, 4, more="Weight=1"), Nodes(4, 4, more=f"Weight={chance.choice((1, 3))}"), Nodes(4, 8)]

    def prepare(self, slurm, chance):
        off = [f"n{number:02}" for number in chance.sample(range(1, 9), chance.randint(1, 3))]
        slurm.run("scontrol", "update", f"nodename={','.join(off)}", "state=power_down_force")
        slurm.run("scontrol", "update", "NodeName=n09", "State=DOWN", "Reason=board failure")
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=kept", "Users=root", "Nodes=n[10-11]",
            f"StartTime=now+{chance.randrange(30, 200)}minutes", "Duration=60",
        )  # fmt: skip
        until = time.monotonic() + 40
        while slurm.tried("sinfo", "-h", "-N", "-o", "%N %T").count("~") < len(off):  # powered down
            if time.monotonic() > until:
                raise RuntimeError(f"{off} are not powered down")
            time.sleep(0.5)

    def job(self, job, chance, past):
        job.options["qos"] = chance.choice(("scavenger", "scavenger", "normal", "normal", "high"))
        job.options["ntasks"] = str(min(job.size, 24))

    def probe(self, job, chance):
        self.job(job, chance, [])


class AccountTree(Aspect):
    """Accounts below accounts: partitions are open, and limits apply, to those above."""

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"associations", "limits", "qos"}
        site.tree = chance.choice(({"lab": "science"}, {"lab": "science", "dept": "science"}, {"dept": "science"}))
        site.lines |= {"PriorityType": "priority/multifactor", "PriorityWeightJobSize": "1000"}
        lists = ("AllowAccounts=science", "DenyAccounts=science", "AllowAccounts=lab", "DenyAccounts=dept")
        site.partitions |= {
            f"p{number}": f"Nodes=ALL MaxTime=1440 {words}" for number, words in enumerate(chance.sample(lists, 3))
        }
        if chance.random() < 0.5:
            site.own.append(f"modify account science set GrpTRES=cpu={chance.randint(20, 60)}")
        if chance.random() < 0.5:
            site.own.append(f"modify account science set MaxTRES=cpu={chance.randint(6, 30)}")
        self.partitions = ("main", *site.partitions)

    def job(self, job, chance, past):
        job.options["partition"] = chance.choice(self.partitions)
        job.options["ntasks"] = str(min(job.size, 40))


class Choices(Aspect):
    """Partitions of several kinds, two accounts, and QOS with limits, among which the asker may choose."""

    PARTITIONS: ClassVar[dict[str, tuple[str, ...]]] = {
        "short": ("Nodes=ALL MaxTime=60", "Nodes=ALL MaxTime=100", "Nodes=n[01-08] MaxTime=45 PriorityTier=3"),
        "large": ("Nodes=n[05-12] MaxTime=1440", "Nodes=n[05-12] MaxTime=1440 MinNodes=2"),
        "front": ("Nodes=n[01-04] MaxTime=300 PriorityTier=2", "Nodes=n[01-06] MaxTime=1440 PriorityTier=2"),
        "narrow": ("Nodes=ALL MaxTime=1440 MaxNodes=3", "Nodes=n[07-12] MaxTime=1440 MaxNodes=4"),
        "dear": ("Nodes=ALL MaxTime=1440 AllowQos=high", "Nodes=n[03-10] MaxTime=600 AllowAccounts=dept"),
    }
    LIMITS: ClassVar[tuple[str, ...]] = (
        "", "MaxTRESPerUser=cpu=20", "MaxWall=60", "MaxTRES=cpu=16", "MaxJobsPerUser=2", "GrpTRES=cpu=24",
        "MaxWall=120 MaxTRES=node=4", "MinTRES=cpu=8",
    )  # fmt: skip

    def configure(self, site, chance):
        site.accounting = True
        site.enforced |= {"limits", "qos"}
        site.groups = [Nodes(4, chance.choice((4, 8))), Nodes(4, chance.choice((4, 8, 12))), Nodes(4, 8)]
        names = chance.sample(sorted(self.PARTITIONS), chance.choice((1, 2, 2)))
        site.partitions |= {name: chance.choice(self.PARTITIONS[name]) for name in names}
        site.qos["high"] = f"Priority=100 {chance.choice(self.LIMITS)}"
        site.own.append(f"add user {ASKER} account=dept fairshare=3 qos=normal,high defaultqos=normal")
        site.own += [f"modify account dept set GrpTRES=cpu={chance.randint(16, 60)}"] if chance.random() < 0.4 else []
        own = [
            f"modify user {ASKER} set {limit}" for limit in ("MaxWall=150", "MaxTRES=cpu=24") if chance.random() < 0.3
        ]
        site.own += own
        self.partitions = ("main", *names)
        if "PriorityCalcPeriod" in site.lines:  # minutes: the order of the queue must last as long as it is probed
            site.lines["PriorityCalcPeriod"] = "30"
        others = [Choice("", name) for name in site.qos if name != "normal"]
        self.choices = (Choice(), *others, Choice("dept"), Choice("dept", "high"))

    def job(self, job, chance, past):
        job.options["partition"] = chance.choice(self.partitions)
        job.options["ntasks"] = str(min(job.size, 40))
        if job.options["partition"] == "short":
            job.options["time"] = str(chance.randint(12, 45))
        if job.options["partition"] == "dear":
            job.options["qos"] = "high"
        if len(past) in (1, 3):
            job.user = ASKER
            job.options |= {"ntasks": str(chance.randint(2, 6)), "qos": chance.choice(("high", "normal"))}

    def probe(self, job, chance):
        """Leave it to who asks for it."""


CHOOSING: tuple[tuple[type[Aspect], ...], ...] = (
    (Choices,), (Priorities, Choices), (Memory, Choices), (Choices,), (Reserved, Choices), (Priorities, Choices),
)  # fmt: skip
"""What a site at which there is something to choose has besides."""

KINDS: dict[str, tuple[type[Aspect], ...]] = {
    "fifo": (SingleCpus,), "random": (), "shapes": (Shapes,), "exclusive": (WholeNodes,), "arrays": (Arrays,),
    "throttled": (Throttled,), "priority": (Priorities,), "fair share": (FairShares,), "memory": (Memory,),
    "features": (Features,), "gpus": (Gpus,), "others' limits": (OthersLimited,), "own limits": (OwnLimits,),
    "tiers": (Tiers,), "preemption by tier": (PreemptionByTier,), "preemption by qos": (PreemptionByQos,),
    "reservation": (Reserved,), "deferred": (Deferred,), "depth": (Depth,), "licences": (Licences,),
    "several partitions": (Several,), "node orders": (NodeOrders,), "switches": (Switches,),
    "threads": (Threads,), "power saving": (PowerSaving,), "gpu threads": (GpuThreads,),
    "memory threads": (MemoryThreads,),
    "gpu partitions": (GpuPartitions,), "gpu cores": (GpuCores,), "selections": (Selections,),
    "same users": (SameUsers,), "linear": (Linear,),
    "partition limits": (PartitionLimits,), "preemption modes": (PreemptionModes,), "backfill": (Backfill,),
    "constraints": (Constraints,), "own reservations": (OwnReservations,), "times": (Times,), "sizes": (Sizes,),
    "crowd": (Crowd,),
    "gpu centre": (GpuCentre,), "shared centre": (SharedCentre,), "depth centre": (DepthCentre,),
    "workflow centre": (WorkflowCentre,), "billing centre": (BillingCentre,), "preempting centre": (PreemptingCentre,),
    "account tree": (AccountTree,), "rare options": (RareOptions,), "rare settings": (RareSettings,), "mixture": (),
}  # fmt: skip

MIXED: tuple[tuple[type[Aspect], ...], ...] = (
    (Threads,), (Shapes, Gpus), (Arrays, Throttled), (Priorities,), (Memory,), (Features,), (OthersLimited, OwnLimits),
    (Tiers, PreemptionByTier, PreemptionByQos, Several), (Reserved,), (Deferred,), (Depth,), (Licences,),
    (Switches, NodeOrders),
)  # fmt: skip
"""Of each of these a mixture has one at the most."""


def aspects_of(kind: str, chance: random.Random) -> list[Aspect]:
    """Return what a site of a kind does."""
    if kind != "mixture":
        return [aspect() for aspect in KINDS[kind]]
    drawn = sorted(chance.sample(range(len(MIXED)), chance.randint(2, 5)))
    return [chance.choice(MIXED[at])() for at in drawn]


def site_of(aspects: Iterable[Aspect], chance: random.Random) -> Site:
    """Return what is configured."""
    site = Site()
    for aspect in aspects:
        aspect.configure(site, chance)
    return site


def queue_of(site: Site, aspects: Iterable[Aspect], chance: random.Random) -> Iterable[Callable[[list[int]], Asked]]:
    """Return the jobs of its queue, whose limits are long enough for none to end; each knows those before it."""

    def made(number: int, past: list[int]) -> Asked:
        most = site.cpus // 4 if number < 6 else 5 * site.cpus // 8
        options: dict[str, str | None] = {
            "ntasks": str(chance.randint(1, most)),
            "time": str(chance.randint(12, 120)),
        }
        job = Asked(options, chance.choice(OTHERS))
        for aspect in aspects:
            aspect.job(job, chance, past)
        return job

    return [lambda past, number=number: made(number, past) for number in range(site.jobs)]  # type: ignore[misc]


def probe_of(site: Site, aspects: Iterable[Aspect], chance: random.Random) -> Asked:
    """Return what is asked for."""
    minutes = round(math.exp(chance.uniform(1.2, 5.2)))
    # slurmrestd before Slurm 26.05 does not say which partition is the default
    size = str(chance.randint(1, 5 * site.cpus // 6))
    job = Asked({"ntasks": size, "time": str(minutes), "partition": "main"})
    for aspect in aspects:
        aspect.probe(job, chance)
    return job
