"""Answers of a real OAR 2.5.9, and two OARs with faults on request: programs that are found first, and an HTTP server.

The recordings are of eight hosts with four resources each. Job 1 has resources 9 to 24; job 2 waits for 24 of them;
job 3 has just ended when the commands run, so that its slot is still in the chart; job 4 has three shapes. The REST API
was queried half a minute later than the commands, when job 4 ran.
"""

import json
import os
import pwd
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from documents.fields import Fields
from gas.endpoints.oar.answers import jobs_of, parsed, records_of, resources_of
from gas.endpoints.oar.endpoint import OarEndpoint
from gas.endpoints.oar.machine import Machine

ANSWERS = Path(__file__).parent / "answers"
BUSY_SINCE = 1795298516
"""The instant at which the last of the running jobs in the longer queue had just started."""

HOSTS, CORES = 4, 2

PROGRAM = r'''#!{python} -SE
"""A small OAR: its state is in files, and it fails as it is told to."""
import json, os, re, signal, sys, time
HERE = {here!r}
program, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(HERE + "/calls", "a") as file:
    file.write(json.dumps([program, *words]) + "\n")
def jobs():
    found = []
    for name in os.listdir(HERE + "/jobs"):
        with open(HERE + "/jobs/" + name) as file:
            found.append(json.load(file))
    return sorted(found, key=lambda job: job["Job_Id"])
def write(job):
    with open(HERE + "/part", "w") as file:
        json.dump(job, file)
    os.rename(HERE + "/part", HERE + "/jobs/" + str(job["Job_Id"]))
def new():
    name = next(w[7:] for w in words if w.startswith("--name="))
    shapes = [words[i + 1] for i, w in enumerate(words) if w == "-l"]
    id = max([job["Job_Id"] for job in jobs()], default=0) + 1
    h, m, s = map(int, re.search(r"walltime=(\d+):(\d+):(\d+)", shapes[0]).groups())
    wanted = "".join('-l "{{type = \'default\'}}' + shape + '" ' for shape in shapes)
    write({{"Job_Id": id, "name": name, "owner": {user!r}, "state": "Waiting", "queue": "default", "types": [],
           "walltime": h * 3600 + m * 60 + s, "startTime": 0, "stopTime": 0, "scheduledStart": None, "exit_code": None,
           "submissionTime": int(time.time()), "wanted_resources": wanted, "command": words[-1], "message": "",
           "assigned_resources": [], "events": [], "launchingDirectory": HERE, "stdout_file": "OAR.%d.stdout" % id,
           "stderr_file": "OAR.%d.stderr" % id}})
    return id
fault = ""
path = HERE + "/faults/" + program
if os.path.exists(path):
    with open(path) as file:
        faults = file.read().split()
    fault = faults.pop(0) if faults else ""
    with open(path, "w") as file:
        file.write(" ".join(faults))
def failing():
    if fault == "hang":
        time.sleep(30)
    if fault == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "error":
        sys.exit("[ERROR] something is wrong")
    if fault == "database":
        sys.exit("[IOlib] Cannot connect to database (type=Pg, host=localhost)")
if program == "oarsub":
    if fault == "refuse":
        print("OAR_JOB_ID=-2")
        sys.stderr.write("There are not enough resources for your request\n")
        sys.stderr.write("[ERROR] Oarsub failed, please verify your request syntax.\n")
        sys.exit(8)
    if fault == "late":
        if os.fork() == 0:
            os.setsid()
            time.sleep(0.7)
            new()
            os._exit(0)
        time.sleep(30)
    if fault.startswith("then-"):
        fault = fault[5:]
        id = new()
        if fault == "signal":
            print("OAR_JOB_ID=%d" % id)
            sys.stderr.write("[ERROR] Cannot connect to executor localhost:6666. Job is killed.\n")
            sys.exit(9)
        if fault == "half":
            sys.stdout.write("OAR_JOB")
            sys.exit(0)
        failing()
    failing()
    print("[ADMISSION RULE] Set default walltime to 3600.")
    print("OAR_JOB_ID=%d" % new())
elif program == "oardel":
    failing()
    mine = [job for job in jobs() if str(job["Job_Id"]) == words[0] and job["owner"] == {user!r}]
    print("Deleting the job = %s ..." % words[0] + ("REGISTERED." if mine else "ERROR."))
    if not mine:
        sys.exit("Cannot frag %s ; You are not the right user." % words[0])
    event = {{"type": "FRAG_JOB_REQUEST", "date": int(time.time()), "job_id": mine[0]["Job_Id"]}}
    write({{**mine[0], "state": "Error", "events": [event]}})
else:
    failing()
    if program == "oarnodes":
        with open(HERE + "/oarnodes.json") as file:
            text = file.read()
        where = words[words.index("--sql") + 1] if "--sql" in words else ""
        if "'none'" in where and "1 = 1" not in where or "<>" in where:
            text = "{{}}"
    elif "--accounting" in words:
        with open(HERE + "/accounting") as file:
            text = file.read()
    elif "--gantt" in words:
        with open(HERE + "/gantt.json") as file:
            text = file.read()
    else:
        found = jobs()
        if "-j" in words:
            found = [job for job in found if str(job["Job_Id"]) == words[words.index("-j") + 1]]
        elif "--sql" in words:
            where = words[words.index("--sql") + 1]
            if "LIKE" in where:
                tag = re.search(r"LIKE '%(.*)'", where)[1]
                found = [job for job in found if job["name"].endswith(tag)]
            else:
                found = [job for job in found if job["state"] in ("Terminated", "Error")]
                found = found[-int(where.split()[-1]):]
        else:
            found = [job for job in found if job["state"] not in ("Terminated", "Error")]
        text = json.dumps({{str(job["Job_Id"]): job for job in found}}) if found else ""
    sys.stdout.write(text[: len(text) // 2] if fault == "half" else text)
'''


