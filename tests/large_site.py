"""What Slurm would answer of large sites, made up: thousands of nodes, tens of thousands of jobs, in its real formats.

Jobs and nodes are drawn from a seed (`Site.drawn`); the answers are made of those recorded of a small cluster with GPUs
of Slurm 24.11, with other names, numbers and sizes. Every job is on nodes that have room for it, and every plan that is
shown as Slurm's begins when its nodes are free.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

import numpy as np
from slurm_answers import number, recorded

from gas.endpoints.slurm.command_line import COLUMNS, RS, US

MARK = "mark"
NOW = 1_795_382_497  # of the recorded answers
CPUS, GPUS, MEMORY = 64, 4, 256_000
PARAMETERS = "bf_interval=30,bf_resolution=60,bf_window=4320,bf_max_job_test=1000,bf_continue"


@dataclass
class Job:
    """A job of a site, whatever the transport; `shares` are node, CPUs and GPUs, and `tasks` those of an array."""

    id: int
    partition: str
    minutes: int
    nodes: int
    cpus: int
    user: int
    priority: int
    whole: bool = False
    gpus: int = 0
    features: str = ""
    licences: int = 0
    tasks: str = ""
    start: int | None = None
    shares: list[tuple[int, int, int]] = field(default_factory=list)
    planned: list[int] = field(default_factory=list)

    @property
    def runs(self):
        return bool(self.shares)

    @property
    def end(self):
        return None if self.start is None else self.start + 60 * self.minutes


@dataclass
class Site:
    """A machine and its jobs. Its last tenth of nodes has GPUs, and its first half is a partition of whole nodes."""

    size: int
    jobs: list[Job]
    parameters: str = PARAMETERS

    @property
    def of_gpus(self):
        return range(self.size - self.size // 10, self.size)

    @classmethod
    def drawn(
        cls,
        seed=1,
        nodes=5_000,
        waiting=20_000,
        *,
        busy=1.0,
        shared=0.4,
        wide=0.1,
        arrays=0.1,
        planned=300,
        licences=0.02,
        parameters=PARAMETERS,
    ):
        """Return a site.

        Parameters
        ----------
        busy, shared
            The share of nodes on which jobs run, and of these the share on which several do.
        wide, arrays, licences
            The shares of waiting jobs of many nodes, up to a fifth of the machine, of arrays, and with licences.
        planned
            How many of the waiting jobs have a plan of Slurm's.
        """
        chance = np.random.default_rng(seed)
        site = cls(nodes, [], parameters)
        free_at = site._run(chance, busy, shared)
        first = 1_000_000 + len(site.jobs)
        drawn = zip(
            chance.random((waiting, 4)).tolist(), site._minutes(chance, waiting),
            chance.integers(1, 10**6, waiting).tolist(), chance.integers(0, 300, waiting).tolist(),
            np.exp(chance.random((waiting, 2)) * 3).tolist(),
            strict=True,
        )  # fmt: skip
        for id, ((kind, form, other, more), minutes, priority, user, (small, large)) in enumerate(drawn, first):
            if kind < wide:
                width = max(int(nodes / 5 * form**3), 2)
                job = Job(id, "whole", minutes, width, width * CPUS, user, priority, whole=True)
            elif kind < wide + 0.1:
                width, gpus = (int(small) // 2 + 1, GPUS) if form < 0.3 else (1, 1 + int(form * GPUS) % GPUS)
                job = Job(id, "gpu", minutes, width, width * 8 * gpus, user, priority, gpus=gpus)
            elif kind < wide + 0.2:
                job = Job(id, "short,main", min(minutes, 60), 1, int(large), user, priority)
            else:
                width = int(small) if form < 0.5 else 1
                job = Job(id, "main", minutes, width, width * (int(large) if width == 1 else CPUS // 2), user, priority)
                job.features = "big" if other < 0.05 and width < 3 else ""
            if more < arrays and job.nodes == 1:
                job.tasks = f"0-{int(9 * large)}" + (f"%{int(small)}" if form < 0.3 else "")
            elif more > 1 - licences:
                job.licences = 1
            site.jobs.append(job)
        site._plan(free_at, planned)
        return site

    def with_limits_of(self, scale):
        """Return the same site with other walltimes: all of them so many times as long, days instead of hours."""
        return replace(self, jobs=[replace(job, minutes=max(int(job.minutes * scale), 1)) for job in self.jobs])

    @staticmethod
    def _minutes(chance, count):
        """Return walltimes of minutes to two days; many are round."""
        found = np.exp(np.log(5) + chance.random(count) * np.log(2880 / 5)).astype(int)
        round_ones = np.array([30, 60, 120, 240, 480, 720, 1440, 2880])
        return np.where(chance.random(count) < 0.6, round_ones[chance.integers(0, 8, count)], found).tolist()

    def _run(self, chance, busy, shared):
        """Let jobs run, and return when each node will be free."""
        free_at = np.full(self.size, NOW)
        place, id = 0, 1_000_000
        while place < self.size:
            with_gpus = place in self.of_gpus
            most = (self.size if with_gpus else self.of_gpus.start) - place
            kind, age, form = chance.random(3).tolist()
            (minutes,) = self._minutes(chance, 1)
            start = NOW - int(60 * minutes * age)
            width = 1
            if kind < busy * shared or (with_gpus and kind < busy):
                left, ends = CPUS, []
                gpus = GPUS
                while left > 0 and (gpus > 0 or not with_gpus):
                    cpus = min(int(chance.integers(1, CPUS)), left)
                    (minutes,) = self._minutes(chance, 1)
                    start = NOW - int(60 * minutes * chance.random())
                    has = min(int(chance.integers(1, GPUS + 1)), gpus) if with_gpus else 0
                    partition = "gpu" if with_gpus else "main"
                    job = Job(id, partition, minutes, 1, cpus, int(chance.integers(300)), 1000, gpus=has, start=start)
                    job.shares = [(place, cpus, has)]
                    self.jobs.append(job)
                    ends.append(job.end)
                    left, gpus, id = left - cpus, gpus - has, id + 1
                free_at[place] = max(ends)
            elif kind < busy:
                width = min(1 + int(self.size / 10 * form**6), most)
                whole = place + width <= self.size // 2
                job = Job(
                    id, "whole" if whole else "main", minutes, width, width * CPUS, int(chance.integers(300)), 1000
                )
                job.whole, job.start = whole, start
                job.shares = [(node, CPUS, 0) for node in range(place, place + width)]
                self.jobs.append(job)
                free_at[place : place + width] = job.end
                id += 1
            place += width
        return free_at

    def _plan(self, free_at, count):
        """Give the first jobs plans as Slurm shows them, each on the nodes of its partition that are free first."""
        free_at = np.maximum(free_at, NOW)
        waiting = [job for job in self.jobs if not job.runs and not job.tasks and not job.features]
        for job in sorted(waiting, key=lambda one: -one.priority)[:count]:
            low, high = 0, self.of_gpus.start
            if job.partition == "gpu":
                low, high = self.of_gpus.start, self.size
            elif job.partition == "whole":
                high = self.size // 2
            chosen = low + np.argsort(free_at[low:high], kind="stable")[: job.nodes]
            job.start = int(-(-max(free_at[chosen].max(), NOW + 1) // 60) * 60)
            job.planned = sorted(chosen.tolist())
            free_at[chosen] = job.end


def names(places):
    """Return names of nodes as Slurm has them."""
    runs, places = [], sorted(places)
    for place in places:
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    if not places:
        return ""
    return "n[" + ",".join(f"{a + 1:05}-{b + 1:05}" if a < b else f"{a + 1:05}" for a, b in runs) + "]"


def _used(site):
    cpus, gpus = np.zeros(site.size, int), np.zeros(site.size, int)
    for job in site.jobs:
        for node, had, has in job.shares:
            cpus[node] += CPUS if job.whole else had
            gpus[node] += has
    return cpus.tolist(), gpus.tolist()


def _state(cpus):
    return "ALLOCATED" if cpus >= CPUS else "MIXED" if cpus else "IDLE"


def _feature(place):
    return "std" if place % 20 else "big"


def _partitions(site):
    last = site.of_gpus.start
    return {
        "main": f"n[00001-{last:05}]", "short": f"n[00001-{last:05}]", "whole": f"n[00001-{site.size // 2:05}]",
        "gpu": f"n[{last + 1:05}-{site.size:05}]",
    }  # fmt: skip


def by_commands(site):
    """Return the answers of the commands."""
    said = recorded("v24.11-gpus")
    lines = {line.split(" ")[0].split("=")[1]: line for line in said["nodes"].splitlines()}
    nodes = []
    for place, (cpus, gpus) in enumerate(zip(*_used(site), strict=True)):
        with_gpus = place in site.of_gpus
        line = lines["n07" if with_gpus else "n01"]
        changed = {
            "NodeName": f"n{place + 1:05}", "CPUAlloc": cpus, "CPUEfctv": CPUS, "CPUTot": CPUS, "RealMemory": MEMORY,
            "AllocMem": 1000 * cpus, "ThreadsPerCore": 1, "GresUsed": f"gpu:a100:{gpus}(IDX:N/A)",
            "Gres": f"gpu:a100:{GPUS}" if with_gpus else "(null)",
            "State": _state(cpus), "Sockets": 2, "CoresPerSocket": CPUS // 2, "AvailableFeatures": _feature(place),
            "ActiveFeatures": _feature(place),
            "CfgTRES": f"cpu={CPUS},mem={MEMORY}M" + (f",gres/gpu={GPUS},gres/gpu:a100={GPUS}" if with_gpus else ""),
            "AllocTRES": f"cpu={cpus},mem={1000 * cpus}M" + (f",gres/gpu={gpus},gres/gpu:a100={gpus}" if gpus else ""),
        }  # fmt: skip
        nodes.append(_with_values(line, changed))
    partitions = {
        line.split(" ")[0].split("=")[1]: re.sub("(Allow|Deny)(Groups|Accounts|Qos)=\\S+", "\\1\\2=ALL", line)
        .replace(" DenyAccounts=ALL", "")
        .replace(" DenyQos=ALL", "")
        for line in said["partitions"].splitlines()
    }
    listed = []
    for name, its in _partitions(site).items():
        changed = {"PartitionName": name, "Nodes": its, "MaxTime": "01:00:00" if name == "short" else "2-00:00:00"}
        changed |= {"PriorityTier": 2 if name == "short" else 1, "QoS": "N/A", "MaxMemPerNode": "UNLIMITED"}
        changed |= {"Default": "YES" if name == "main" else "NO", "MaxMemPerCPU": "UNLIMITED"}
        listed.append(_with_values(partitions["main" if name == "short" else name], changed))
    rows, details = [], []
    like = {line.split(" ")[1].split("=")[1]: line for line in said["details"].splitlines() if "Array" not in line[:40]}
    for job in site.jobs:
        row, detail = _by_commands(job, like["g1" if job.runs else "range"])
        rows.append(row)
        details.append(detail)
    config = re.sub("(SchedulerParameters +=).*", f"\\1 {site.parameters}", said["config"])
    return said | {
        "nodes": "\n".join(nodes) + "\n", "partitions": "\n".join(listed) + "\n", "jobs": "".join(rows),
        "details": "".join(details), "config": config, "reservations": "No reservations in the system\n",
        "licences": "LicenseName=matlab Total=400 Used=0 Free=400 Reserved=0 Remote=no\n",
    }  # fmt: skip


PROGRAM = """\
#!/bin/sh
case "$(basename "$0") $*" in
sdiag*) cat "{folder}/diagnostics" ;;
squeue*)
    for word; do case "$word" in
        %*) mark="${{word#%A{us}}}"; mark="${{mark%%[%]*}}" ;;
    esac; done
    sed "s/{us}{mark}/{us}$mark/g; s/{rs}{mark}/{rs}$mark/g" "{folder}/jobs" ;;
