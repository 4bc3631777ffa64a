"""The README is true: its examples run and print what it shows."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from page_examples import Reader, blocks_of

from gas.guide.contents import grouped, pages

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


def test_its_table_of_contents_leads_to_every_page_of_the_guide():
    linked = re.findall(r"\]\(gas/guide/([\w-]+)\.md\)", README)
    assert linked == [name for names in grouped(pages()).values() for name in names]


def test_it_is_read_in_two_minutes():
    assert len(README.split()) < 900


@pytest.mark.thorough
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