def made_up_resources():
    """Return the resources of a machine of four hosts of two cores."""
    return [
        {"resource_id": id, "network_address": f"n{1 + (id - 1) // CORES}", "state": "Alive", "type": "default",
         "drain": "NO", "desktop_computing": "NO", "available_upto": 2147483647, "core": id, "cluster": "a"}
        for id in range(1, HOSTS * CORES + 1)
    ]  # fmt: skip


class FakeOar:
    """Programs in a folder, their jobs and their faults."""

    def __init__(self, folder):
        self.folder = folder
        self.user = pwd.getpwuid(os.getuid()).pw_name
        for name in ("jobs", "faults", "bin"):
            (folder / name).mkdir()
        program = folder / "bin" / "oarstat"
        program.write_text(PROGRAM.format(python=sys.executable, here=str(folder), user=self.user))
        program.chmod(0o755)
        for name in ("oarnodes", "oarsub", "oardel"):
            (folder / "bin" / name).symlink_to(program)
        self.publish(made_up_resources(), {})
        self.account({})

    def account(self, users):
        """Set the used and requested seconds of users."""
        lines = [
            "    User       First window starts  Last window ends     Asked (seconds)  Used (seconds)",
            f"    {'-' * 80}",
        ]
        lines += [f"{user:<10.10} 2026-10-30 00:00:00  2026-11-20 23:59:59  {asked:>16} {used:>16}"
                  for user, (used, asked) in users.items()]  # fmt: skip
        (self.folder / "accounting").write_text("\n".join(lines) + "\n")

    def publish(self, resources, jobs):
        chart = {"resources": resources, "dead_resources": {}, "jobs": jobs}
        (self.folder / "gantt.json").write_text(json.dumps(chart))
        (self.folder / "oarnodes.json").write_text(json.dumps({str(one["resource_id"]): one for one in resources}))

    def fail(self, program, *faults):
        (self.folder / "faults" / program).write_text(" ".join(faults))

    def put(self, **job):
        id = int(job["Job_Id"])
        whole = {"name": "", "owner": self.user, "state": "Waiting", "types": [], "walltime": 60, **job}
        (self.folder / "jobs" / str(id)).write_text(json.dumps(whole))

    @property
    def jobs(self):
        return sorted((json.loads(p.read_text()) for p in (self.folder / "jobs").iterdir()), key=lambda j: j["Job_Id"])

    @property
    def calls(self):
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class FakeApi:
    """The REST API over HTTP: one user, waiting jobs, and faults."""

    def __init__(self, user="ann"):
        self.user, self.jobs, self.resources = user, [], made_up_resources()
        self.used = {}
        self.faults, self.asked, self.headers = [], [], []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # otherwise each answer waits for an acknowledgement

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append((self.command, self.path, json.loads(body) if body else None))
                outer.headers.append(self.headers)
                matching = [fault for fault in outer.faults if fault[0] == self.command]
                fault = ""
                if matching:
                    outer.faults.remove(matching[0])
                    fault = matching[0][1]
                if callable(fault):
                    status, content = fault(outer)
                elif fault in ("", "then-cut", "then-hang", "then-500", "half"):
                    status, content = outer.handle(self.command, self.path, json.loads(body) if body else None)
                if fault in ("cut", "then-cut"):
                    self.close_connection = True
                    self.connection.close()
                    return
                if fault in ("hang", "then-hang"):
                    outer.released.wait(20)
                    self.close_connection = True
                    return
                if fault in ("500", "then-500"):
                    status, content = 500, b"<html>Internal Server Error</html>"
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                text = text[: len(text) // 2] if fault == "half" else text
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/oarapi"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def fail(self, method, *faults):
        self.faults += [(method, fault) for fault in faults]

    def add(self, **job):
        whole = {"name": "", "owner": self.user, "state": "Waiting", "types": [], "walltime": 60, "start_time": 0,
                 "stop_time": 0, "scheduled_start": None, "exit_code": None, "resources": [], "events": [],
                 "submission_time": int(time.time()), "id": len(self.jobs) + 1, **job}  # fmt: skip
        self.jobs.append(whole)
        return whole

    def handle(self, method, path, body):
        parts = urlsplit(path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        name = parts.path.removeprefix("/oarapi/")
        if name == "whoami.json":
            return 200, {"authenticated_user": self.user}
        if name == "accounting.json":
            kinds = {kind: {user: str(both[at]) for user, both in self.used.items()}
                     for at, kind in enumerate(("USED", "ASKED"))}  # fmt: skip
            return 200, self.page([{"project": "default", "consumptions": kinds}] if self.used else [], query)
        if name == "resources/full.json":
            listed = [{**one, "id": one["resource_id"]} for one in self.resources]
            for one in listed:
                del one["resource_id"]
            return 200, self.page(listed, query)
        if name in ("jobs.json", "jobs/details.json") and method == "GET":
            return 200, self.page(self.select(query), query)
        if name == "jobs.json":
            found = re.search(r"=(\d+),walltime=(\d+):(\d+):(\d+)", body["resource"][0])
            h, m, s = map(int, found.groups()[1:])
            wanted = "".join(f"-l \"{{type = 'default'}}{shape}\" " for shape in body["resource"])
            job = self.add(
                name=body["name"], command=body["command"], walltime=h * 3600 + m * 60 + s, wanted_resources=wanted
            )
            return 201, {"id": job["id"], "cmd_output": f"OAR_JOB_ID={job['id']}\n"}
        if method == "DELETE":
            id = int(re.search(r"jobs/(\d+)", name)[1])
            mine = [job for job in self.jobs if job["id"] == id and job["owner"] == self.user]
            if not mine:
                words = "Oardel command exited with status 256: Cannot frag ; You are not the right user."
                return 400, {"code": 400, "title": "Oardel error", "message": words}
            mine[0]["state"] = "Error"
            mine[0]["events"] = [{"type": "FRAG_JOB_REQUEST", "date": int(time.time())}]
            return 202, {"id": str(id), "status": "Delete request registered"}
        return 404, {"code": 404, "title": "Not found", "message": f"No way to handle your request {name}"}

    def select(self, query):
        ended = ("Terminated", "Error")
        found = self.jobs
        if "ids" in query:
            return [job for job in found if str(job["id"]) in query["ids"].split(":")]
        if "state" in query:
            found = [job for job in found if job["state"] in query["state"].split(",")]
        else:
            found = [job for job in found if job["state"] not in ended]
        return [job for job in found if query.get("user", job["owner"]) == job["owner"]]

    def page(self, listed, query):
        offset, limit = int(query.get("offset", 0)), min(int(query.get("limit", 500)), 5)
        items = listed[offset : offset + limit]
        return {"items": items, "total": len(listed), "offset": offset, "api_timestamp": int(time.time())}


def content_of(name):
    """Return a recorded answer."""
    return parsed((ANSWERS / f"{name}.json").read_text(), name)


@pytest.fixture
def recorded():
    """Return the text of a recorded answer."""
    return lambda name: (ANSWERS / f"{name}.json").read_text()


@pytest.fixture
def chart():
    """Return the machine as the commands showed it."""
    content = content_of("oarstat-gantt")
    resources = resources_of(records_of(content["resources"], ""), "")
    return Machine("oar", 1795219405, resources, jobs_of(records_of(content["jobs"], ""), ""))


@pytest.fixture
def rest_machine():
    """Return the machine as the REST API showed it, half a minute later."""
    resources = resources_of(records_of(content_of("rest-resources-full"), ""), "")
    jobs = jobs_of(records_of(content_of("rest-jobs-details"), ""), "")
    return Machine("oar", content_of("rest-jobs-details")["api_timestamp"], resources, jobs)


@pytest.fixture
def busy_machines():
    """Return a longer queue as both transports showed it at the same moment; links and dead resources left out."""
    content = content_of("busy/oarstat-gantt")
    resources = resources_of(records_of(content["resources"], ""), "")
    by_commands = Machine("oar", BUSY_SINCE, resources, jobs_of(records_of(content["jobs"], ""), ""))
    resources = resources_of(records_of(content_of("busy/rest-resources-full"), ""), "")
    jobs = jobs_of(records_of(content_of("busy/rest-jobs-details"), ""), "")
    return {"commands": by_commands, "rest": Machine("oar", BUSY_SINCE, resources, jobs)}


@pytest.fixture
def oar(tmp_path, monkeypatch):
    """Return an OAR of programs that are found first."""
    folder = tmp_path / "oar"
    folder.mkdir()
    fake = FakeOar(folder)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    return fake


@pytest.fixture
def api():
    """Return a REST API."""
    server = FakeApi()
    yield server
    server.stop()


@pytest.fixture
def endpoint(monkeypatch):
    """Return an endpoint of a table; it is impatient."""
    monkeypatch.setattr("gas.endpoints.tagging.PAUSE_SECONDS", 0.05)
    monkeypatch.setattr("gas.endpoints.oar.endpoint.FILE", "/nonexistent/scheduler_quotas.conf")

    def make(**table):
        made = OarEndpoint.configured("oar", Fields({"patience": 0.3, **table}, "gas.toml, [endpoints.oar]"))
        made.told = []
        made.tell = made.told.append
        return made

    return make
