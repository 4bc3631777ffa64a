"""A private Slurm in a temporary directory: munged, slurmctld and a slurmd for each virtual node, on the loopback only.

It needs Debian's packages munge, slurmctld, slurmd, slurm-client and slurm-wlm-basic-plugins, and nobody's rights but
one's own. All daemons are children of the test and stay in the foreground, so that none is left over or unreaped.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "sdiag")
SCHEDULING = "bf_interval=1,bf_resolution=60,bf_window=1440,bf_max_job_test=1000,bf_continue"
PATIENCE = 60

CONFIGURATION = """\
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
SlurmdPort={first}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=300
KillWait=2
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters={scheduling}
NodeName={names} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES OverSubscribe=NO DefaultTime=60 MaxTime=1440 State=UP
"""
# config_overrides: as many CPUs as are configured, whatever the machine has


def own_name() -> str:
    """Return the name of who runs this, whatever the environment says."""
    return pwd.getpwuid(os.getuid()).pw_name


def free_ports(count: int) -> int:
    """Return the first of so many ports one after the other on which nobody listens."""
    for first in range(17000, 32000, count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    taken = stack.enter_context(socket.socket())
                    taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise RuntimeError(f"no {count} free ports one after the other")


class SlurmCluster:
    """The cluster, up while its context lasts.

    Parameters
    ----------
    nodes, cpus
        How many nodes of how many CPUs.
    lines
        More lines of slurm.conf.
    """

    def __init__(self, nodes: int = 8, cpus: int = 4, *lines: str, scheduling: str = SCHEDULING) -> None:
        missing = [program for program in PROGRAMS if find(program) is None]
        if missing:
            pytest.skip(f"no Slurm here: {', '.join(missing)} not found (Debian: munge slurmctld slurmd slurm-client)")
        self.nodes = [f"n{n:02}" for n in range(1, nodes + 1)]
        self.cpus, self.lines, self.scheduling = cpus, lines, scheduling
        self.children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> SlurmCluster:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # short: paths of sockets end at 107 characters
        self.folder.chmod(0o755)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        controller = free_ports(len(self.nodes) + 1)
        values = {
            "host": socket.gethostname().split(".")[0], "user": own_name(), "folder": self.folder,
            "controller": controller, "first": controller + 1, "last": controller + len(self.nodes), "cpus": self.cpus,
            "names": ",".join(self.nodes), "scheduling": self.scheduling,
        }  # fmt: skip
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(**values) + "".join(f"{line}\n" for line in self.lines))
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SQUEUE_"))
        }
        self.environment |= {"SLURM_CONF": str(configuration)}
        paths = [
            f"--{option}={self.folder}/munge.{option}" for option in ("socket", "pid-file", "seed-file", "log-file")
        ]
        self._child("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}", *paths)
        self._until((self.folder / "munge.socket").exists, "munged opens its socket")
        self._child("slurmctld", "-D")
        self._until(lambda: " is UP" in self.tried("scontrol", "ping"), "slurmctld answers")
        for name in self.nodes:
            self._child("slurmd", "-D", "-N", name)
        self._until(self._all_idle, "nodes are idle")

    def _all_idle(self) -> bool:
        return set(self.tried("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == set(self.nodes)

    def _child(self, program: str, *arguments: str) -> None:
        command = [str(find(program)), *arguments]
        log = self.folder / f"{program}.log"
        with log.open("ab") as output:
            child = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.children.append(child)

    def _until(self, happens: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happens():
            ended = [child.args[0] for child in self.children if child.poll() is not None]  # type: ignore[index]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(path.read_text(errors="replace")[-1500:] for path in self.folder.glob("*.log"))
                raise AssertionError(f"waiting until {what}: {ended or 'nothing'} ended\n{logs}")
            time.sleep(0.05)

    def tried(self, *command: str) -> str:
        """Return what a command says, also one that fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        return done.stdout

    def run(self, *command: str, **environment: str) -> str:
        """Return what a command says that must succeed."""
        where = self.environment | environment
        done = subprocess.run(command, env=where, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def submit(self, *arguments: str, seconds: int = 3000) -> int:
        """Submit a job that sleeps, with the options given; return its id."""
        output = ("-o", "/dev/null", "-D", "/")
        return int(self.run("sbatch", "--parsable", *output, *arguments, f"--wrap=sleep {seconds}").split(";")[0])

    def planned_start(self, job: int) -> int | None:
        """Wait until a job has a planned or real start, and return it; None if it gets none in some seconds.

        slurmctld compares whole seconds to see whether there is something new to plan, and overlooks a job that was
        submitted in the second of its last cycle; so the job is changed now and then.
        """
        begun = time.monotonic()
        changes = 0
        while time.monotonic() < begun + 8:
            if time.monotonic() > begun + 1.5 * (changes + 1):
                changes += 1
                self.tried("scontrol", "update", f"jobid={job}", f"comment=asked {changes} times")
            start = self.run("squeue", "-h", "-j", str(job), "-o", "%S", SLURM_TIME_FORMAT="%s").strip()
            if start.isdecimal():
                return int(start)
            time.sleep(0.1)
        return None

    def probe(self, processors: int, minutes: int) -> int | None:
        """Return the start that Slurm plans for a job of this shape, which is cancelled then."""
        job = self.submit("-n", str(processors), "-t", str(minutes))
        try:
            return self.planned_start(job)
        finally:
            self.run("scancel", str(job))

    def __exit__(self, *_: object) -> None:
        if len(self.children) > 1:
            self.tried("scancel", f"--user={own_name()}")
            deadline = time.monotonic() + 10
            while list(self._steps()) and time.monotonic() < deadline:
                time.sleep(0.1)
        for child in reversed(self.children):
            child.terminate()
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for pid in self._steps():  # of a job that did not end with its cancellation
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _steps(self) -> Iterator[int]:
        """Return the processes that run steps of this cluster's jobs, by the configuration in their environment."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdecimal() or not (entry / "comm").read_text().startswith("slurmstepd"):
                    continue
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def find(program: str) -> str | None:
    """Return the path of a program, which may be where ordinary users do not look."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
