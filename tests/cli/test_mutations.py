"""For any answer of servers, programs and files: a message, an exit code of the table, soon, in little memory.

Some hundred mutants of good answers by default, more with ``GAS_MUTANTS``; each has a number and a seed
(``GAS_MUTANTS_SEED``), which a failure names.
"""

import contextlib
import io
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest
from fake_slurm import FakeSlurm
from hostile_server import hostile_server, plain
from mutants import chance_of, mutated
from slurm_answers import FOLDER as SLURM
from thorough import rounds
from typer.main import get_command

from gas.cli import commands
from gas.cli.main import run

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The garbage collector may find a socket before the unfinished answer that should close it."""

MUTANTS = int(os.environ.get("GAS_MUTANTS", "0"))
CODES = {0, 1, 2, 3, 4, 5}
"""Exit codes of `gas.errors.ERRORS`."""

MOST_SECONDS = 10.0
"""CPU seconds: a machine may be busy with other things."""

TESTS = Path(__file__).parent.parent
EXAMPLES = TESTS / "examples"
OAR = TESTS / "endpoints" / "oar" / "answers"

JOB = (
    b'{"id": 7, "kind": "job", "user": "ann", "mine": true, "name": "lu", "state": "running", "processors": 4, '
    b'"walltime": 600, "actuator": "process", "command": ["a"], "run_time": null, "exit_status": null, "signal": null,'
    b'"message": "x", "submitted": 1800000000, "not_before": null, "promise": 1800000000, "first_promise": 1800000000,'
    b'"broken_promise": 1799999990, "broken_promise_iso": "x", "start": 1800000000, "due": 1800000600,'
    b'"finished": null}'
)
MACHINE = (
    b'{"scheduler": "s", "processors": 64, "accepting": true, "now": 1800000000, "in_use": 4, "queued": 1,'
    b'"running": 1, "reserved": 0, "promises_broken": 0, "user": "ann", "role": "user", "access": true,'
    b'"version": "1", '
    b'"limits": {"max_queued": 5, "max_processor_seconds": null, "max_request_bytes": 4096, "max_rate": 1.5}, '
    b'"broken": [{"id": 1, "user": "b", "promised": 5, "start": null}]}'
)
ENDED = JOB.replace(b"running", b"failed").replace(b'"finished": null', b'"finished": 1800000100')
EVENTS = b"event: machine\nid: a-1\ndata: " + MACHINE + b"\n\nevent: job\nid: a-2\ndata: " + ENDED + b"\n\n"
REST = {f"/slurm/v0.0.38/{path.stem}": path.read_bytes() for path in (SLURM / "v0.0.38").iterdir()}
GOOD = {
    "/v1/availability": (EXAMPLES / "cluster.json").read_bytes(),
    "/v1/jobs": b'{"jobs": [' + JOB + b", " + JOB.replace(b"7,", b"8,", 1) + b"]}",
    "/v1/jobs/7": JOB,
    "/v1/jobs/7/output": b"what it has written\n",
    "/v1/machine": MACHINE,
    "/v1/events": EVENTS,
    "/openapi/v3": b'{"paths": {"/slurm/v0.0.38/jobs": {}, "/slurm/v0.0.37/jobs": {}}}',
    **REST,
    "/slurm/v0.0.38/job/5": REST["/slurm/v0.0.38/jobs"],
    "/resources/full.json": (OAR / "rest-resources-full.json").read_bytes(),
    "/jobs/details.json": (OAR / "rest-jobs-details.json").read_bytes(),
    "/whoami.json": b'{"authenticated_user": "ann"}',
}
ASKED = [
    ("plan", "app.toml", "-e", "s3", "--explain"), ("plan", "app.toml", "-e", "s3", "--json"),
    ("status", "-e", "s3"), ("status", "7", "-e", "s3"), ("status", "-e", "s3", "--json"), ("machine", "-e", "s3"),
    ("logs", "7", "-e", "s3", "--json"), ("availability", "-e", "s3"), ("cancel", "7", "-e", "s3"),
    ("status", "7", "-e", "s3", "--follow"), ("plan", "app.toml", "-e", "s3", "--predict", "auto", "--samples", "2"),
    ("plan", "app.toml", "-e", "slurm", "--explain"), ("status", "-e", "slurm"), ("status", "5", "-e", "slurm"),
    ("plan", "app.toml", "-e", "slurm", "--json"), ("plan", "app.toml", "-e", "oar"), ("status", "-e", "oar"),
    ("status", "2", "-e", "oar"),
]  # fmt: skip
HEADS = [
    "", "", "", "", "", "Content-Encoding: gzip\r\n", "Location: /v1/machine\r\n", "Retry-After: 1e999\r\n",
    "Retry-After: \x9b\r\n", "Transfer-Encoding: chunked\r\n", f"X: {'y' * 70_000}\r\n", "X: y\r\n" * 200,
    "Content-Type: text/event-stream\r\n", "Content-Length: 3\r\n", "\x1b[31m: x\r\n", ": \r\n",
]  # fmt: skip


def answered(number):
    """Return the server's answers during a mutant, and which good answer is changed."""
    chance = chance_of("answer", number)
    rarely = chance.random() < 0.15

    def answer(method, path):
        good = GOOD.get(path.partition("?")[0], b'{"error": {"kind": "NotFound", "message": "no"}}')
        kind = "text/event-stream" if path == "/v1/events" else "application/json"
        status = 200 if path.partition("?")[0] in GOOD else 404
        body = mutated(good, chance) if chance.random() < 0.6 else good
        if not rarely:
            return plain(body, status, kind)
        status = chance.choice([status, 100, 204, 301, 302, 400, 401, 404, 409, 412, 429, 500, 503, 999])
        whole = plain(body, status, kind, chance.choice(HEADS))
        return mutated(whole, chance) if chance.random() < 0.4 else whole

    return answer