*"show nodes"*) cat "{folder}/nodes" ;;
*"show partitions"*) cat "{folder}/partitions" ;;
*"show licenses"*) cat "{folder}/licences" ;;
*"show reservations"*) cat "{folder}/reservations" ;;
*"show config"*) cat "{folder}/config" ;;
*"show jobs"*) cat "{folder}/details" ;;
*) echo "disabled" >&2; exit 1 ;;
esac
"""


def as_programs(said, folder):
    """Write programs that answer as the commands do, from what `by_commands` has made."""
    folder.mkdir()
    for name, text in said.items():
        (folder / name).write_text(text)
    for name in ("squeue", "scontrol", "sdiag", "sacctmgr", "sprio", "sshare"):
        (folder / name).write_text(PROGRAM.format(folder=folder, us=US, rs=RS, mark=MARK))
        (folder / name).chmod(0o755)


def _with_values(line, changed):
    """Return a line of scontrol with other values; keys that it does not have are left out."""
    for key, value in changed.items():
        line = re.sub(rf"(^| ){key}=\S*", rf"\g<1>{key}={value}", line, count=1)
    return line


def _by_commands(job, like):
    """Return a job as squeue and as scontrol show it."""
    state = "RUNNING" if job.runs else "PENDING"
    at = "N/A" if job.start is None else str(job.start)
    end = "N/A" if job.end is None else str(job.end)
    here, sharing = names([node for node, _, _ in job.shares]), "NO" if job.whole else "OK"
    limit = f"{job.minutes // 60}:{job.minutes % 60:02}:00"
    reason = "None" if job.runs else "Priority"
    values = {
        "id": str(job.id), "array": str(job.id), "tasks": job.tasks or "N/A", "user": f"user{job.user}", "state": state,
        "partitions": job.partition, "start": at, "end": end, "limit": limit, "cpus": str(job.cpus),
        "node count": str(job.nodes), "nodes": here, "planned nodes": names(job.planned) or "(null)",
        "sharing": sharing, "priority": str(job.priority), "reason": reason, "submitted": str(NOW - 3600),
        "dependency": "(null)", "required nodes": "", "excluded nodes": "", "reservation": "(null)",
        "comment": "(null)",
        "name": f"job-{job.id}",
    }  # fmt: skip
    row = (US + MARK).join(values[column] for column in COLUMNS) + RS + MARK + "\n"
    gpus = job.gpus if not job.runs else max(has for _, _, has in job.shares)
    changed = {
        "JobId": job.id, "JobName": values["name"], "UserId": f"user{job.user}({3000 + job.user})",
        "Priority": job.priority, "JobState": state, "TimeLimit": limit,
        "StartTime": "Unknown" if job.start is None else at,
        "EndTime": "Unknown" if job.end is None else end, "Partition": job.partition, "NodeList": here,
        "NumNodes": job.nodes if job.runs else f"{job.nodes}-{job.nodes}", "NumCPUs": job.cpus, "NumTasks": job.cpus,
        "Features": job.features or "(null)", "OverSubscribe": sharing,
        "Licenses": f"matlab:{job.licences}" if job.licences else "(null)", "Reason": reason, "MinMemoryCPU": "1000M",
        "TresPerNode": f"gres/gpu:a100:{gpus}" if gpus else "(null)",
    }  # fmt: skip
    like = re.sub("TresPerNode=\\S* ", "", like).replace("MinMemoryNode=500M", "MinMemoryCPU=500M")
    like = like.rstrip() + (" TresPerNode= " if gpus else "")
    line = _with_values(re.sub(r" Nodes=.*? (?=MinCPUsNode)", " SHARES ", like), changed)
    if job.tasks:
        ids, _, most = job.tasks.partition("%")
        throttle = f" ArrayTaskThrottle={most}" if most else ""
        line = line.replace(" JobName", f" ArrayJobId={job.id} ArrayTaskId={ids}{throttle} JobName", 1)
    shares = "".join(
        f" Nodes={names([node])} CPU_IDs=0-{(CPUS if job.whole else cpus) - 1} Mem={1000 * cpus} "
        f"GRES={f'gpu:a100:{has}(IDX:0)' if has else ''}"
        for node, cpus, has in job.shares
    )
    return row, line.replace(" SHARES", f"  {shares}" if job.runs else "") + " \n"


def by_rest(site):
    """Return the answers of slurmrestd."""
    said = recorded("v0.0.42-gpus")
    documents = {name: json.loads(said[name]) for name in ("nodes", "partitions", "jobs")}
    some = {node["name"]: node for node in documents["nodes"]["nodes"]}
    nodes = []
    for place, (cpus, gpus) in enumerate(zip(*_used(site), strict=True)):
        with_gpus = place in site.of_gpus
        feature = [_feature(place)]
        nodes.append(
            some["n07" if with_gpus else "n01"] | {
                "name": f"n{place + 1:05}", "cpus": CPUS, "effective_cpus": CPUS, "alloc_cpus": cpus,
                "cores": CPUS // 2, "threads": 1, "real_memory": MEMORY, "alloc_memory": 1000 * cpus,
                "features": feature,
                "active_features": feature, "gres": f"gpu:a100:{GPUS}" if with_gpus else "",
                "gres_used": f"gpu:a100:{gpus}(IDX:0)" if with_gpus else "",
                "state": [_state(cpus)],
            }
        )  # fmt: skip
    documents["nodes"]["nodes"] = nodes
    kinds = {one["name"]: one for one in documents["partitions"]["partitions"]}
    listed = []
    for name, its in _partitions(site).items():
        one = json.loads(json.dumps(kinds.get(name, kinds["main"]))) | {"name": name}
        one["nodes"]["configured"] = its
        one["accounts"] = {"allowed": "", "deny": ""}
        one["qos"] = {"allowed": "", "deny": "", "assigned": ""}
        one["maximums"]["time"] = number(60 if name == "short" else 2880)
        one["maximums"]["partition_memory_per_node"] = number(None)
        one["maximums"]["oversubscribe"] = {"jobs": 1, "flags": ["exclusive"] if name == "whole" else []}
        one["priority"] = {"job_factor": 1, "tier": 2 if name == "short" else 1}
        listed.append(one)
    documents["partitions"]["partitions"] = listed
    if "reservations" in said:
        documents["reservations"] = json.loads(said["reservations"]) | {"reservations": []}
    like = {job["name"]: job for job in documents["jobs"]["jobs"]}
    jobs = [json.dumps(_by_rest(job, like["g2" if job.runs else "range"])) for job in site.jobs]
    head = json.dumps(documents["jobs"] | {"jobs": []})
    found = {name: json.dumps(document) for name, document in documents.items()}
    return said | found | {"jobs": head.replace('"jobs": []', f'"jobs": [{", ".join(jobs)}]')}


def _by_rest(job, like):
    """Return a job as slurmrestd shows it."""
    here = [node for node, _, _ in job.shares]
    found = like | {
        "job_id": job.id, "name": f"job-{job.id}", "user_name": f"user{job.user}", "partition": job.partition,
        "job_state": ["RUNNING" if job.runs else "PENDING"], "priority": number(job.priority),
        "time_limit": number(job.minutes), "cpus": number(job.cpus), "tasks": number(job.cpus),
        "node_count": number(job.nodes), "max_nodes": number(0 if job.runs else job.nodes), "nodes": names(here),
        "scheduled_nodes": names(job.planned), "start_time": number(job.start or 0), "end_time": number(job.end or 0),
        "shared": ["none"] if job.whole else [], "features": job.features, "qos": "normal", "account": "a1",
        "licenses": f"matlab:{job.licences}" if job.licences else "", "memory_per_cpu": number(1000),
        "memory_per_node": number(None), "cpus_per_task": number(1), "tres_per_task": "", "tres_per_job": "",
        "tres_per_node": f"gres/gpu:a100:{job.gpus}" if job.gpus else "", "gres_detail": [],
    }  # fmt: skip
    if job.tasks:
        found |= {"array_job_id": number(job.id), "array_task_string": job.tasks}
    if job.runs:
        found["gres_detail"] = [f"gpu:a100:{has}(IDX:0)" for _, _, has in job.shares] if job.gpus else []
        found["job_resources"] = {
            "nodes": {
                "list": names(here), "whole": job.whole, "allocation": [
                    {
                        "name": f"n{node + 1:05}", "cpus": {"count": cpus, "used": 0},
                        "memory": {"used": 0, "allocated": 1000 * cpus}, "sockets": [],
                    }
                    for node, cpus, _ in job.shares
                ],
            }
        }  # fmt: skip
    return found
