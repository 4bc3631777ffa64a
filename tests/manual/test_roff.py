"""Pages of the manual, as man shows them."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import gas
from gas.manual.description import Command, Entry
from gas.manual.roff import command_page, escaped, program_page

ROOT = Path(gas.__file__).parent.parent
WAIT = Command(
    "token add",
    "Create a token.",
    ("gas token add alice --role user", ".profile and 'quotes' and C:\\dir stay."),
    (Entry("USER", "Whose it is.", is_option=False), Entry("-n, --name NAME", "A name.", is_option=True)),
)


def test_nothing_in_a_text_is_a_request_or_an_escape():
    assert escaped(".so /etc/passwd\n'x\n\\fB -1") == "\\&.so /etc/passwd\n\\&'x\n\\efB \\-1"


def test_a_page_says_what_a_command_is_for_how_it_is_written_and_what_its_options_are():
    page = command_page(WAIT, "1.2")
    assert page.startswith('.TH GAS\\-TOKEN\\-ADD 1 "" "Gas 1.2"')
    assert "gas\\-token\\-add \\- Create a token\n" in page
    assert "[\\fIOPTIONS\\fR] USER\n" in page
    assert ".RS 4\n.B gas token add alice \\-\\-role user\n.RE" in page
    assert "\\fB\\-n, \\-\\-name NAME\\fR\nA name.\n" in page


def test_the_page_of_the_program_lists_all_others():
    page = program_page({"Running S³": [WAIT]}, "1.2")
    assert ".SS Running S³\n.TP\n.BR gas\\-token\\-add (1)\nCreate a token.\n" in page
    assert ".SH EXIT STATUS" in page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The pages, written by plain Python."""
    folder = tmp_path_factory.mktemp("man") / "man1"
    command = [sys.executable, "-I", "-S", str(ROOT / "gas/manual/__main__.py"), str(folder), "1.2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return folder


def test_man_shows_every_page_without_a_warning(folder):
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    pages = sorted(map(str, folder.iterdir()))
    assert len(pages) > 25
    done = subprocess.run(
        ["groff", "-k", "-man", "-Tutf8", "-ww", "-Wbreak", "-z", *pages],
        env={**os.environ, "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
def test_a_wheel_brings_them(tmp_path):
    """It is built in this environment; an isolated one would have nothing but hatchling."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"gas.1", "gas-plan.1", "gas-token-add.1", "gas-replay.1"} <= {
        name.rpartition("share/man/man1/")[2] for name in names
    }
