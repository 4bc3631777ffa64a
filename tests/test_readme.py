"""The README is true: its examples run and print what it says."""

import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gas.compiled import cache_directory
from gas.s3.placing import place

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def checkout(tmp_path):
    """A folder with what the examples need, as in a checkout."""
    shutil.copytree(ROOT / "tests" / "examples", tmp_path / "tests" / "examples")
    return tmp_path


def shell(command, folder, **environment):
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    surroundings = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONUTF8": "1", **environment}
    surroundings["GAS_CACHE"] = str(cache_directory(place).parent)  # what was compiled once is not in the new HOME
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=surroundings, capture_output=True, text=True, timeout=60
    )


def words(line):
    return line.split()


@pytest.mark.parametrize("block", blocks("console"))
def test_console_examples_print_what_they_say(block, checkout):
    command, *expected = block.strip().splitlines()
    assert command.startswith("$ ")
    done = shell(command[2:], checkout)
    assert done.returncode == 0, done.stderr
    printed = [words(line) for line in done.stdout.splitlines()]
    position = 0
    for line in expected:
        if line == "...":
            continue
        assert words(line) in printed[position:], f"not printed: {line}\n{done.stdout}"
        position = printed.index(words(line), position) + 1


@pytest.mark.parametrize(
    ("block", "printed"),
    list(
        zip(
            blocks("python"),
            ["Candidate(scheduler='cluster', processors=32,", "32 processors on cluster", "["],
            strict=True,
        )
    ),
)
def test_python_examples_run(block, printed, checkout):
    done = subprocess.run([sys.executable, "-c", block], cwd=checkout, capture_output=True, text=True, timeout=200)
    assert done.stdout.startswith(printed), done.stderr
    assert done.stderr == ""


def test_the_application_file_is_the_one_of_the_example():
    assert blocks("toml")[0] == (ROOT / "tests" / "examples" / "ocean.toml").read_text()


def test_the_configuration_is_one(tmp_path):
    from gas.endpoints import load_configuration

    (tmp_path / "gas.toml").write_text(blocks("toml")[1])
    configuration = load_configuration(tmp_path / "gas.toml")
    assert configuration.endpoint("kth").limits.max_processors == 64
    assert tomllib.loads(blocks("toml")[1])


@pytest.mark.thorough
def test_the_scheduler_example_runs_a_job(checkout):
    (script,) = [block for block in blocks("sh") if block.startswith("gas serve")]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = script.replace("8642", str(port)).replace("gas serve", f"gas serve --port {port}", 1)
    # A person takes longer than this to type the next line.
    first, rest = script.split("\n", 1)
    wait = f"for i in $(seq 200); do gas endpoints -e http://127.0.0.1:{port} >/dev/null 2>&1 && break; sleep 0.1; done"
    done = shell(f"{first}\n{wait}\nset -e\n{rest}\nkill %1\nwait", checkout)
    assert "running on 4 processors" in done.stdout or "running on 8 processors" in done.stdout, done.stderr


def test_the_picture_is_the_one_that_the_example_draws(checkout):
    from matplotlib.image import imread

    command = blocks("console")[0].splitlines()[0][2:]
    assert shell(command, checkout).returncode == 0
    drawn, shown = imread(checkout / "plan.png"), imread(ROOT / "tests" / "examples" / "plan.png")
    # Versions of matplotlib differ by a few pixels, not in what they show.
    assert abs(drawn.shape[0] - shown.shape[0]) < 20
    assert abs(drawn[..., :3].mean() - shown[..., :3].mean()) < 0.02


def test_the_two_commands_name_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for block in blocks("sh")[:2]:
        (named,) = re.findall(r'"\.\[(.*?)\]"', block)
        assert set(named.split(",")) <= set(extras)
