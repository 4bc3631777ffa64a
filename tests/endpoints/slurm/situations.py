"""Situations at limits and settings of priorities, drawn at random; what Slurm does in them, and what is foreseen."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from private_slurm import USERS, Nodes, PrivateSlurm

from gas.endpoints.slurm.commands import CommandTransport
from gas.slurm.cluster import Cluster, Job
from gas.slurm.limits import limits
from gas.slurm.priority import own_priority
from gas.slurm.verdict import FREE, REJECTED

ME, *OTHERS = USERS[:4]
QOS_NAMES = ("normal", "high", "low")
ACCOUNTS = f"""\
add account phys Description=x Organization=x fairshare=3
add account chem Description=x Organization=x fairshare=2
add account lab parent=phys Description=x Organization=x fairshare=2
add qos high Priority=100
add qos low Priority=10
add qos part Priority=33
add user {ME} account=lab fairshare=1
add user {ME} account=chem fairshare=2
add user {OTHERS[0]} account=lab fairshare=4
add user {OTHERS[1]} account=chem
add user {OTHERS[2]} account=phys fairshare=parent
modify account where name=chem set priority=7
modify user where name={ME} account=lab set priority=3
modify user where name={ME},{OTHERS[0]},{OTHERS[1]},{OTHERS[2]} set qos=normal,high,low
"""
PARTITIONS = (
    "PartitionName=main Nodes=ALL Default=YES DefaultTime=60 MaxTime=1440 PriorityJobFactor=20",
    "PartitionName=pq Nodes=ALL QOS=part MaxTime=1440 DefMemPerCPU=100 PriorityJobFactor=50",
    "PartitionName=tight Nodes=n[01-06] MaxTime=30 MaxNodes=2 MaxCPUsPerNode=3 AllowQos=normal,high MaxMemPerNode=500",
    "PartitionName=closed Nodes=ALL AllowAccounts=chem MinNodes=2 TRESBillingWeights=CPU=1.5,Mem=1G",
    "PartitionName=grp Nodes=ALL AllowGroups=root DenyQos=low PriorityJobFactor=7",
)
# a reason is set as soon as the main scheduler has looked at the job
SCHEDULING = "bf_interval=1,bf_resolution=60,bf_window=1440,bf_continue,batch_sched_delay=0,sched_interval=1"

OF_QOS = (
    ("MaxTRESPU=cpu", 4, 14), ("MaxTRESPU=mem", 200, 900), ("MaxTRESPU=node", 1, 5), ("MaxTRESPA=cpu", 4, 16),
    ("GrpTRES=cpu", 4, 18), ("GrpTRES=node", 1, 6), ("GrpTRES=mem", 200, 900), ("GrpTRES=billing", 4, 18),
    ("GrpTRES=license/lic", 1, 3), ("MaxTRES=cpu", 2, 9), ("MaxTRES=node", 1, 3), ("MaxTRES=mem", 100, 500),
    ("MaxTRESPerNode=cpu", 1, 4), ("MinTRES=cpu", 1, 6), ("MaxTRESMins=cpu", 50, 600),
    ("GrpTRESRunMins=cpu", 300, 3000),
    ("MaxJobsPU", 0, 4), ("MaxJobsPA", 0, 4), ("GrpJobs", 0, 5), ("MaxSubmitJobsPU", 1, 6), ("MaxSubmitJobsPA", 1, 6),
    ("GrpSubmit", 1, 8), ("MaxWall", 10, 120), ("GrpTRESMins=cpu", 0, 500), ("GrpWall", 0, 200),
)  # fmt: skip
OF_ASSOCIATIONS = (
    ("GrpTRES=cpu", 4, 18), ("GrpTRES=node", 1, 6), ("GrpTRES=mem", 200, 900), ("MaxTRES=cpu", 2, 9),
    ("MaxTRES=mem", 100, 500), ("MaxTRESPerNode=cpu", 1, 4), ("MaxTRESMins=cpu", 50, 600),
    ("GrpTRESRunMins=cpu", 300, 3000), ("MaxJobs", 0, 4), ("GrpJobs", 0, 5), ("MaxSubmit", 1, 6), ("GrpSubmit", 1, 8),
    ("MaxWall", 10, 120), ("GrpTRESMins=cpu", 0, 500), ("GrpWall", 0, 200),
)  # fmt: skip
OF_PARTITIONS = (("MaxTime", 20, 150, "1440"), ("MaxNodes", 1, 4, "UNLIMITED"), ("MinNodes", 1, 3, "0"))
"""And what there is otherwise."""


@dataclass
class Met:
    """What was foreseen of a job and what Slurm did with it."""

    about: str
    foreseen: str
    true: str
    reasons: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether they are the same, and Slurm's reason is one of those that were foreseen."""
        outcome, _, reason = self.true.partition(": ")
        held = "free" if self.foreseen == FREE else REJECTED if self.foreseen == REJECTED else "held"
        said = reason == "None" or any(one in reason for one in self.reasons)  # it may take its time to say why
        return held == outcome and (outcome == "free" or said)


