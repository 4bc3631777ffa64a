"""To a test, a forked `python -m gas` equals a cold start: output, exit status, folder, signals."""

import os
import signal
import subprocess
import sys

import pytest
import warm

GAS = [sys.executable, "-m", "gas"]


@pytest.fixture
def is_forked():
    if os.environ.get("GAS_TESTS_COLD") or sys.platform != "linux":
        pytest.skip("nothing is forked here")

    def is_forked(process):
        with open(f"/proc/{process.pid}/cmdline") as file:  # noqa: PTH123
            return "warm.py" in file.read()

    return is_forked


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("words", [["--help"], ["plan", "nowhere.toml"], ["plan", "--no-such-option"]])
def test_output_and_exit_status_are_those_of_a_start_from_cold(words, tmp_path):
    cold = {**os.environ, "PYTHONUNBUFFERED": "1" if "PYTHONUNBUFFERED" not in os.environ else ""}
    results = [
        subprocess.run([*GAS, *words], capture_output=True, text=True, cwd=tmp_path, env=env) for env in (None, cold)
    ]
    assert len({(one.returncode, one.stdout, one.stderr) for one in results}) == 1
    assert results[0].stdout + results[0].stderr


def test_it_is_a_child_of_the_test_that_can_be_signalled_and_waited_for(is_forked, tmp_path):
    command = [*GAS, "serve", "--port", "0", "--processors", "1", "--state", "state"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert "http" in process.stdout.readline()
        assert is_forked(process)
        assert (tmp_path / "state").is_dir()
        assert os.getpgid(process.pid) == os.getpgrp()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(20) == 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        process.stdout.readline()
        process.kill()
        assert process.wait(20) == -signal.SIGKILL


def test_standard_input_and_the_environment_are_those_of_the_call(tmp_path):
    done = subprocess.run([*GAS, "plan", "-"], input=b"x =", capture_output=True)
    assert b"standard input: not TOML" in done.stderr
    (tmp_path / "bad.toml").write_text("nonsense")
    environment = {**os.environ, "GAS_CONFIG": str(tmp_path / "bad.toml")}
    done = subprocess.run([*GAS, "endpoints"], capture_output=True, env=environment)
    assert b"bad.toml" in done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "LANG", "NUMBA_DISABLE_JIT"])
def test_what_is_read_at_the_start_of_a_process_is_not_forked(name):
    assert warm.read_at_start({name: "x", "GAS_CONFIG": "y"}) == {name: "x"}


def test_a_session_of_its_own_is_one(is_forked, tmp_path):
    command = [*GAS, "serve", "--port", "0", "--processors", "1", "--state", "state"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, start_new_session=True
    ) as process:
        process.stdout.readline()
        assert os.getsid(process.pid) == process.pid != os.getsid(0)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(20) == -signal.SIGKILL


PROGRAM = """
import os, sys
print(sys.argv, __name__, os.getcwd(), os.environ["GIVEN"], os.path.dirname(sys.argv[-1]) in sys.path)
sys.stdout.flush()
sys.exit("done")
"""


def test_the_text_of_a_program_runs_as_from_cold(is_forked, tmp_path):
    environment = {**os.environ, "GIVEN": "here"}
    cold = {**environment, "PYTHONUNBUFFERED": "1" if "PYTHONUNBUFFERED" not in os.environ else ""}
    command = [sys.executable, warm.RUN, PROGRAM, "a word", warm.RUN]
    expected = f"['-c', 'a word', {warm.RUN!r}] __main__ {tmp_path} here False\n"
    for one in (environment, cold):
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=one)
        assert (done.returncode, done.stdout, done.stderr) == (1, expected, "done\n")
    failed = subprocess.run([sys.executable, warm.RUN, "1 / 0"], capture_output=True, text=True)
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "ZeroDivisionError: division by zero")
    waits = [sys.executable, warm.RUN, "input()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE, text=True) as process:
        assert is_forked(process)
        process.communicate("\n")
    assert process.returncode == 0


def test_a_worker_is_forked_from_a_server_that_has_imported_the_tests(tmp_path, monkeypatch, is_forked):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_made_up.py").write_text("import this\n\ndef test_it():\n    raise SystemExit\n")
    program = "import sys; print('this' in sys.modules, *sys.argv); sys.stdout.flush(); sys.stdin.read()"

    def worker():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([sys.executable, *warm.WORKER], text=True, **pipes) as process:
            process.stdin.write(f"{program!r}\n")
            process.stdin.flush()
            return process.stdout.readline(), is_forked(process)

    assert worker() == ("False -c\n", False)
    warm.prepare_workers(["-p", "xdist", f"--rootdir={tmp_path}", "--config-file=/dev/null", str(tmp_path)])
    assert worker() == ("True -c\n", True)
    warm.workers_are_started()
    assert worker() == ("False -c\n", False)


ENDS = {
    "what is registered and other threads": """
import atexit, threading, time
atexit.register(print, "registered")
threading.Thread(target=lambda: (time.sleep(0.05), print("from a thread"))).start()
print("main", end=" ")
""",
    "an error": "print('out'); 1 / 0",
    "a status": "print('out', end=''); raise SystemExit(300)",
    "a text": "raise SystemExit('said')",
    "an interruption": "print('out'); raise KeyboardInterrupt",
    "an output that is closed": "import os; print('out'); os.close(1)",
}


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_it_ends_as_from_cold(program):
    cold = {**os.environ, "PYTHON_MADE_UP": "1"}  # so that nothing is forked
    ends = []
    for environment in (None, cold):
        done = subprocess.run([sys.executable, warm.RUN, program], capture_output=True, text=True, env=environment)
        ends.append((done.returncode, done.stdout, done.stderr.splitlines()[-1:]))
    assert ends[0] == ends[1]


def test_what_each_worker_would_do_at_first_is_done_before(monkeypatch):
    """The names are internal to hypothesis and numba: a release without them fails here, and only takes longer."""
    providers = pytest.importorskip("hypothesis.internal.conjecture.providers")
    context = pytest.importorskip("numba.core.registry").cpu_target.target_context
    done = []
    monkeypatch.setattr(providers, "_get_local_constants", lambda: done.append("constants"))
    monkeypatch.setattr(type(context), "refresh", lambda context: done.append("implementations"))
    warm.initialize_once()
    assert done == ["implementations", "constants"]
