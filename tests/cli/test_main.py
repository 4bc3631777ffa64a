import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm
from thorough import some

GAS = [sys.executable, "-m", "gas"]


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [("workload", "--seed", "x"), ("workload", "--load", "much"), ("simulate", "--processors", "1.5"),
     ("simulate", "--order", "none")],
)  # fmt: skip
def test_a_wrong_value_is_named_and_told_in_plain_words(gas, command, option, value):
    result = gas(command, "lublin", option, value)
    assert (result.code, result.out) == (2, "")
    assert f"'{option}'" in result.err
    assert f"'{value}' " in result.err
    assert "Input should be" not in result.err
    assert "unable to parse" not in result.err


def test_an_error_that_nobody_foresaw_is_one_line_too(gas, lu, monkeypatch):
    monkeypatch.setattr("gas.agent.choice.plan", lambda *_, **__: 1 / 0)
    monkeypatch.delenv("GAS_DEBUG", raising=False)
    empty = '{"schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0, "processors": 4, "version": "", "frames": [{"start": 0, "end": null, "free": 4}]}'  # noqa: E501
    path = lu.replace("lu.toml", "list.json")
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(empty)
    result = gas("plan", lu, "-a", path, "--stale-ok")
    assert result.code == 1
    assert result.err.startswith("gas: internal error (ZeroDivisionError: division by zero)")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("given", [{}, {"COMP_WORDS": "gas pla"}, {"COMP_WORDS": "gas pla", "COMP_CWORD": "x"}])
def test_completion_without_what_a_shell_sets_is_a_usage_error(gas, monkeypatch, given):
    monkeypatch.delenv("COMP_WORDS", raising=False)
    monkeypatch.delenv("COMP_CWORD", raising=False)
    monkeypatch.delenv("GAS_DEBUG", raising=False)
    for name, value in {"_GAS_COMPLETE": "complete_bash", **given}.items():
        monkeypatch.setenv(name, value)
    done = gas()
    assert (done.code, done.out) == (2, "")
    assert done.err == "gas: COMP_WORDS and COMP_CWORD must be set as a shell sets them for completion\n"


