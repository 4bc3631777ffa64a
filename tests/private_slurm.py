"""A private Slurm of one release in a temporary directory: all of its daemons, on the loopback, with virtual nodes.

The installed one needs Debian's packages munge, slurmctld, slurmd, slurm-client and slurm-wlm-basic-plugins, for REST
slurmrestd and slurm-wlm-jwt-plugin too, for accounting slurmdbd and mariadb-server-core; others come from
`slurm_trees`. It needs no rights but one's own; as root, jobs of several users can be submitted. All daemons are
children of the test, stay in the foreground and end with it, also when it is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from slurm_trees import NoTree, library_of, tree_of

INSTALLED = "installed"
RELEASES = (INSTALLED, "24.11", "26.05")
"""The one that is installed here (22.05 on Debian 12), and those that `slurm_trees` makes."""

USERS = ("games", "news", "uucp", "lp", "list", "irc")
"""Ordinary users: Debian has these everywhere, and Slurm gives them no rights."""

CLIENTS = (
    "sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio", "squeue", "srun", "sshare",
)  # fmt: skip
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo", "sdiag")
ACCOUNTING = ("mariadbd", "slurmdbd", "sacct", "sacctmgr")
TABLES = ("share/mariadb/mariadb_system_tables.sql", "share/mysql/mysql_system_tables.sql")
PLUGINS = ("/usr/lib/*/slurm-wlm", "/usr/lib/*/slurm", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm")
SCHEDULING = "bf_interval=1,bf_resolution=60,bf_window=1440,bf_max_job_test=1000,bf_continue"
PARTITION = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=NO DefaultTime=60 MaxTime=1440 State=UP"
PATIENCE = 60
ATTEMPTS = 3
"""Ports that were free may be taken by another cluster that starts at the same time."""

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
SelectType=select/cons_tres
SchedulerType=sched/backfill
SchedulerParameters={scheduling}
"""
# config_overrides: as many CPUs as are configured, whatever the machine has

DEFAULTS = {"PriorityType": "priority/basic", "SelectTypeParameters": "CR_CPU"}
"""What holds unless a line says otherwise."""

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
    "--skip-grant-tables", "--skip-networking", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M",
    "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-fast-shutdown=2", "--skip-log-bin",
)  # fmt: skip
"""A small database that is thrown away, and reached through a socket in its folder only, which others may not enter."""


def own_name() -> str:
    """Return the name of who runs this, whatever the environment says."""
    return pwd.getpwuid(os.getuid()).pw_name


def free_ports(count: int) -> int:
    """Return the first of so many ports one after the other on which nobody listens, not the same for everybody."""
    places = list(range(17000, 32000 - count, count))
    random.SystemRandom().shuffle(places)
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


@dataclass(frozen=True)
class Nodes:
    """Nodes that are alike.

    Attributes
    ----------
    memory
        MB.
    gpus
        How many of each type; without a type under the empty name.
    cores
        The cores that go with GPUs, from the first on in equal parts: ``("0-1", "2-3")``; empty for all.
    more
        Further words of their line in slurm.conf: ``Weight=5``, ``CoresPerSocket=4 ThreadsPerCore=2``.
    """

    count: int
    cpus: int = 4
    memory: int = 1000
    features: tuple[str, ...] = ()
    gpus: tuple[tuple[str, int], ...] = ()
    more: str = ""
    cores: tuple[str, ...] = ()

    def words(self) -> str:
        """Return what slurm.conf says of them."""
        features = f" Feature={','.join(self.features)}" if self.features else ""
        gres = ",".join(f"gpu:{kind}:{count}" if kind else f"gpu:{count}" for kind, count in self.gpus)
        return f"CPUs={self.cpus} RealMemory={self.memory}{features}{f' Gres={gres}' if gres else ''} {self.more}"


@dataclass(frozen=True)
class Plan:
    """What Slurm says of a job: when it starts or is planned to, in epoch seconds, or that it has no plan, and why."""

    start: int | None
    state: str = ""
    reason: str = ""
    priority: int = 0
    nodes: str = ""


