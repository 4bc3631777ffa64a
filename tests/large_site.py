"""What Slurm would answer of a large site: 5,000 nodes and 20,000 waiting jobs, in the formats of Slurm 24.11.

The answers are made of those recorded of a small cluster with GPUs: its nodes, its partitions and some of its jobs,
again and again under other names and numbers, with other sizes.
"""

import json
import re

import numpy as np
from slurm_answers import recorded

from gas.endpoints.slurm.command_line import COLUMNS, RS, US

MARK = "mark"
WAITING_LIKE = ("g6", "exg", "range", "nper", "tpc", "odd")
RUNNING_LIKE = ("g1", "g2", "g3", "g5", "multi")


def by_commands(nodes=5_000, waiting=20_000, running=3_000, version="v24.11"):
    """Return the answers of the commands."""
    said = recorded(f"{version}-gpus")
    found = dict(said)
    lines = said["nodes"].splitlines()
    last = f"n{nodes:05}"
    found["nodes"] = "".join(
        re.sub("NodeName=n0(\\d)", f"NodeName=n{number:05}", lines[number % len(lines)], count=1) + "\n"
        for number in range(1, nodes + 1)
    )
    found["partitions"] = re.sub(r"Nodes=n\[[^]]*\] ", f"Nodes=n[00001-{last[1:]}] ", said["partitions"])
    records = [record.removeprefix("\n").split(US + MARK) for record in said["jobs"].split(RS + MARK)[:-1]]
    rows = {row[-1]: dict(zip(COLUMNS, row, strict=True)) for row in records}
    details = {}
    for line in said["details"].splitlines():
        if (name := re.match(r"JobId=\d+ JobName=(\w+) ", line)) and name[1] not in details:
            details[name[1]] = line
    chance = np.random.default_rng(1)
    jobs, each = [], []
    for number in range(waiting + running):
        likes = WAITING_LIKE if number < waiting else RUNNING_LIKE
        like = likes[number % len(likes)]
        id, minutes = 1_000_000 + number, int(chance.integers(5, 1440))
        name, user = f"job-{number}", f"user{number % 500}"
        its = [f"n{node:05}" for node in chance.integers(1, nodes, 2)] if number >= waiting else []
        pending = number < waiting
        values = rows[like] | {
            "id": str(id), "array": str(id), "name": name, "user": user, "comment": "(null)", "reason": "Priority",
            "priority": str(int(chance.integers(1, 10**6))), "limit": f"{minutes // 60}:{minutes % 60:02}:00",
            "planned nodes": "(null)",
        }  # fmt: skip
        if pending:
            values |= {"state": "PENDING", "nodes": "", "start": "N/A", "end": "N/A"}
        else:
            ends = str(1795381000 + 60 * minutes)
            values |= {"state": "RUNNING", "nodes": ",".join(its), "start": "1795380000", "end": ends}
        jobs.append((US + MARK).join(values[column] for column in COLUMNS) + RS + MARK + "\n")
        line = re.sub(
            r"JobId=\d+ JobName=\w+ UserId=\S+", f"JobId={id} JobName={name} UserId={user}(1000)", details[like]
        )
        line = re.sub(r"JobState=\w+", f"JobState={values['state']}", line)
        if not pending:
            for old, new in zip(sorted(set(re.findall(r" Nodes=(\S+) ", line))), its, strict=False):
                line = line.replace(f" Nodes={old} ", f" Nodes={new} ")
        each.append(line + "\n")
    return found | {"jobs": "".join(jobs), "details": "".join(each)}


def by_rest(nodes=5_000, waiting=20_000, running=3_000, version="v0.0.42"):
    """Return the answers of slurmrestd."""
    said = recorded(f"{version}-gpus")
    documents = {name: json.loads(text) for name, text in said.items()}
    some = documents["nodes"]["nodes"]
    found = dict(said)
    documents["nodes"]["nodes"] = [
        some[number % len(some)] | {"name": f"n{number:05}"} for number in range(1, nodes + 1)
    ]
    for one in documents["partitions"]["partitions"]:
        one["nodes"]["configured"] = f"n[00001-{nodes:05}]"
    like = {job["name"]: job for job in documents["jobs"]["jobs"]}
    chance = np.random.default_rng(1)
    jobs = []
    for number in range(waiting + running):
        pending = number < waiting
        names = WAITING_LIKE if pending else RUNNING_LIKE
        job = like[names[number % len(names)]]
        minutes = {"set": True, "infinite": False, "number": int(chance.integers(5, 1440))}
        job = job | {"job_id": 1_000_000 + number, "name": f"job-{number}", "time_limit": minutes, "user_name": "ann"}
        job["job_state"] = ["PENDING" if pending else "RUNNING"]
        jobs.append(json.dumps(job))
    head = json.dumps(documents["jobs"] | {"jobs": []})
    found["jobs"] = head.replace('"jobs": []', f'"jobs": [{", ".join(jobs)}]')
    return found | {name: json.dumps(documents[name]) for name in ("nodes", "partitions")}
