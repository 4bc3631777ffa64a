"""`gas serve` as a process that tests can kill and starve, and what its records on disk say.

Service                    the process: started, asked over HTTP, killed
FullDisk, NoWrites         where its state is, and how writes there are made to fail
standing                   the contents of a dead service's store
check_records              no processor used twice, by the wrappers' own records
marked_processes           every living process of a job, by the mark in its environment
running_wrappers           pids of living wrappers by job
"""

from __future__ import annotations

import contextlib
import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from gas.service.jobs import Job
from gas.service.processes import read_state
from gas.service.records import Ended, claim_of, is_running
from gas.service.store import Store
from gas.service.wrapper import MARK

TRACEBACK = "Traceback (most recent call last)"


class Service:
    """`gas serve`, started at once; `ready` waits until it answers.

    Its stderr is appended to the file `log`, which must not be where writes are made to fail.
    """

    def __init__(self, place: Place, *options: str, log: Path, processors: int = 4, name: str = "s3") -> None:
        self.place, self.log = place, log
        command = [*place.prefix, sys.executable, "-m", "gas", "serve", "--port", "0", "--name", name]
        command += ["--processors", str(processors), "--state", str(place.inside), *options]
        with log.open("ab") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self.url = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    def ready(self) -> Service:
        """Wait until jobs are accepted."""
        assert self.process.stdout is not None
        found = re.search(r"https?://\S+", self.process.stdout.readline())
        assert found, f"the service did not start:\n{self.said()[-3000:]}"
        self.url = found[0]
        return self

    def kill(self) -> None:
        """Kill it without notice."""
        self.process.send_signal(signal.SIGKILL)  # does nothing if it has ended
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def said(self) -> str:
        """Return the stderr of this service and of those before it with this log."""
        return self.log.read_text(errors="replace")

    # ---------------------------------------------------------------------------------------------------- ask

    def request(self, method: str, path: str, body: Any = None, timeout: float = 30) -> requests.Response:
        return requests.request(method, self.url + path, json=body, timeout=timeout)

    def get(self, path: str) -> requests.Response:
        return self.request("GET", path)

    def submit(self, body: dict[str, Any]) -> requests.Response:
        return self.request("POST", "/v1/jobs", body)

    def simulated(self, processors: int, walltime: int, **more: Any) -> dict[str, Any]:
        """Submit a simulated job that must be accepted."""
        answer = self.submit(simulated(processors, walltime, **more))
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def jobs(self, ended: int = 10_000) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            answer = self.get(f"/v1/jobs?ended={ended}&after={after}")
            assert answer.status_code == 200, answer.text
            listed += answer.json()["jobs"]
            after = answer.json()["next"]
        return listed

    def job(self, id: int) -> dict[str, Any]:
        return dict(self.get(f"/v1/jobs/{id}").json())

    def frames(self) -> list[tuple[int, int]]:
        """Return (start, free) of the availability list, without the first start, which is the present."""
        frames = [(f["start"], f["free"]) for f in self.get("/v1/availability").json()["frames"]]
        return [(0, frames[0][1]), *frames[1:]]

    def health(self) -> dict[str, Any]:
        return dict(self.get("/healthz").json())

    def until(self, what: Any, seconds: float = 20) -> Any:
        """Return the first true result of a condition."""
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < deadline, f"not in {seconds} s; the log ends {self.said()[-2000:]}"
            time.sleep(0.05)
        return found


def simulated(processors: int, walltime: int, run_time: int | None = None, **more: Any) -> dict[str, Any]:
    """Return the body of a submission of a simulated job."""
    actuator = {"kind": "simulated", "run_time": walltime if run_time is None else run_time}
    return {"processors": processors, "walltime": walltime, "actuator": actuator, **more}


def shell(processors: int, walltime: int, script: str, **more: Any) -> dict[str, Any]:
    """Return the body of a submission of a shell script."""
    return {
        "processors": processors,
        "walltime": walltime,
        "actuator": {"kind": "process", "command": ["sh", "-c", script]},
        **more,
    }


# ------------------------------------------------------------------------------------------------------------ places


class Place:
    """Where a service keeps its state.

    Attributes
    ----------
    inside, state
        The directory as the service sees it, and as the test does.
    prefix
        Put before the command of the service.
    """

    def __init__(self, directory: Path) -> None:
        self.inside = self.state = directory / "state"
        self.prefix: list[str] = []

    def close(self) -> None:
        """Release what it took."""

    @contextlib.contextmanager
    def fault(self, service: Service) -> Iterator[None]:
        """Make the service's writes fail for a while."""
        raise NotImplementedError


class NoWrites(Place):
    """A limit on the size of files, 0 during the fault: the operating system refuses every write of the process."""

    @contextlib.contextmanager
    def fault(self, service: Service) -> Iterator[None]:
        before = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):  # killed meanwhile
                resource.prlimit(service.pid, resource.RLIMIT_FSIZE, before)