class Situations:
    """A private Slurm with accounts and running jobs, whose limits and settings are changed at random."""

    def __init__(self, release: str, *, rest: bool = False) -> None:
        nodes = [Nodes(8), Nodes(4, 8, 2000, more="Sockets=1 CoresPerSocket=4 ThreadsPerCore=2")]
        lines = (
            "PriorityType=priority/multifactor", "AccountingStorageEnforce=associations,limits,qos",
            "PriorityCalcPeriod=1", "AccountingStorageTRES=license/lic", "Licenses=lic:6", "DefMemPerCPU=50",
            "SelectTypeParameters=CR_Core_Memory",
        )  # fmt: skip
        self.slurm = PrivateSlurm(
            nodes, 4, *lines, *PARTITIONS, release=release, scheduling=SCHEDULING, rest=rest, accounting=True,
            accounts=ACCOUNTS,
        )  # fmt: skip
        self.running: list[int] = []

    def __enter__(self) -> Situations:
        self.slurm.__enter__()
        self.fill()
        return self

    def fill(self) -> None:
        """Submit some jobs, which start."""
        for number, words in enumerate(
            ("-n3 -t100 -Alab", "-n2 -qhigh -t200 -Achem", "-n4 -t90", "-n2 -qlow -ppq -t300")
        ):
            self.running.append(self.slurm.submit(*words.split(), user=ME if number < 2 else OTHERS[0]))
        self.running.append(self.slurm.submit("-n3", "-t60", "-Llic:2", user=OTHERS[1]))
        self._until_reason_is_set()

    def empty(self) -> None:
        """Cancel these jobs."""
        for job in self.running:
            self.slurm.cancel(job)
        self.running = []

    def __exit__(self, *_: object) -> None:
        self.slurm.__exit__()

    def cluster(self) -> Cluster:
        """Return what the first user reads, with nothing kept from before."""
        transport = CommandTransport("x", str(self.slurm.folder / "slurm.conf"), folder=str(self.slurm.programs(ME)))
        transport.user = ME
        return transport.cluster("x")

    # ------------------------------------------------------------------------------------------------ limits

    def at_limits(self, seed: int, jobs: int = 4) -> list[Met]:
        """Set some limits, submit jobs one after the other, and return what was foreseen and what happened."""
        draw = Random(seed)
        undo, about = self.limit(draw)
        try:
            return [self._tried(draw, about) for _ in range(jobs)]
        finally:
            for command in undo:
                self.slurm.run(*command)

    def limit(self, draw: Random, places: Sequence[str] = ()) -> tuple[list[list[str]], str]:
        """Set some limits, in some places if any are named; return the commands that undo them, and what they are."""
        undo: list[list[str]] = []
        about: list[str] = []
        for _ in range(draw.choice([1, 1, 2, 2, 3])):
            where = draw.choice(
                places or [*QOS_NAMES, "part", "part", "user", "user", "lab", "phys", "chem", "main", "pq"]
            )
            if where in ("main", "pq"):
                key, least, most, usual = draw.choice(OF_PARTITIONS)
                value = draw.randint(least, most)
                self.slurm.run("scontrol", "update", f"PartitionName={where}", f"{key}={value}")
                undo.append(["scontrol", "update", f"PartitionName={where}", f"{key}={usual}"])
                about.append(f"{where} {key}={value}")
                continue
            of_qos = where in (*QOS_NAMES, "part")
            key, least, most = draw.choice(OF_QOS if of_qos else OF_ASSOCIATIONS)
            what = ["qos", where] if of_qos else ["account", "where", f"name={where}"]
            if where == "user":
                what = ["user", "where", f"name={ME}", "account=lab"]
            value = draw.randint(least, most)
            self.slurm.run("sacctmgr", "-i", "modify", *what, "set", f"{key}={value}")
            undo.append(["sacctmgr", "-i", "modify", *what, "set", f"{key}=-1"])
            about.append(f"{where} {key}={value}")
        for name in (*QOS_NAMES, "part"):
            if flags := [flag for flag in ("DenyOnLimit", "OverPartQOS") if draw.random() < 0.15]:
                self.slurm.run("sacctmgr", "-i", "modify", "qos", name, "set", f"flags={','.join(flags)}")
                undo.append(["sacctmgr", "-i", "modify", "qos", name, "set", "flags=-1"])
                about.append(f"{name} {flags}")
        time.sleep(0.7)  # until slurmctld has heard of it
        return undo, "; ".join(about)

    def _tried(self, draw: Random, about: str) -> Met:
        words, job = drawn_job(draw)
        cluster = self.cluster()
        partition = next(one for one in cluster.partitions if one.name in job.partitions)
        found = limits(cluster, job, partition, groups=frozenset({ME}))
        true = self._what_happens(words)
        return Met(f"{about} | {' '.join(words)}", found.outcome, true, tuple(one.reason for one in found.bindings))

    def _what_happens(self, words: list[str]) -> str:
        done = self.slurm._done(("sbatch", "--parsable", "-o", "/dev/null", "-D", "/", *words, "--wrap=sleep 9999"), ME)
        if done.returncode:
            return f"rejected: {done.stderr.strip()}"
        id = done.stdout.split(";")[0].strip()
        state, reason = self._until_reason_is_set(id)
        self.slurm.cancel(int(id))
        waits = (
            state == "PENDING" and reason not in ("Priority", "Resources") and not reason.startswith("Nodes required")
        )
        return f"held: {reason}" if waits else "free: "

    def _until_reason_is_set(self, id: str = "") -> tuple[str, str]:
        """Return the state and the reason of a job once they stay the same for a while; or wait until all run."""
        begun = time.monotonic()
        seen, since = "", begun
        while time.monotonic() < begun + 12:
            which = ["-j", id] if id else ["-t", "pending"]
            told = self.slurm.tried("squeue", "-h", *which, "-o", "%T|%r").strip()
            if told != seen:
                seen, since = told, time.monotonic()
            state, _, reason = told.partition("|")
            if state != "PENDING" or (reason != "None" and time.monotonic() > since + 1.6):
                break
            time.sleep(0.1)
        state, _, reason = seen.partition("|")
        return state, reason

    # ------------------------------------------------------------------------------------------------ priorities

    def priorities(self, seed: int, jobs: int = 3) -> list[tuple[str, int | None, int]]:
        """Weigh factors at random; return what was calculated of some jobs and what Slurm gave them."""
        draw = Random(seed)
        configuration = self.slurm.folder / "slurm.conf"
        before = configuration.read_text()
        lines = drawn_weights(draw)
        configuration.write_text("\n".join([*lines, re.sub(r"^DefMemPerCPU=.*\n", "", before, flags=re.M)]))
        found = []
        try:
            self.slurm.run("scontrol", "reconfigure")
            self.slurm._until(lambda: " is UP" in self.slurm.tried("scontrol", "ping"), "slurmctld is back")
            time.sleep(1.5)  # 26.05 starts anew
            cluster = self.cluster()
            for _ in range(jobs):
                words, job = drawn_job(draw)
                partition = next(one for one in cluster.partitions if one.name in job.partitions)
                nice = draw.choice([0, 0, draw.randint(1, 500)])
                mine = own_priority(cluster, replace(job, nice=nice), partition)
                command = (
                    "sbatch",
                    "--parsable",
                    "-o",
                    "/dev/null",
                    "-D",
                    "/",
                    f"--nice={nice}",
                    *words,
                    "--wrap=sleep 9",
                )
                done = self.slurm._done(command, ME)
                if done.returncode == 0:
                    id = done.stdout.split(";")[0].strip()
                    true = int(self.slurm.run("squeue", "-h", "-j", id, "-o", "%Q"))
                    about = f"{' '.join(words)} --nice={nice} | {'; '.join(lines)} | {mine.unknown}"
                    # it may have been tried between two commands
                    value = mine.later if true == mine.later else mine.value
                    found.append((about, value if mine.sure else None, true))
                    self.slurm.cancel(int(id))
        finally:
            configuration.write_text(before)
        return found


