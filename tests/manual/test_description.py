"""The manual describes commands as their help does, though it is read without typer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

import gas
from gas.cli.commands import app

ROOT = Path(gas.__file__).parent.parent
READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
from gas.manual.stand_ins import install
install()
from gas.manual.description import listed
for group, commands in listed().items():
    for one in commands:
        entries = [[entry.names, entry.text, entry.is_option] for entry in one.entries]
        print(json.dumps([group, one.name, one.summary, list(one.paragraphs), entries]))
"""


@pytest.fixture(scope="module")
def described():
    """Commands by name, as read by a Python that finds neither typer nor numpy."""
    command = [sys.executable, "-I", "-S", "-c", READ, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return {name: rest for _, name, *rest in map(json.loads, done.stdout.splitlines())}


def real_commands():
    """Yield the commands as typer makes them."""
    from gas.cli.commands import COMMANDS, GROUP_OF_PLUG_INS

    program = typer.main.get_command(app)
    for name in (*COMMANDS, *GROUP_OF_PLUG_INS):
        command = program.get_command(None, name)
        inner = command.list_commands(None) if hasattr(command, "list_commands") else []
        yield from (
            ((f"{name} {each}", command.get_command(None, each)) for each in inner) if inner else [(name, command)]
        )


def test_each_command_is_described_with_all_its_arguments_and_options(described):
    assert set(described) == {name for name, _ in real_commands()}
    for name, command in real_commands():
        summary, paragraphs, entries = described[name]
        help = " ".join(command.help.split())
        assert help.startswith(summary)
        assert all(one in help for one in paragraphs)
        options = {word for names, _, is_option in entries if is_option for word in names.replace(",", "").split()}
        real = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        for one in real:
            assert set(one.opts) - {"--help"} <= options, f"gas {name}"
        arguments = [one for one in command.params if one.param_type_name == "argument" and not one.hidden]
        assert len(arguments) == sum(not is_option for _, _, is_option in entries), f"gas {name}"


def test_what_an_option_is_for_comes_with_its_default_and_variable(described):
    options = {names: text for names, text, _ in described["serve"][2]}
    assert options["--port PORT"].endswith("(default: 8642)") or "Default: 8642." in options["--port PORT"]
    options = {names: text for names, text, _ in described["logs"][2]}
    assert options["-e, --endpoint NAME|URL"].endswith("In the environment: GAS_ENDPOINT.")
    assert "--stderr" in options, "an option that is on or off has no value"