def test_interrupting_is_130(gas, lu, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("gas.cli.scripts.read_application", interrupted)
    result = gas("plan", lu, "-a", "x")
    assert (result.code, result.err) == (130, "gas: interrupted\n")


LOST = """
import ctypes, os, signal, time
from gas.cli import commands, main

def program(**_):
    ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))()  # Python drops what is raised in a callback
    {then}

commands.app = program
main.main()
"""


@pytest.mark.parametrize("then", ["time.sleep(50)", "raise RuntimeError('no answer')"])
def test_an_interruption_of_a_callback_is_not_lost(then):
    done = subprocess.run(
        [sys.executable, warm.RUN, LOST.format(then=then)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "gas: interrupted\n")


INTERRUPTED_IMPORT = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from gas.cli.main import main
main()
"""


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("module", ["numpy", "typer", "gas.planner", "gas.cli.commands"])
def test_an_interruption_of_its_imports_is_as_quiet_as_any(module):
    program = INTERRUPTED_IMPORT.format(module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "gas: interrupted\n")


def test_what_is_imported_before_interruptions_are_caught_is_next_to_nothing():
    program = (
        "import sys; before = set(sys.modules); import gas.cli.main\n"
        "print(sorted(name for name in set(sys.modules) - before if name.split('.')[0] != 'gas'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['__future__']\n", done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_for_the_shells(shell):
    environment = {**os.environ, "_GAS_COMPLETE": f"source_{shell}"}
    program = [sys.executable, warm.RUN, "from gas.cli.main import main; import sys; sys.argv[0] = 'gas'; main()"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "_GAS_COMPLETE" in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error():
    assert ended_unread([*GAS, "guide", "rules"], lines=1) == (0, b"")


def ended_unread(command, lines):
    """Return how a command ends whose reader closes the pipe after some lines, or before it starts."""
    back, forth = os.pipe()
    fcntl.fcntl(forth, fcntl.F_SETPIPE_SZ, 4096)  # too small for a page of the guide
    if lines == 0:
        os.close(back)
    with subprocess.Popen(command, stdout=forth, stderr=subprocess.PIPE) as process:
        os.close(forth)
        if lines > 0:
            with os.fdopen(back, "rb", buffering=0) as reader:
                assert all(reader.readline() for _ in range(lines))
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize(
    "command", ["plan {lu} -a {examples}/cluster.json --stale-ok", "availability -a {examples}/cluster.json --json"]
)
def test_nor_is_one_that_reads_nothing_whatever_prints(lu, command):
    """For tables, rich would end the program with exit code 1; for other lines, typer would."""
    words = command.format(lu=lu, examples=Path(__file__).parent.parent / "examples")
    assert ended_unread([*GAS, *words.split()], lines=0) == (0, b"")


@pytest.mark.thorough
def test_a_closed_standard_output_is_no_error():
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m gas --help >&-"], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.thorough
def test_a_closed_standard_input_is_an_empty_one():
    command = f"{sys.executable} -m gas availability -a - <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gas: standard input: is empty")


@pytest.mark.thorough
def test_but_no_job_is_made_whose_number_cannot_be_said(s3, lu):
    submit = f"{sys.executable} -m gas submit {lu} --simulate -e {s3.url}"
    closed = subprocess.run(["bash", "-c", f"{submit} >&-"], capture_output=True, text=True, timeout=60)
    assert closed.returncode == 1
    assert closed.stderr == "gas: standard output is closed; nothing was submitted; > /dev/null discards it\n"
    assert s3.get("/v1/jobs").json()["jobs"] == []
    assert subprocess.run(["bash", "-c", f"{submit} >/dev/null"], capture_output=True, timeout=60).returncode == 0


@pytest.mark.thorough
def test_a_terminal_that_knows_only_ascii_gets_only_that(tmp_path, lu):
    (tmp_path / "list.json").write_text(
        '{"schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0, "processors": 64,'
        ' "version": "", "frames": [{"start": 0, "end": 500, "free": 10}, {"start": 500, "end": null, "free": 64}]}'
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [*GAS, "plan", lu, "-a", str(tmp_path / "list.json"), "--stale-ok", "--explain"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "S3"), ("latin-1", "S³"), ("utf-8", "S³")])
def test_what_the_encoding_of_the_output_lacks_is_said_in_other_words(encoding, shown):
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run([*GAS, "guide", "how"], env=environment, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    page = (Path(__file__).parents[2] / "gas" / "guide" / "how.md").read_text()
    text = done.stdout.decode(encoding)
    assert shown in text
    assert len(text.splitlines()) == len(page.rstrip("\n").splitlines())


def test_json_says_the_same_in_any_encoding(tmp_path, lu):
    listed = {"schema": "gas.availability/1", "scheduler": "Gerät→³", "kind": "promise", "now": 0, "processors": 64,
              "version": "", "frames": [{"start": 0, "end": None, "free": 64}]}  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps(listed))
    for encoding in some(("ascii", "latin-1", "utf-8"), 1):
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        command = [*GAS, "availability", "-a", str(tmp_path / "list.json"), "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert "Gerät→³" in str(json.loads(done.stdout.decode(encoding)))


def test_no_module_of_the_current_folder_is_imported(tmp_path):
    for name in ("typer", "click", "numpy", "tomllib", "rich", "requests", "json"):
        (tmp_path / f"{name}.py").write_text(f"open('ran', 'w').write('{name}')\n")
    metadata = tmp_path / "evil-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[gas.commands]\nevil = typer:app\n[gas.endpoints]\ns3 = typer:app\n")
    done = subprocess.run(
        [*GAS, "endpoints", "-e", "http://127.0.0.1:9"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert done.returncode == 4, done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_full_output_is_named_and_ends_with_1():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*GAS, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "gas: the output cannot be written: No space left on device\n")
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([*GAS, "status", "x"], stdout=full, stderr=full).returncode == 2