def drawn_weights(draw: Random) -> list[str]:
    """Return random lines of slurm.conf that decide priorities."""
    keys = ("Age", "Fairshare", "JobSize", "Partition", "QOS", "Assoc")
    lines = [
        f"PriorityWeight{key}={draw.choice([0, draw.randint(1, 1000), draw.randint(1000, 200_000)])}" for key in keys
    ]
    flags = [one for one in ("SMALL_RELATIVE_TO_TIME", "MAX_TRES", "ACCRUE_ALWAYS") if draw.random() < 0.2]
    flags += [draw.choice(["NO_FAIR_TREE", "DEPTH_OBLIVIOUS"])] if draw.random() < 0.25 else []
    lines += [f"PriorityFlags={','.join(flags)}"] if flags else []
    lines += ["PriorityFavorSmall=YES"] if draw.random() < 0.4 else []
    if draw.random() < 0.5:
        more = draw.choice(["", ",node=500", ",license/lic=77"])
        lines.append(f"PriorityWeightTRES=CPU={draw.randint(1, 3000)},Mem={draw.randint(1, 3000)}{more}")
    lines += [f"DefMemPer{draw.choice(['CPU', 'Node'])}={draw.randint(10, 100)}"] if draw.random() < 0.4 else []
    lines += [f"FairShareDampeningFactor={draw.randint(1, 4)}"] if draw.random() < 0.3 else []
    return lines