CONFIGURATION = """\
[endpoints.s3]
type = "s3"
url = "{url}"
timeout = 5
retries = 0
patience = 0
[endpoints.slurm]
type = "slurm"
url = "{url}"
timeout = 5
[endpoints.oar]
type = "oar"
url = "{url}"
timeout = 5
[endpoints.programs]
type = "slurm"
folder = "{folder}"
timeout = 5
"""


class Terminal(io.TextIOWrapper):
    """Standard output or error of a command, checked as a terminal would show it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", errors="surrogatepass", write_through=True)

    def text(self):
        return self.buffer.getvalue().decode(errors="surrogatepass")


class Figures:
    """The results of the mutants."""

    def __init__(self):
        self.codes, self.worst, self.unforeseen = Counter(), (0.0, None), []

    def command(self, words, mutant):
        """Run a command in this process and check its result."""
        out, err = Terminal(), Terminal()
        began = time.process_time()
        code = None
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = run(list(words))
            except BaseException:
                err.write(traceback.format_exc())
        seconds = time.process_time() - began
        self.codes[code] += 1
        self.worst = max(self.worst, (seconds, mutant), key=lambda one: one[0])
        said = out.text() + err.text()
        control = [c for c in said if not c.isprintable() and c != "\n"]
        if code not in CODES or "Traceback" in said or "internal error" in said or control or seconds > MOST_SECONDS:
            self.unforeseen.append((mutant, words, code, round(seconds, 1), control[:3], said[-1500:]))

    def check(self, capsys):
        with capsys.disabled():
            count = sum(self.codes.values())
            print(f" {count} mutants, codes {dict(self.codes)}, worst {self.worst[0]:.1f} s ({self.worst[1]})", end="")
        assert not self.unforeseen, f"{len(self.unforeseen)}, the first: {self.unforeseen[0]}"


@pytest.fixture
def figures(capsys):
    found = Figures()
    yield found
    found.check(capsys)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "app.toml").write_bytes((EXAMPLES / "lu.toml").read_bytes())
    (tmp_path / "list.json").write_bytes((EXAMPLES / "cluster.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_JWT", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(commands, "app", get_command(commands.app))  # made once: it takes longer than most commands
    monkeypatch.setattr("gas.endpoints.s3.FOLLOW_PATIENCE_SECONDS", 0.0)  # a lost stream is not resumed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    return tmp_path


@pytest.mark.parametrize("count", [MUTANTS or rounds(150), pytest.param(MUTANTS or 10_000, marks=pytest.mark.long)])
def test_answers_of_servers(folder, figures, count):
    with hostile_server() as server:
        (folder / "gas.toml").write_text(CONFIGURATION.format(url=server.url, folder=folder))
        for number in range(count):
            server.answer = answered(number)
            figures.command(ASKED[number % len(ASKED)] + ("--config", "gas.toml"), f"answer {number}")


FILES = [
    ("app.toml", (EXAMPLES / "lu.toml"), ("plan", "app.toml", "-a", "list.json")),
    ("list.json", (EXAMPLES / "cluster.json"), ("plan", "app.toml", "-a", "list.json")),
    ("app.toml", (EXAMPLES / "ocean.toml"), ("plan", "app.toml", "-a", "list.json", "--explain")),
    ("log.swf", (EXAMPLES / "small.swf"), ("workload", "estimates", "exact", "log.swf", "--json")),
    ("gas.toml", None, ("endpoints", "--config", "gas.toml")),
    ("timings.csv", (EXAMPLES / "timings.csv"), ("fit", "timings.csv", "--bootstrap", "0")),
]


@pytest.mark.process
@pytest.mark.parametrize("count", [MUTANTS or rounds(150), pytest.param(MUTANTS or 10_000, marks=pytest.mark.long)])
def test_files(folder, figures, count):
    for number in range(count):
        name, good, words = FILES[number % len(FILES)]
        text = (
            CONFIGURATION.format(url="http://127.0.0.1:9", folder="/").encode() if good is None else good.read_bytes()
        )
        kept = (folder / name).read_bytes() if (folder / name).exists() else None
        (folder / name).write_bytes(mutated(text, chance_of("file", number)))
        figures.command(words, f"file {number}")
        if kept is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(kept)


@pytest.mark.parametrize(
    "count", [(MUTANTS or rounds(200)) // 10, pytest.param((MUTANTS or 10_000) // 20, marks=pytest.mark.long)]
)
def test_answers_of_programs(folder, figures, count):
    slurm = FakeSlurm(folder / "bin")
    (folder / "gas.toml").write_text(CONFIGURATION.format(url="http://127.0.0.1:9", folder=slurm.folder))
    good = {path.name: path.read_bytes() for path in (SLURM / "v22.05").iterdir()}
    for number in range(count):
        chance = chance_of("program", number)
        program = chance.choice(["squeue", "scontrol", "sdiag"])
        said = mutated(chance.choice(list(good.values())), chance)
        (folder / "said").write_bytes(said)
        status = chance.choice([0, 0, 0, 0, 1, 255])
        slurm.does(program, f'cat "{folder}/said"; cat "{folder}/said" >&2; exit {status}')
        words = chance.choice([("plan", "app.toml"), ("status",), ("status", "5"), ("logs", "5", "--json")])
        figures.command((*words, "-e", "programs", "--config", "gas.toml"), f"program {number}")
        slurm.does(program, None)
