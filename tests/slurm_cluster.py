"""A private Slurm in a temporary directory: munged, slurmctld and a slurmd for each virtual node, on the loopback only.

It needs Debian's packages munge, slurmctld, slurmd, slurm-client and slurm-wlm-basic-plugins, for REST slurmrestd and
slurm-wlm-jwt-plugin too, for accounting slurmdbd and mariadb-server-core, and nobody's rights but one's own. All
daemons are children of the test and stay in the foreground, so that none is left over or unreaped.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "sdiag")
SCHEDULING = "bf_interval=1,bf_resolution=60,bf_window=1440,bf_max_job_test=1000,bf_continue"
ACCOUNTING = ("mariadbd", "slurmdbd", "sacct", "sacctmgr")
TABLES = Path("/usr/share/mysql/mysql_system_tables.sql")
PATIENCE = 60
PLUGINS = ("/usr/lib/*/slurm-wlm", "/usr/lib/*/slurm", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm")

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
AccountingStorageType=accounting_storage/{accounting}
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

TOKENS = "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={folder}/jwt.key\n"

STORED = """\
AccountingStorageHost=127.0.0.1
AccountingStoragePort={slurmdbd}
AccountingStoragePass={folder}/munge.socket
"""
# the "password" is what AuthInfo is elsewhere

SLURMDBD = """\
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={slurmdbd}
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageLoc=accounting
"""

MARIADB = (
    "--skip-grant-tables", "--skip-networking", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=8M",
    "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-fast-shutdown=2", "--skip-log-bin",
)  # fmt: skip
"""A small database that is thrown away, and reached through a socket in its folder only, which others may not enter."""


def own_name() -> str:
    """Return the name of who runs this, whatever the environment says."""
    return pwd.getpwuid(os.getuid()).pw_name


def free_ports(count: int) -> int:
    """Return the first of so many ports one after the other on which nobody listens, not the same for everybody."""
    places = list(range(17000, 32000 - count, count))
    random.shuffle(places)
    for first in places:
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
    rest
        With slurmrestd: by tokens (`token`) at `rest_url`, and without at `rest_socket`, where it acts as the user that
        runs it: root's as nobody, whom alone it is let run as, everybody else's as themselves.
    accounting
        With slurmdbd and its database, which know whoever runs this, and nobody; slurmrestd then speaks to it too.
    """

    def __init__(
        self,
        nodes: int = 8,
        cpus: int = 4,
        *lines: str,
        scheduling: str = SCHEDULING,
        rest: bool = False,
        accounting: bool = False,
    ) -> None:
        missing = [program for program in PROGRAMS if find(program) is None]
        if missing:
            pytest.skip(f"no Slurm here: {', '.join(missing)} not found (Debian: munge slurmctld slurmd slurm-client)")
        if rest and find("slurmrestd") is None:
            pytest.skip("no slurmrestd here (Debian: slurmrestd)")
        if rest and not any(next(Path("/").glob(f"{one[1:]}/auth_jwt.so"), None) for one in PLUGINS):
            pytest.skip("Slurm has no tokens here: auth_jwt.so not found (Debian: slurm-wlm-jwt-plugin)")
        missing = [program for program in ACCOUNTING if accounting and find(program) is None]
        if missing or (accounting and not TABLES.exists()):
            missing = missing or [str(TABLES)]
            pytest.skip(f"no accounting here: {', '.join(missing)} not found (Debian: slurmdbd mariadb-server-core)")
        self.rest, self.accounting = rest, accounting
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
        controller = free_ports(len(self.nodes) + 2)
        self._slurmdbd_port = controller + len(self.nodes) + 1
        values = {
            "host": socket.gethostname().split(".")[0], "user": own_name(), "folder": self.folder,
            "controller": controller, "first": controller + 1, "last": controller + len(self.nodes), "cpus": self.cpus,
            "names": ",".join(self.nodes), "scheduling": self.scheduling, "slurmdbd": self._slurmdbd_port,
            "accounting": "slurmdbd" if self.accounting else "none",
        }  # fmt: skip
        configuration = self.folder / "slurm.conf"
        text = CONFIGURATION + (TOKENS if self.rest else "") + (STORED if self.accounting else "")
        configuration.write_text(text.format(**values) + "".join(f"{line}\n" for line in self.lines))
        if self.rest:
            secret = self.folder / "jwt.key"
            secret.touch(0o600)
            secret.write_bytes(os.urandom(32))
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SQUEUE_"))
        }
        self.environment |= {"SLURM_CONF": str(configuration)}
        paths = [
            f"--{option}={self.folder}/munge.{option}" for option in ("socket", "pid-file", "seed-file", "log-file")
        ]
        self._child("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}", *paths)
        self._until((self.folder / "munge.socket").exists, "munged opens its socket")
        if self.accounting:
            self._start_accounting((SLURMDBD + (TOKENS if self.rest else "")).format(**values))
        self._child("slurmctld", "-D")
        self._until(lambda: " is UP" in self.tried("scontrol", "ping"), "slurmctld answers")
        for name in self.nodes:
            self._child("slurmd", "-D", "-N", name)
        self._until(self._all_idle, "nodes are idle")
        if self.rest:
            self._start_rest()

    def _start_accounting(self, configuration: str) -> None:
        """Start a database without users of its own, and slurmdbd on it; have it know the cluster."""
        folder = self.folder / "database"
        folder.mkdir(0o700)
        data = folder / "data"
        data.mkdir()
        options = ["--no-defaults", f"--datadir={data}", *MARIADB, *(["--user=root"] if os.getuid() == 0 else [])]
        with (folder / "tables.sql").open("w+") as tables, (self.folder / "tables.log").open("w") as log:
            tables.write(f"create database mysql;\nuse mysql;\n{TABLES.read_text()}create database accounting;\n")
            tables.seek(0)
            command = [str(find("mariadbd")), *options, "--bootstrap"]
            subprocess.run(command, stdin=tables, stdout=log, stderr=log, check=True, timeout=PATIENCE)
        at = folder / "socket"
        self._child("mariadbd", *options, f"--socket={at}", f"--pid-file={folder}/pid")
        self._until(lambda: answers(socket.AF_UNIX, str(at)), "mariadbd opens its socket")
        (self.folder / "slurmdbd.conf").touch(0o600)
        (self.folder / "slurmdbd.conf").write_text(configuration)
        self._database = {"MYSQL_UNIX_PORT": str(at)}  # its own configuration cannot name a socket
        self.start_slurmdbd()
        self.run("sacctmgr", "-i", "add", "cluster", "private")
        self.run("sacctmgr", "-i", "add", "account", "lab")
        for user in {own_name(), "nobody"} - {"root"}:  # whom it knows by itself
            self.run("sacctmgr", "-i", "add", "user", user, "account=lab")

    def start_slurmdbd(self) -> None:
        """Start slurmdbd, also again."""
        self._child("slurmdbd", "-D", env=self.environment | self._database)
        self._until(lambda: answers(socket.AF_INET, ("127.0.0.1", self._slurmdbd_port)), "slurmdbd opens its port")

    def _start_rest(self) -> None:
        """Start slurmrestd twice; it takes either tokens or its own user's word."""
        folder = self.folder / "rest"
        folder.mkdir()
        as_user: dict[str, Any] = {}
        environment = self.environment
        if os.getuid() == 0:  # it runs neither as root nor, unless it is told, as SlurmUser
            as_user = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        else:
            environment = environment | {"SLURMRESTD_SECURITY": "disable_user_check"}
        command = [str(find("slurmrestd")), "-s", "list"]
        listed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, **as_user)
        # those of slurmdbd end it where there is none, so they are named only where there is one
        wanted = r"(?:db)?v[\d.]+|slurmctld|slurmdbd" if self.accounting else r"v[\d.]+|slurmctld"
        plugins = re.findall(rf"openapi/(?:{wanted})$", listed.stdout + listed.stderr, re.MULTILINE)
        port = free_ports(1)
        self.rest_url, self.rest_socket = f"http://127.0.0.1:{port}", f"{folder}/slurmrestd.socket"
        named = ("-s", ",".join(plugins), "-a")
        where = {"env": environment | {"SLURM_JWT": "daemon"}, **as_user}
        self._child("slurmrestd", *named, "rest_auth/jwt", f"127.0.0.1:{port}", **where)
        self._child("slurmrestd", *named, "rest_auth/local", f"unix:{self.rest_socket}", env=environment, **as_user)
        self._until(lambda: answers(socket.AF_INET, ("127.0.0.1", port)), "slurmrestd opens its port")
        self._until(lambda: answers(socket.AF_UNIX, self.rest_socket), "slurmrestd opens its socket")

    def token(self, seconds: int = 3000) -> str:
        """Return a token of who runs this."""
        said = self.run("scontrol", "token", f"lifespan={seconds}")
        return said.strip().removeprefix("SLURM_JWT=")

    def _all_idle(self) -> bool:
        return set(self.tried("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == set(self.nodes)

    def _child(self, program: str, *arguments: str, **options: Any) -> None:
        command = [str(find(program)), *arguments]
        log = self.folder / f"{program}.log"
        with log.open("ab") as output:
            options = {"env": self.environment, **options}
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options)
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


def answers(family: int, address: Any) -> bool:
    """Return whether somebody listens at an address."""
    with socket.socket(family) as tried:
        return tried.connect_ex(address) == 0


def find(program: str) -> str | None:
    """Return the path of a program, which may be where ordinary users do not look."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