class PrivateSlurm:
    """The cluster, up while its context lasts.

    Parameters
    ----------
    nodes, cpus
        How many nodes of how many CPUs; or groups of them.
    lines
        More lines of slurm.conf, also such as replace `DEFAULTS`; the first that names a partition replaces main.
    release
        One of `RELEASES`.
    rest
        With slurmrestd: by tokens (`token`) at `rest_url`, and without at `rest_socket`, where it acts as the user that
        runs it: root's as nobody, whom alone it is let run as, everybody else's as themselves.
    accounting
        With slurmdbd and its database, which know whoever runs this, and nobody; slurmrestd then speaks to it too.
    accounts
        Commands of sacctmgr, one a line, which make the accounts, users and QOS instead (with accounting).
    topology
        What stands in topology.conf: the switches, where a line names a TopologyPlugin.
    """

    def __init__(
        self,
        nodes: int | Sequence[Nodes] = 8,
        cpus: int = 4,
        *lines: str,
        release: str = INSTALLED,
        scheduling: str = SCHEDULING,
        rest: bool = False,
        accounting: bool = False,
        accounts: str = "",
        topology: str = "",
    ) -> None:
        self.release = release
        self.tree: Path | None = None
        if release != INSTALLED:
            try:
                self.tree = tree_of(release)
            except NoTree as problem:
                pytest.skip(str(problem))
        else:
            _skip_unless_installed(rest, accounting)
        self.rest, self.accounting, self.accounts, self.topology = rest, accounting, accounts, topology
        self.groups = (Nodes(nodes, cpus),) if isinstance(nodes, int) else tuple(nodes)
        self.nodes = [f"n{n:02}" for n in range(1, sum(group.count for group in self.groups) + 1)]
        self.lines, self.scheduling = lines, scheduling
        self.children: list[subprocess.Popen[bytes]] = []
        self._programs: dict[str, Path] = {}

    def __enter__(self) -> PrivateSlurm:
        for attempt in range(ATTEMPTS):
            self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # short: paths of sockets end at 107 characters
            self.folder.chmod(0o755)
            try:
                self._start()
                break
            except BaseException as problem:
                self.__exit__()
                if not isinstance(problem, AssertionError) or attempt + 1 == ATTEMPTS:
                    raise
        return self

    # ------------------------------------------------------------------------------------------- configuration

    def _configuration(self, values: dict[str, Any]) -> str:
        given = {line.partition("=")[0] for line in self.lines}
        if "SelectType=select/linear" in self.lines:  # which knows no CPUs
            given.add("SelectTypeParameters")
        text = CONFIGURATION + (TOKENS if self.rest else "") + (STORED if self.accounting else "")
        lines = [text.format(**values).rstrip()]
        lines += [f"{key}={value}" for key, value in DEFAULTS.items() if key not in given]
        if self.tree is not None:
            lines.append(f"PluginDir={library_of(self.tree)}/slurm-wlm")
        if any(group.gpus for group in self.groups) and "GresTypes" not in given:
            lines.append("GresTypes=gpu")
        lines += [line for line in self.lines if not line.startswith("PartitionName=")]
        first, where = 1, f"NodeHostname={values['host']} NodeAddr=127.0.0.1"
        for group in self.groups:
            last, ports = first + group.count - 1, values["controller"]
            at = f"Port=[{ports + first}-{ports + last}]" if last > first else f"Port={ports + first}"
            lines.append(f"NodeName={names_of(first, last)} {where} {at} {group.words()} State=UNKNOWN")
            first = last + 1
        partitions = [line for line in self.lines if line.startswith("PartitionName=")]
        if not any("Default=YES" in line for line in partitions):
            partitions.insert(0, PARTITION)
        return "\n".join([*lines, *partitions, ""])

    def _fake_gpus(self) -> str:
        """Return a gres.conf in which files are the devices; without any, Slurm counts none."""
        lines, first = [], 1
        for group in self.groups:
            begin = 0
            for kind, count in group.gpus:
                for number in range(begin, begin + count):
                    (self.folder / f"gpu{number}").touch()
                kept = f" Type={kind}" if kind else ""
                words = f"NodeName={names_of(first, first + group.count - 1)} Name=gpu{kept}"
                parts = group.cores or ("",)
                for part, cores in enumerate(parts):
                    least, beyond = count * part // len(parts), count * (part + 1) // len(parts)
                    files = f"{self.folder}/gpu[{begin + least}-{begin + beyond - 1}]"
                    lines.append(f"{words} File={files}{f' Cores={cores}' if cores else ''}\n")
                begin += count
            first += group.count
        return "".join(lines)

    # ------------------------------------------------------------------------------------------------ starting

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
            "controller": controller, "first": controller + 1, "scheduling": self.scheduling,
            "slurmdbd": self._slurmdbd_port, "accounting": "slurmdbd" if self.accounting else "none",
        }  # fmt: skip
        configuration = self.folder / "slurm.conf"
        configuration.write_text(self._configuration(values))
        if self.topology:
            (self.folder / "topology.conf").write_text(self.topology)
        if gpus := self._fake_gpus():
            (self.folder / "gres.conf").write_text(gpus)
        if self.tree is not None:
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")  # unknown before 23.11
        if self.rest:
            secret = self.folder / "jwt.key"
            secret.touch(0o600)
            secret.write_bytes(os.urandom(32))
        kept = ("SLURM_", "SQUEUE_", "SBATCH_", "SCONTROL_", "SACCT_", "SINFO_")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(kept)}
        self.environment |= {"SLURM_CONF": str(configuration)}
        if self.tree is not None:
            self.environment["PATH"] = f"{self.tree}/bin:{os.environ.get('PATH', os.defpath)}"
        paths = [
            f"--{option}={self.folder}/munge.{option}" for option in ("socket", "pid-file", "seed-file", "log-file")
        ]
        self._child("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}", *paths)
        self._until((self.folder / "munge.socket").exists, "munged opens its socket")
        if self.accounting:
            plugins = "" if self.tree is None else f"PluginDir={library_of(self.tree)}/slurm-wlm\n"
            self._start_accounting((SLURMDBD + plugins + (TOKENS if self.rest else "")).format(**values))
        self.start_slurmctld()
        stepd = [] if self.tree is None else ["-d", f"{self.tree}/bin/slurmstepd"]
        for name in self.nodes:
            self._child("slurmd", "-D", "-N", name, *stepd)
        self._until(self._all_idle, "nodes are idle")
        if self.rest:
            self._start_rest()

    def start_slurmctld(self) -> None:
        """Start slurmctld, also again."""
        self._child("slurmctld", "-D")
        self._until(lambda: " is UP" in self.tried("scontrol", "ping"), "slurmctld answers")

    def _start_accounting(self, configuration: str) -> None:
        """Start a database without users of its own, and slurmdbd on it; have it know the cluster."""
        folder = self.folder / "database"
        folder.mkdir(0o700)
        data = folder / "data"
        data.mkdir()
        usr = Path("/usr") if self.tree is None else self.tree / "usr"
        (system, *_) = [usr / name for name in TABLES if (usr / name).exists()]
        options = ["--no-defaults", f"--datadir={data}", f"--lc-messages-dir={system.parent}", *MARIADB]
        options += ["--user=root"] if os.getuid() == 0 else []
        tables = f"create database mysql;\nuse mysql;\n{system.read_text()}create database accounting;\n"
        command = [self._path("mariadbd"), *options, "--bootstrap"]
        for tries_left in (1, 0):  # on a crowded machine the database sometimes ends while it makes its files
            made = subprocess.run(
                command, input=tables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
            )
            if made.returncode == 0:
                break
            assert tries_left, f"mariadbd cannot make its tables:\n{made.stdout[-2000:]}"
            shutil.rmtree(data)
            data.mkdir()
        at = folder / "socket"
        self._child("mariadbd", *options, f"--socket={at}", f"--pid-file={folder}/pid")
        self._until(lambda: answers(socket.AF_UNIX, str(at)), "mariadbd opens its socket")
        (self.folder / "slurmdbd.conf").touch(0o600)
        (self.folder / "slurmdbd.conf").write_text(configuration)
        self._database = {"MYSQL_UNIX_PORT": str(at)}  # its own configuration cannot name a socket
        self.start_slurmdbd()
        self.run("sacctmgr", "-i", "add", "cluster", "private")
        if self.accounts:
            for line in self.accounts.strip().splitlines():
                self.run("sacctmgr", "-i", *line.split())
            return
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
        command = [self._path("slurmrestd"), "-s", "list"]
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

    def _all_idle(self) -> bool:
        return set(self.tried("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == set(self.nodes)

    def _path(self, program: str) -> str:
        return f"{self.tree}/bin/{program}" if self.tree is not None else str(find(program))

    def _child(self, program: str, *arguments: str, **options: Any) -> None:
        command = [self._path(program), *arguments]
        log = self.folder / f"{program}.log"
        with log.open("ab") as output:
            options = {"env": self.environment, "preexec_fn": _end_with_parent, **options}
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

    # ------------------------------------------------------------------------------------------------- talking

    @property
    def version(self) -> str:
        """The version in full, 24.11.5 say."""
        return self.run("squeue", "-V").split()[-1]

    def programs(self, user: str | None = None) -> Path:
        """Return a folder of Slurm's commands for who runs this, or that are run as another user."""
        key = user or ""
        if key not in self._programs:
            folder = self.folder / f"bin-{key}"
            folder.mkdir()
            become = "" if user in (None, own_name()) else f"setpriv --reuid={user} --regid={user} --clear-groups "
            for name in CLIENTS:
                lines = f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {become}{self._path(name)} "$@"\n'
                (folder / name).write_text(lines)
                (folder / name).chmod(0o755)
            self._programs[key] = folder
        return self._programs[key]

    def _done(
        self, command: Sequence[str], user: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        program = self._path(command[0]) if command[0] in CLIENTS else command[0]
        who: dict[str, Any] = {}
        if user not in (None, own_name()):
            who = {"user": user, "group": pwd.getpwnam(str(user)).pw_gid, "extra_groups": []}
        where = self.environment | environment
        return subprocess.run(
            [program, *command[1:]], env=where, capture_output=True, text=True, timeout=PATIENCE, **who
        )

    def tried(self, *command: str, user: str | None = None) -> str:
        """Return what a command says, also one that fails."""
        return self._done(command, user).stdout

    def run(self, *command: str, user: str | None = None, **environment: str) -> str:
        """Return what a command says that must succeed."""
        done = self._done(command, user, **environment)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def token(self, seconds: int = 3000, user: str | None = None) -> str:
        """Return a token of who runs this, or of another user."""
        words = [] if user is None else [f"username={user}"]
        said = self.run("scontrol", "token", f"lifespan={seconds}", *words)
        return said.strip().removeprefix("SLURM_JWT=")

    # --------------------------------------------------------------------------------------------------- jobs

    def submit(self, *arguments: str, seconds: int = 3000, user: str | None = None) -> int:
        """Submit a job that sleeps, with the options given; return its id."""
        output = ("-o", "/dev/null", "-D", "/")
        words = ("sbatch", "--parsable", *output, *arguments, f"--wrap=sleep {seconds}")
        return int(self.run(*words, user=user).split(";")[0])

    def last_cycle(self) -> int:
        """Return when the backfill scheduler last began to plan."""
        found = re.search(r"Last cycle when: .*\((\d+)\)", self.run("sdiag").partition("Backfilling")[2])
        return int(found[1]) if found else 0

    def nudge(self, job: int) -> None:
        """Change a job a little, so that Slurm plans.

        slurmctld compares whole seconds to see whether there is something new to plan, and overlooks a job that was
        submitted in the second of its last cycle.
        """
        self.tried("scontrol", "update", f"jobid={job}", f"comment={time.time()}")

    def settle(self, job: int, patience: float = 10, cycles: int = 2) -> None:
        """Wait until Slurm has planned what was submitted: two cycles after the queue has been changed."""
        for _ in range(cycles):
            begun = time.time()
            nudged = 0.0
            while time.time() < begun + patience and self.last_cycle() <= begun:
                if not self.run("squeue", "-h", "-t", "pending,configuring", "-o", "%A"):
                    break  # there is nothing to plan
                if time.time() > nudged + 1.1:
                    nudged = time.time()
                    self.nudge(job)
                time.sleep(0.1)

    def plan_of(self, job: int, patience: float = 15) -> Plan:
        """Return the plan that a job is given within two cycles, of which it may be too late for the first."""
        begun = nudged = time.time()
        cycles: set[int] = set()
        while True:  # a cycle is known by its begin: when the second one has begun, the first is over
            over = len(cycles) > 1 or time.time() > begun + patience
            plan = self._shown_plan(job)
            if plan.start is not None or over:
                return plan
            cycle = self.last_cycle()
            if cycle > begun:
                cycles.add(cycle)
            if time.time() > nudged + 1.1:
                nudged = time.time()
                self.nudge(job)
            time.sleep(0.1)

    def limit_of(self, job: int, patience: float = 1.5) -> str:
        """Return what keeps a job from starting: a limit of an account or a QOS, or that its account is not admitted.

        Empty if Slurm names none. The backfill scheduler plans also such jobs, if the limit is on resources; only the
        main scheduler gives the reason, between other reasons.
        """
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            reason = self._shown_plan(job).reason
            if reason.startswith(("Assoc", "QOS", "Max", "PartitionConfig", "Job's account not permitted")):
                return reason
            time.sleep(0.1)
        return ""

    def _shown_plan(self, job: int) -> Plan:
        told = self.run("squeue", "-h", "-j", str(job), "-o", "%S|%T|%r|%Q|%Y", SLURM_TIME_FORMAT="%s").splitlines()
        start, state, reason, priority, nodes = told[-1].split("|") if told else ("", "", "", "0", "")
        known = int(start) if start.isdecimal() and start != "0" else None
        return Plan(known, state, reason, int(priority), nodes)

    def cancel(self, job: int) -> None:
        """Cancel a job and wait until it has gone."""
        self.tried("scancel", str(job))
        deadline = time.monotonic() + 20
        while self.tried("squeue", "-h", "-j", str(job), "-o", "%T").strip() and time.monotonic() < deadline:
            time.sleep(0.05)

    def planned_start(self, job: int) -> int | None:
        """Wait until a job has a planned or real start, and return it; None if it gets none in some seconds."""
        begun = time.monotonic()
        changes = 0
        while time.monotonic() < begun + 8:
            if time.monotonic() > begun + 1.5 * (changes + 1):
                changes += 1
                self.nudge(job)
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

    # ------------------------------------------------------------------------------------------------- ending

    def __exit__(self, *_: object) -> None:
        steps = self._steps()
        for child in reversed(self.children):  # nothing is worth a clean end; slurmd would wait a minute for another
            child.kill()
        for child in reversed(self.children):
            child.wait()
        for pid in steps | self._steps():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.children, self._programs = [], {}

    def _steps(self) -> set[int]:
        """Return the processes that run this cluster's jobs, and what these have started.

        They outlive slurmd. From 23.x on the environment of slurmstepd is empty, so that it is known by its socket in
        the spool folder.
        """
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        with Path("/proc/net/unix").open() as table:
            rows = [line.split() for line in table]
        own = {f"socket:[{row[6]}]" for row in rows if len(row) > 7 and row[7].startswith(f"{self.folder}/spool/")}
        parents: dict[int, int] = {}
        steps: set[int] = set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdecimal():
                    continue
                stat = (entry / "stat").read_text()
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
                if not stat.partition("(")[2].startswith("slurmstepd"):
                    continue
                sockets = {str(one.readlink()) for one in (entry / "fd").iterdir()} & own
                if sockets or mark in (entry / "environ").read_bytes().split(b"\0"):
                    steps.add(int(entry.name))
        found: set[int] = set()
        new = steps
        while new:
            found |= new
            new = {pid for pid, parent in parents.items() if parent in new} - found
        return found


def names_of(first: int, last: int) -> str:
    """Return the names of nodes as Slurm abbreviates them."""
    return f"n[{first:02}-{last:02}]" if last > first else f"n{first:02}"


def answers(family: int, address: Any) -> bool:
    """Return whether somebody listens at an address."""
    with socket.socket(family) as tried:
        return tried.connect_ex(address) == 0


def find(program: str) -> str | None:
    """Return the path of a program, which may be where ordinary users do not look."""
    return shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def _skip_unless_installed(rest: bool, accounting: bool) -> None:
    missing = [program for program in NEEDED if find(program) is None]
    if missing:
        pytest.skip(f"no Slurm here: {', '.join(missing)} not found (Debian: munge slurmctld slurmd slurm-client)")
    if rest and find("slurmrestd") is None:
        pytest.skip("no slurmrestd here (Debian: slurmrestd)")
    if rest and not any(next(Path("/").glob(f"{one[1:]}/auth_jwt.so"), None) for one in PLUGINS):
        pytest.skip("Slurm has no tokens here: auth_jwt.so not found (Debian: slurm-wlm-jwt-plugin)")
    missing = [program for program in ACCOUNTING if accounting and find(program) is None]
    if missing or (accounting and not any((Path("/usr") / name).exists() for name in TABLES)):
        missing = missing or ["the tables of MariaDB"]
        pytest.skip(f"no accounting here: {', '.join(missing)} not found (Debian: slurmdbd mariadb-server-core)")


_LIBRARY = ctypes.CDLL(None)


def _end_with_parent() -> None:
    """Have the kernel end a daemon with its parent (prctl(2), PR_SET_PDEATHSIG)."""
    _LIBRARY.prctl(1, signal.SIGKILL)
