"""A Dask scheduler and workers, each a process; their usage, and the bytes between scheduler and client.

Cluster     the processes and the address
counted     a proxy in front of the scheduler that counts what passes through
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

__all__ = ["Cluster", "counted", "dask_cluster"]


class Cluster:
    """A scheduler, and workers with a nanny each, which restarts a worker that has died."""

    def __init__(self, address: str, processes: list[subprocess.Popen[bytes]]) -> None:
        self.address = address
        self.processes = processes

    @property
    def scheduler(self) -> int:
        """The process of the scheduler."""
        return self.processes[0].pid

    @property
    def workers(self) -> list[int]:
        """The computing processes, without their nannies; if setproctitle is installed, Dask names them."""
        below = [pid for nannies in self.processes[1:] for pid in _below(nannies.pid)]
        return [pid for pid in below if any(name in _command(pid) for name in ("spawn_main", "dask worker ["))]


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Run a cluster with workers of one thread each while the block runs."""
    described = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(described), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "start_new_session": True}
    children = [subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common], **quiet)]
    try:
        while not (described.exists() and described.read_text().strip()):
            assert children[0].poll() is None
            time.sleep(0.05)
        many = [*dask, "worker", "--nworkers", str(workers), "--nthreads", "1", *common]
        children.append(subprocess.Popen(many, **quiet))
        cluster = Cluster(json.loads(described.read_text())["address"], children)
        deadline = time.monotonic() + 60
        while len(cluster.workers) < workers:
            assert children[1].poll() is None
            assert time.monotonic() < deadline, "no workers"
            time.sleep(0.05)
        yield cluster
    finally:
        for child in children[::-1]:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _below(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    found: list[int] = []
    threads = []
    with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    for thread in threads:
        with suppress(FileNotFoundError, ProcessLookupError):  # and so may each of its threads
            children = [int(one) for one in (thread / "children").read_text().split()]
            found += [*children, *(one for child in children for one in _below(child))]
    return found


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@contextmanager
def counted(address: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Forward data to and from an address; yield the address to use instead, and the bytes "up" and "down"."""
    host, port = address.removeprefix("tcp://").rsplit(":", 1)
    passed = {"up": 0, "down": 0}

    def pass_on(one: socket.socket, other: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                passed[way] += len(data)
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def connect(near: socket.socket) -> None:
        with closing(near), closing(socket.create_connection((host, int(port)))) as far:
            back = threading.Thread(target=pass_on, args=(far, near, "down"))
            back.start()
            pass_on(near, far, "up")
            back.join()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connections.append(threading.Thread(target=connect, args=(listener.accept()[0],)))
                connections[-1].start()

    connections: list[threading.Thread] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listening = threading.Thread(target=accept)
        listening.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}", passed
        listener.shutdown(socket.SHUT_RDWR)
        listening.join()
    for one in connections:
        one.join()
