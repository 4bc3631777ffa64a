"""The README is true: its examples run and print what it says."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from page_examples import Reader, blocks_of, free_port

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return [block.text for block in blocks_of(README) if block.language == language]


@pytest.fixture
def checkout(tmp_path):
    """A folder with what the examples need, as in a checkout."""
    shutil.copytree(ROOT / "tests" / "examples", tmp_path / "tests" / "examples")
    return tmp_path


@pytest.mark.process
def test_the_examples_run_and_print_what_they_say(checkout):
    with Reader(checkout) as reader:
        reader.read(README)


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
    port = free_port()
    script = script.replace("8642", str(port)).replace("gas serve", f"gas serve --port {port}", 1)
    # A person takes longer than this to type the next line.
    first, rest = script.split("\n", 1)
    wait = f"for i in $(seq 200); do gas endpoints -e http://127.0.0.1:{port} >/dev/null 2>&1 && break; sleep 0.1; done"
    done = Reader(checkout).shell(f"{first}\n{wait}\nset -e\n{rest}\nkill %1\nwait")
    assert "running on 4 processors" in done.stdout or "running on 8 processors" in done.stdout, done.stderr


def test_the_picture_is_the_one_that_the_example_draws(checkout):
    from matplotlib.image import imread

    command = blocks("console")[0].splitlines()[0][2:]
    assert Reader(checkout).shell(command).returncode == 0
    drawn, shown = imread(checkout / "plan.png"), imread(ROOT / "tests" / "examples" / "plan.png")
    # Versions of matplotlib differ by a few pixels, not in what they show.
    assert abs(drawn.shape[0] - shown.shape[0]) < 20
    assert abs(drawn[..., :3].mean() - shown[..., :3].mean()) < 0.02


def test_the_two_commands_name_extras_that_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for block in blocks("sh")[:2]:
        (named,) = re.findall(r'"\.\[(.*?)\]"', block)
        assert set(named.split(",")) <= set(extras)
