"""Answers of a Slurm 22.05.8 of 16 nodes of 8 CPUs to every way of asking, recorded one after the other.

The queue of v22.05 and v0.0.38: six running jobs, of which 2, 3 and 4 share n07; node n16 drained; planned, held,
dependent and deferred jobs; one that can never run (6); a reservation. Of the other versions a few objects.
"""

import copy
import json
import re
from pathlib import Path

from gas.endpoints.slurm.command_line import COLUMNS, RS, US, detailed, read_cluster

FOLDER = Path(__file__).parent / "endpoints" / "slurm" / "answers"


def recorded(version):
    return {path.stem: path.read_text() for path in (FOLDER / version).iterdir()}


def number(value):
    return {"set": value is not None, "infinite": False, "number": value or 0}


def renewed(answers, planned_nodes):
    """Return the answers of v0.0.38 in the forms of v0.0.43 (src/plugins/data_parser/v0.0.43/parsers.c).

    Made by hand after the names and types in that file: no such Slurm was asked.
    """
    found = {name: json.loads(text) for name, text in copy.deepcopy(answers).items()}
    for document in found.values():
        document["meta"] = {"slurm": {"release": "25.05.0"}}
    for node in found["nodes"]["nodes"]:
        node["state"] = [node["state"].upper(), *node.pop("state_flags")]
    for one in found["reservations"]["reservations"]:
        one |= {key: number(one[key]) for key in ("start_time", "end_time")}
    for one in found["partitions"]["partitions"]:
        one["nodes"] = {"configured": one["nodes"], "total": one.pop("total_nodes")}
        most, least = one.pop("maximum_nodes_per_job"), one.pop("min nodes per job")
        infinite = {"set": False, "infinite": True, "number": 0}
        one["maximums"] = {"time": number(one.pop("max_time_limit")), "nodes": infinite if most < 0 else number(most)}
        one["maximums"]["oversubscribe"] = {"jobs": 1, "flags": []}
        one |= {"minimums": {"nodes": least}, "defaults": {"time": number(one.pop("default_time_limit"))}}
        one |= {"partition": {"state": [one.pop("state")]}, "priority": {"tier": one.pop("priority_tier")}}
        del one["flags"]
    statistics = found["diag"]["statistics"]
    statistics |= {key: number(statistics[key]) for key in ("req_time", "bf_when_last_cycle")}
    times = ("start_time", "end_time", "submit_time", "eligible_time", "time_limit", "priority", "cpus", "node_count")
    for job in found["jobs"]["jobs"]:
        job |= {key: number(job[key]) for key in (*times, "max_nodes", "array_job_id", "array_task_id")}
        job["job_state"] = [job["job_state"]]
        job["shared"] = [job["shared"]] if job["shared"] else []
        job["scheduled_nodes"] = planned_nodes.get(job["job_id"], "")
        resources = job.pop("job_resources", None)
        job["job_resources"] = None
        if resources:
            allocation = [
                {"name": one["nodename"], "cpus": {"count": len(one["sockets"]), "used": 0}, "sockets": []}
                for one in resources["allocated_nodes"]
            ]
            job["job_resources"] = {"nodes": {"list": resources["nodes"], "allocation": allocation}}
    return {name: json.dumps(document) for name, document in found.items()}


def changed(answers, endpoint, change):
    """Return the answers with one document changed."""
    document = json.loads(answers[endpoint])
    change(document)
    return answers | {endpoint: json.dumps(document)}


MARK = "0123456789abcdef"


def written(said, id, mark=MARK, *, details=(), **texts):
    """Return the answers as if a job had other texts, as squeue and scontrol print them; `details` are replacements."""
    records = []
    for record in said["jobs"].split(RS)[:-1]:
        values = dict(zip(COLUMNS, record.removeprefix("\n").split(US), strict=True))
        records.append((US + mark).join((values | (texts if values["id"] == str(id) else {})).values()))
    lines = said["details"].splitlines()
    (at,) = (at for at, line in enumerate(lines) if line.startswith(f"JobId={id} "))
    if "comment" in texts:
        lines[at] = lines[at].replace(" WorkDir=/tmp ", f" WorkDir=/tmp Comment={texts['comment']}  ")
    if "name" in texts:
        lines[at] = re.sub(r"JobName=.*? UserId=", lambda _: f"JobName={texts['name']} UserId=", lines[at], count=1)
    for old, new in details:
        assert old in lines[at]
        lines[at] = lines[at].replace(old, new)
    jobs = "".join(f"{record}{RS}{mark}\n" for record in records)
    return dict(said, jobs=jobs, details="".join(f"{line}\n" for line in lines))


def understood(answers, mark=MARK):
    return detailed(read_cluster(answers, name="x", mark=mark), answers["details"])
