"""Answers that never end, or become a thousand times as large in memory: reported soon, within a gigabyte."""

import resource
import socket
import subprocess
import sys
import time

import pytest
from fake_slurm import FakeSlurm
from hostile_server import for_ever, hostile_server, plain

MOST_BYTES = 2**30
TIMEOUT = 2
MOST_SECONDS = 60
"""Far more than the timeout, for busy machines; without the limits, these take minutes or have no end."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MIB = b"x" * 2**20


def after(head, piece, pause=0.0):
    def answer():
        yield head
        yield from for_ever(piece, pause)

    return answer


BOMBS = {
    "a body by the byte": after(HEAD + b"Content-Length: 100000\r\n\r\n", b" ", 0.2),
    "chunks by the byte": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.2),
    "a head by the byte": after(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.2),
    "a status line by the byte": after(b"HTTP/1.1 200 ", b"O", 0.2),
    "lines of a head by and by": after(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.1),
    "one line of a head without end": after(b"HTTP/1.1 200 OK\r\nX: ", MIB),
    "a length of a chunk without end": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 2**20),
    "trailers without end": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
    "preliminary answers without end": after(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body without end": after(HEAD + b"\r\n", MIB),
    "chunks without end": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + MIB + b"\r\n"),
    "a chunk without end": after(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", MIB),
    "a terabyte announced": lambda: [HEAD + b"Content-Length: 1099511627776\r\n\r\n"],
    "packed, though that was not asked for": after(HEAD + b"Content-Encoding: gzip\r\n\r\n", b"\x1f\x8b" + MIB),
    "a refusal without end": after(HEAD.replace(b"200 OK", b"500 X") + b"\r\n", MIB),
    "nested deeply": lambda: [plain(b"[" * 10_000_000)],
    "millions of empty lists": lambda: [plain(b'{"scheduler": [' + b"[],[]," * 10_000_000 + b"0]}")],
    "millions of digits": lambda: [plain(b'{"now": ' + b"9" * 30_000_000 + b"}")],
}


def gas(tmp_path, *words):
    """Run a command; return its exit code, its output, and its peak of memory."""
    program = (
        "import resource, sys; from gas.cli.main import run; code = run(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words, "--config", "gas.toml"], cwd=tmp_path, capture_output=True, text=True,
        timeout=MOST_SECONDS, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30)),
    )  # fmt: skip
    *said, held = done.stderr.splitlines()
    return done.returncode, "\n".join(said), int(held)


def write(tmp_path, **tables):
    text = "".join(f"[endpoints.{name}]\n{table}\n" for name, table in tables.items())
    (tmp_path / "gas.toml").write_text(text)


EVERY_TIME = [
    ("a body by the byte", "s3"), ("a body by the byte", "slurm"), ("a head by the byte", "oar"),
    ("one line of a head without end", "s3"), ("chunks without end", "s3"), ("millions of empty lists", "s3"),
]  # fmt: skip
OTHERS = [(bomb, kind) for bomb in BOMBS for kind in ("s3", "slurm", "oar") if (bomb, kind) not in EVERY_TIME]


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(("bomb", "kind"), EVERY_TIME + [pytest.param(*one, marks=pytest.mark.long) for one in OTHERS])
def test_an_answer_without_end_is_given_up(tmp_path, bomb, kind):
    with hostile_server() as server:
        server.answer = lambda *_: BOMBS[bomb]()
        write(tmp_path, x=f'type = "{kind}"\nurl = "{server.url}"\ntimeout = {TIMEOUT}')
        code, said, held = gas(tmp_path, "availability", "-e", "x")
    assert (code, said.startswith("gas: x: ") or f"gas: {server.url}" in said) == (4, True), said
    assert held < MOST_BYTES


@pytest.mark.thorough
@pytest.mark.parametrize("piece", [b"data: x\n", pytest.param(b"x" * 2**16, marks=pytest.mark.long)])
def test_an_event_without_end_is_given_up(tmp_path, piece):
    with hostile_server() as server:
        server.answer = lambda *_: after(HEAD.replace(b"application/json", b"text/event-stream") + b"\r\n", piece)()
        write(tmp_path, x=f'type = "s3"\nurl = "{server.url}"\ntimeout = {TIMEOUT}')
        code, said, held = gas(tmp_path, "status", "-e", "x", "--follow")
    assert (code, "is it an S³ service" in said) == (4, True), said
    assert held < MOST_BYTES


LONG = [pytest.param(does, marks=pytest.mark.long) for does in ("yes | tr -d '\\n'", "yes >&2")]
DRIPPING = "while sleep 0.2; do echo x; done"


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("does", ["yes", DRIPPING, *LONG])
def test_a_program_that_prints_without_end_is_given_up(tmp_path, does):
    slurm = FakeSlurm(tmp_path / "bin")
    slurm.does("squeue", does)
    write(tmp_path, x=f'type = "slurm"\nfolder = "{slurm.folder}"\ntimeout = {TIMEOUT}')
    code, said, held = gas(tmp_path, "availability", "-e", "x")
    assert (code, "more than the limit of 128 MiB" in said or f"not answered for {TIMEOUT} s" in said) == (4, True), (
        said
    )
    assert held < MOST_BYTES


@pytest.mark.thorough
def test_a_server_that_takes_a_request_by_the_byte_is_given_up(tmp_path):
    (tmp_path / "a.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 1 = 5 }\n')
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        write(tmp_path, x=f'type = "s3"\nurl = "{url}"\ntimeout = {TIMEOUT}\nretries = 0\npatience = 0')
        began = time.monotonic()
        code, _, _ = gas(tmp_path, "availability", "-e", "x")
    assert code == 4
    assert time.monotonic() - began < MOST_SECONDS


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("line", ["1" * 60_000 + "x", '"' * 60_000, "1," * 60_000, "#" * 10_000_000])
def test_timings_of_long_lines_are_refused_at_once(tmp_path, line):
    (tmp_path / "t.csv").write_text("processors,seconds\n" + f"4,{line}\n" * 8)
    done = subprocess.run(
        [sys.executable, "-m", "gas", "fit", "t.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
    )
    assert done.returncode == 2
    assert "line 2" in done.stderr
