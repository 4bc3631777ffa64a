"""Fixtures shared by all tests: a real S³ on a real socket, the command line, and the folder of real logs."""

import gc
import json
import logging
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"  # an installed plug-in imports trio in each process, and is not needed

import ahead
import budget
import bytecode
import folded
import installed
import layers
import prompt
import pytest
import reports
import requests
import thorough
import typer.main
import warm
from hypothesis import HealthCheck, settings

# No deadline and no check for slow generation: times are meaningless on a busy machine.
settings.register_profile(
    "no deadline",
    settings(),
    max_examples=thorough.USUAL,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("no deadline")

# What tests import and start is compiled to bytecode once, also where the machine's settings say otherwise: without,
# each of a hundred programs compiles all of Gas, and each worker rewrites the asserts of all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

warm.install()
installed.read_once()

# Folders of tests are in memory where there is room: each of some ten thousand writes would wait for the disk.
MEMORY, ROOM = "/dev/shm", 2 << 30
if Path(MEMORY).is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

# Objects of imports and collection stay until the end: the collector runs after that, and skips them.
gc.disable()

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in background jobs

LU = """
name = "lu.C"
[speedup]
model = "nas"
benchmark = "LU"
class = "C"
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--budget", metavar="FILE", help="write what each test took, as CSV")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("tx", None) and not hasattr(config, "workerinput"):  # it starts workers
        bytecode.write(list(bytecode.stale()))
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS:  # all tests
            config.pluginmanager.register(ahead.Ahead(*ahead.CORE))
        warm.prepare_workers([f"--rootdir={config.rootpath}", f"--config-file={config.inipath}", *config.args])
    config.pluginmanager.register(budget.Budget(config.getoption("budget")))
    config.pluginmanager.register(thorough.Thorough())
    config.pluginmanager.register(folded.Folded())
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(reports.Once())
    asked_for = set(re.findall(r"\w+", config.option.markexpr))
    if asked_for & {"pure", "process"}:
        config.pluginmanager.register(layers.Layers(strict="pure" in asked_for))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(1000, 10, 200)  # scanning the objects of modules again and again finds nothing
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished() -> None:
    warm.workers_are_started()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Use up to twice as many workers as cores, if few: tests wait half of the time for services or clocks."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0))
    return cores + min(cores, 6)


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real logs, named by GAS_TRACES."""
    folder = os.environ.get("GAS_TRACES", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real logs: GAS_TRACES names no folder")
    return Path(folder)


_numbers = count()


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests neither read nor write the configuration or state of their user, and logging ends with each test."""
    _settle_in(tmp_path_factory.getbasetemp() / f"surroundings-{next(_numbers)}", monkeypatch)  # made when written to
    prompt.install()
    monkeypatch.delenv("GAS_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    yield
    for handler in [one for one in logging.root.handlers if type(one).__module__ == "gas.service.logs"]:
        logging.root.removeHandler(handler)  # of `gas serve`, run in this process
    signal.signal(signal.SIGINT, signal.default_int_handler)  # dask_jobqueue sets its own when it is imported


@pytest.fixture(autouse=True)
def no_compiler_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process compiles in the background for half a minute: answers would depend on its end.

    It does where everything is tested.
    """
    if not thorough.ALL:
        monkeypatch.setattr("gas.agent.compiling.compile_beside", lambda kernel, *statements: True)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder of the test; pytest's own also links each as the current one, which takes longer than most tests."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.mktemp(f"{name}-{next(_numbers)}", numbered=False)
    _settle_in(folder, monkeypatch)
    return folder


def _settle_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))


@pytest.fixture
def lu(tmp_path: Path) -> str:
    """The application file of LU class C."""
    path = tmp_path / "lu.toml"
    path.write_text(LU)
    return str(path)


class Client:
    """A real S³ for one test, over HTTP."""

    def __init__(self, embedded: Any) -> None:
        self.embedded = embedded
        self.scheduler = embedded.scheduler
        self.url: str = embedded.url

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.url + path, timeout=30, **options)

    def post(self, path: str, body: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=30)

    def delete(self, path: str) -> requests.Response:
        return requests.delete(self.url + path, timeout=30)

    def simulated(self, processors: int, walltime: int, run_time: int | None = None, **more: Any) -> dict[str, Any]:
        actuator = {"kind": "simulated", "run_time": walltime if run_time is None else run_time}
        answer = self.post("/v1/jobs", {"processors": processors, "walltime": walltime, "actuator": actuator, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def process(self, processors: int, walltime: int, *command: str, **more: Any) -> dict[str, Any]:
        actuator = {"kind": "process", "command": list(command), **more}
        answer = self.post("/v1/jobs", {"processors": processors, "walltime": walltime, "actuator": actuator})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def until(self, id: int, state: str) -> None:
        deadline = time.monotonic() + 10
        while self.scheduler.job(id).state != state:  # a request each time would keep a processor half busy
            assert time.monotonic() < deadline, f"job {id} did not get {state} in time"
            time.sleep(0.02)

    def job(self, id: int) -> dict[str, Any]:
        return self.get(f"/v1/jobs/{id}").json()


@pytest.fixture
def start_s3(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Start any number of services: ``start_s3(processors, name=..., state=..., clock_speed=... or clock=...)``."""
    from gas.service.live import LiveScheduler
    from gas.service.server import Embedded

    running = []

    def start(processors: int = 10, *, name: str = "s3", state: Path | None = None, **clock: Any) -> Client:
        directory = state or tmp_path / f"s3-{len(running)}"
        embedded = Embedded(LiveScheduler(name, processors, directory, **clock))
        embedded.__enter__()
        running.append(embedded)
        return Client(embedded)

    yield start
    for embedded in running:
        for job in embedded.scheduler.jobs() if embedded._thread.is_alive() else []:
            embedded.scheduler.cancel(job.id)
        embedded.__exit__(None, None, None)


@pytest.fixture
def s3(start_s3: Callable[..., Client]) -> Client:
    """An idle S³ of ten processors."""
    return start_s3(10)


@dataclass
class Outcome:
    """The result of a run of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


# The commands of an application are built once: typer builds all of them anew in every call.
typer.main.get_command = cache(typer.main.get_command)


@pytest.fixture
def gas(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the command line in this process: ``gas("plan", file, "--json")``."""
    from gas.cli.main import run

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return call