def drawn_job(draw: Random) -> tuple[list[str], Job]:
    """Return the options of sbatch of a random job, and the job."""
    tasks = draw.randint(1, 9)
    words, about = [f"-n{tasks}"], {"cpus": tasks, "tasks_asked": tasks}
    kind = draw.random()
    if kind < 0.15:
        nodes = draw.randint(1, 4)
        tasks = max(tasks, nodes)
        words = [f"-N{nodes}", f"-n{tasks}"]
        about = {"cpus": tasks, "tasks_asked": tasks, "least_nodes": nodes, "most_nodes": nodes}
    elif kind < 0.25:
        tasks, each = draw.randint(1, 4), draw.randint(1, 4)
        words = [f"-n{tasks}", f"-c{each}"]
        about = {"cpus": tasks * each, "tasks_asked": tasks, "cpus_per_task": each}
    more: dict[str, object] = {}
    if draw.random() < 0.15:
        words.append("--exclusive")
        more["exclusive"] = True
    if draw.random() < 0.2:
        more["memory_per_cpu"] = draw.randint(20, 200)
        words.append(f"--mem-per-cpu={more['memory_per_cpu']}")
    if draw.random() < 0.8:
        minutes = draw.randint(1, 150)
        more["time_limit"] = 60 * minutes
        words.append(f"-t{minutes}")
    if draw.random() < 0.15:
        more["licences"] = {"lic": draw.randint(1, 8)}
        words.append(f"-Llic:{more['licences']['lic']}")  # type: ignore[index]
    partition = draw.choice(["main", "main", "main", "pq", "pq", "tight", "closed", "grp"])
    qos, account = draw.choice(["", *QOS_NAMES]), draw.choice(["", "", "lab", "chem"])
    words += [f"-p{partition}", *([f"-q{qos}"] if qos else []), *([f"-A{account}"] if account else [])]
    job = Job(
        id=0, name="", user=ME, state="PENDING", partitions=(partition,), priority=0, qos=qos, account=account,
        **about, **more,
    )  # type: ignore[arg-type]  # fmt: skip
    return words, job
