"""A live S³ whose requests are recorded, and Gas installed from its wheel."""

import http.client
import json
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from made_once import made_once
from service_process import Place, Service

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def interruptions_end_no_process() -> Iterator[None]:
    """Undo an effect of importing dask-jobqueue: later interruptions of this process would raise `SystemExit`."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


class Recorder:
    """Stands between clients and S³: notes every request, and loses answers on demand.

    Attributes
    ----------
    requests
        (method, path) in the order of their arrival.
    lose
        How many more answers to submissions are lost after S³ has acted on them.
    away
        Whether nobody answers.
    """

    def __init__(self, target: str) -> None:
        self.requests: list[tuple[str, str]] = []
        self.lose = 0
        self.away = False
        recorder, where = self, urlsplit(target)

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.close_connection = True
                if recorder.away:
                    return
                recorder.requests.append((self.command, self.path))
                headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
                connection.close()
                if self.command == "POST" and recorder.lose:
                    recorder.lose -= 1
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = forward

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def count(self, method: str, path: str) -> int:
        return self.requests.count((method, path))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """`gas serve` with 8 processors, a process of its own; its jobs end with the test."""
    running = Service(Place(tmp_path), log=tmp_path / "service.log", processors=8).ready()
    yield running
    for job in running.jobs(0):
        running.request("DELETE", f"/v1/jobs/{job['id']}")
    running.kill()


@pytest.fixture
def recorder(service: Service) -> Iterator[Recorder]:
    """The address that clients take for the service."""
    between = Recorder(service.url)
    thread = threading.Thread(target=between.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield between
    between.server.shutdown()
    between.server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' directory of a new environment with the wheel installed, made once for all workers.

    Its dependencies and the workflow managers are those of the environment that runs the tests.
    """
    pytest.importorskip("hatchling", reason="builds the wheel; it is in the extra `test`")

    def make(folder: Path) -> None:
        environment = folder / "environment"
        python = environment / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
        quietly([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheel")])
        quietly([sys.executable, "-m", "venv", "--without-pip", str(environment)])
        (found,) = (folder / "wheel").glob("*.whl")
        # Most modules are never imported there; imported ones are compiled then.
        quietly([*pip, "--python", str(python), "install", "--no-deps", "--no-compile", str(found)])
        (site,) = environment.glob("lib/python*/site-packages")
        (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")

    return made_once(tmp_path_factory, "from-wheel", make) / "environment" / "bin"


def quietly(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    """The environment of a workflow's user: from the tests' own, only the search path of programs."""
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "XDG_CACHE_HOME": str(home / "cache")}


def ended(service: Service) -> dict[str, dict[str, Any]]:
    """Return the ended jobs of the service, by name."""
    return {job["name"]: job for job in service.jobs(100)}


def lines_of_json(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.startswith(("[", "{"))]
