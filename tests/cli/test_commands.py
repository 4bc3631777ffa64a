"""The commands of the program, and those of plug-ins: a broken one disturbs no other."""

import re
import sys

import pytest

from gas.cli.commands import COMMANDS, MEANT

GROUPS = ("token", "traces", "experiment")


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """Install a made-up distribution with one good and one broken command."""
    site = tmp_path / "site"
    metadata = site / "plug_in-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[gas.commands]\nhello = plug_in_of_a_test:app\nbroken = no_such_module_of_a_test:app\n"
    )
    (site / "plug_in_of_a_test.py").write_text(
        "import typer\napp = typer.Typer()\n@app.command()\ndef hello(name: str) -> None:\n"
        '    """Say hello."""\n    print(f"hello {name}")\n'
    )
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("plug_in_of_a_test", None)


def test_version(gas):
    result = gas("--version")
    assert (result.code, result.out.split()[0]) == (0, "gas")


def test_what_other_programs_call_a_command_leads_to_one():
    assert set(MEANT.values()) <= set(COMMANDS)
    assert not set(MEANT) & set(COMMANDS)


def listed(text):
    """Return the commands that the help of the program lists, by the headings above them."""
    found = {}
    for line in text[text.index("Plan and submit:") :].splitlines():
        if line.endswith(":") and not line.startswith(" "):
            names = found.setdefault(line[:-1], [])
        elif line.startswith("  ") and line[2] != " ":
            names.append(line.split()[0])
    return found


def test_commands_are_listed_by_what_they_are_for(gas):
    groups = listed(gas("--help").out)
    assert list(groups) == [
        "Plan and submit", "Jobs", "Schedulers", "Running S³", "Logs and simulations", "Help",
    ]  # fmt: skip
    assert {"status", "why", "wait", "logs", "cancel", "reshape", "watch"} <= set(groups["Jobs"])
    assert {"simulate", "experiment"} <= set(groups["Logs and simulations"])
    assert groups["Help"] == ["guide"]


def test_every_command_has_help(gas):
    commands = [name for names in listed(gas("--help").out).values() for name in names]
    assert {"demo", "plan", "submit", "status", "wait", "logs", "cancel", "reserve", "availability", "endpoints", "serve", "fit"} <= set(commands)  # fmt: skip  # noqa: E501
    for command in commands:
        result = gas(command, "--help")
        assert result.code == 0
        assert "Usage: gas " + command in result.out
        assert command in GROUPS or f"\n  gas {command} " in result.out.partition("Options:")[0], "no example to copy"


def test_so_has_each_command_of_a_group(gas):
    for group in GROUPS:
        listing = gas(group, "--help").out.partition("Commands:")[2]
        for command in [line.split()[0] for line in listing.splitlines() if line.startswith("  ") and line[2] != " "]:
            assert f"\n  gas {group} {command}" in gas(group, command, "--help").out.partition("Options:")[0]


def test_summaries_are_not_cut_off_at_80_columns(gas, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in gas("--help").out.partition("Plan and submit:")[2]
    for group in GROUPS:
        assert "..." not in gas(group, "--help").out.partition("Commands:")[2]


def test_help_breaks_at_spaces_only_and_names_no_types_of_python(gas, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("plan", "workload", "cancel"):
        text = gas(command, "--help").out
        assert not re.search(r"\S-$", text, re.MULTILINE), "an option or a value is cut at its hyphen"
        assert "str>" not in text
        assert "NON-BREAKING" not in text.encode("ascii", "namereplace").decode()


def test_without_arguments_it_shows_what_there_is(gas):
    result = gas()
    assert result.code == 2
    assert "Plan and submit:" in result.err


def test_a_command_of_another_distribution_joins(gas, plug_in):
    assert gas("hello", "you").out == "hello you\n"
    assert "hello" in listed(gas("--help").out)["Plug-ins"]


def test_a_broken_one_disturbs_no_other(gas, plug_in):
    assert gas("hello", "you").code == 0
    assert gas("--help").code == 0
    result = gas("broken")
    assert result.code == 1
    assert 'the command "broken" of no_such_module_of_a_test:app cannot be loaded' in result.err