class FullDisk(Place):
    """A small file system in a namespace of its own, filled to the last byte during the fault."""

    MEGABYTES = 24

    def __init__(self, directory: Path) -> None:
        mounted = directory / "disk"
        mounted.mkdir()
        script = f'mount -t tmpfs -o size={self.MEGABYTES}m,mode=0700 gas "$1" && echo mounted && exec cat'
        command = ["unshare", "--user", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(mounted)]
        try:
            self._holder = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        except FileNotFoundError:
            pytest.skip("needs unshare (util-linux)")
        assert self._holder.stdout is not None
        if (answer := self._holder.stdout.readline().strip()) != "mounted":
            self._holder.communicate()
            pytest.skip(f"may not mount a file system of its own here: {answer}")
        self.inside = mounted / "state"
        self._outside = Path(f"/proc/{self._holder.pid}/root{mounted.resolve()}")
        self.state = self._outside / "state"
        self.prefix = ["nsenter", "-t", str(self._holder.pid), "--user", "--mount", "--preserve-credentials"]
        self._mounted = mounted

    def close(self) -> None:
        self._holder.communicate()

    @contextlib.contextmanager
    def fault(self, service: Service) -> Iterator[None]:
        filler = self._outside / "filler"
        fill(filler)
        try:
            yield
        finally:
            filler.unlink()

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Mount it read-only for a while; the kernel refuses to while a file is open for writing."""
        self._remount("ro")
        try:
            yield
        finally:
            self._remount("rw")

    def _remount(self, how: str) -> None:
        command = [*self.prefix, "mount", "-o", f"remount,{how}", str(self._mounted)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr


def fill(path: Path) -> None:
    """Write to a file until its file system takes not one byte more."""
    with path.open("wb", buffering=0) as file:
        for size in (2**20, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size) == size:
                    pass


# ----------------------------------------------------------------------------------------------------------- records


class Standing(NamedTuple):
    """The contents of a dead service's store."""

    jobs: dict[int, Job]
    broken: int


def standing(state: Path, copy: Path) -> Standing:
    """Return all jobs and the count of broken promises as the store holds them, read from a copy."""
    copy.mkdir()
    for name in ("s3.sqlite", "s3.sqlite-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(state / name, copy / name)
    store = Store(copy / "s3.sqlite")
    try:
        jobs = [*store.active(), *store.recent(1_000_000)]
        return Standing({job.id: job for job in jobs}, int(store.meta().get("broken", "0")))
    finally:
        store.close()
        shutil.rmtree(copy)


def directory_of(state: Path, id: int) -> Path:
    """Return the directory of a job; a nonexistent one if it has none."""
    return next((state / "jobs").glob(f"{id}.*"), state / "jobs" / str(id))


def ended_record(state: Path, id: int) -> Ended | None:
    """Return the record of the end of a job's process."""
    record = read_state(directory_of(state, id))
    return record if isinstance(record, Ended) else None


def check_records(state: Path, jobs: dict[int, dict[str, Any]], processors: int) -> int:
    """Verify that never more processors were in use than exist; return how many processes ran.

    For processes, the wrappers' own records count: from the start of the command until nothing was left of it. For what
    only the schedule knows (simulated jobs, reservations), and again for processes, whole seconds count.
    """
    real: list[tuple[float, int]] = []
    whole: list[tuple[float, int]] = []
    for id, job in jobs.items():
        if job["start"] is not None and job["finished"] is not None:
            whole += [(job["start"], job["processors"]), (job["finished"], -job["processors"])]
        started = directory_of(state, id) / "started.json"
        if started.exists():
            ended = ended_record(state, id)
            # Of a job whose wrapper was killed while nothing could be written, the store alone knows the end: it was
            # in the second of that name, in which others may have started after it.
            assert ended is not None or job["state"] == "lost", f"job {id} has no record of its end"
            start = json.loads(started.read_text())["start"]
            end = max(start, job["finished"]) if ended is None else ended.end
            real += [(start, job["processors"]), (end, -job["processors"])]
    for changes in (real, whole):
        in_use = 0
        for instant, change in sorted(changes):
            in_use += change
            assert in_use <= processors, f"{in_use} processors in use at {instant}"
    return len(real) // 2


def marked_processes(inside: Path) -> dict[int, list[int]]:
    """Return the pids of the living processes that bear the mark of a job of this state directory, by job."""
    mark = f"{MARK}={inside.resolve()}/jobs/".encode()
    found: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[1-9]*"):
        with contextlib.suppress(OSError):
            for variable in (process / "environ").read_bytes().split(b"\0"):
                if variable.startswith(mark):
                    found.setdefault(int(variable.removeprefix(mark).split(b".")[0]), []).append(int(process.name))
    return found


def running_wrappers(state: Path) -> dict[int, int]:
    """Return the pids of the wrappers that are alive, by job."""
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for directory in (state / "jobs").iterdir():
            claim = claim_of(directory)
            if claim is not None and is_running(*claim):
                found[int(directory.name.partition(".")[0])] = claim[0]
    return found
