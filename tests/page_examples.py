"""The examples of a Markdown page: how they are recognised, and run as a reader would.

A page is read from top to bottom in one folder:

- a block with ``title="NAME"`` is a file of that name, saved there;
- ``console``: each line that begins with ``$ `` is a command, continued after a backslash; the lines below it are its
  output. A line ``...`` stands for any lines, ``…`` within a line for any text, and blanks do not count. A command
  whose first line of output begins with ``gas: `` must fail with that message;
- ``python``: runs after the blocks before it; a block ``text`` after it is its output. With ``needs="Slurm"`` it is
  only compiled;
- ``toml``: an application, or a configuration;
- ``json``: an availability list if it is one by its keys, and JSON in any case;
- ``sh``: is not run; the arguments of each `gas` command in it are checked;
- ``ini``: a systemd unit.

`gas serve ... &` on a page starts a real S³ on a free port, which replaces 8642 in all examples of the page; it is
ready for the examples after it, and ends with the page.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from gas.cli.commands import app
from gas.compiled import cache_directory
from gas.s3.placing import place

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?(?: needs="(?P<needs>[^"]+)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
OPTIONAL = ("dask", "dask_jobqueue", "parsl", "psij", "snakemake")
"""Modules of the extra `workflows`: if one is not installed, the examples of a page end where they need it."""
SHELL_SIGNS = set("|&;<>()$`\\*?~#=!{}")
PORT = "8642"


@dataclass(frozen=True)
class Block:
    """One block of code of a page."""

    language: str
    text: str
    title: str | None
    needs: str | None
    line: int


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that name a language."""
    return [
        Block(found["language"], found["text"], found["title"], found["needs"], page.count("\n", 0, found.start()) + 1)
        for found in BLOCK.finditer(page)
    ]


def commands_of(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block with the lines shown below each."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).lstrip("> ")
            found.append((command, []))
        else:
            assert found, f"a console block begins with a command: {line}"
            found[-1][1].append(line)
    return found


def differences(shown: list[str], printed: str) -> str:
    """Return how a page and the output of a command differ; nothing if they agree."""
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            words = [".*?".join(map(re.escape, word.split("…"))) for word in line.split()]
            pattern += r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t]*\n"
    text = printed.rstrip("\n") + "\n" if printed.strip() else ""
    if re.fullmatch(pattern, text):
        return ""
    return "shown:\n  " + "\n  ".join(shown) + "\nprinted:\n  " + "\n  ".join(text.splitlines())


@dataclass
class Reader:
    """A reader who follows a page in a folder, with a separate home."""

    folder: Path
    port: str = field(default_factory=lambda: str(free_port()))
    environment: dict[str, str] = field(default_factory=dict)
    services: list[subprocess.Popen[str]] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def __post_init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_", "PYTHON"))}
        self.environment = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.folder / "home"),
            "USER": "ada",
            "GAS_CACHE": str(cache_directory(place).parent),  # compiled code of earlier examples is not in the new home
            **self.environment,
        }
        (self.folder / "home").mkdir(exist_ok=True)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        for service in self.services:
            with contextlib.suppress(requests.RequestException):
                for job in requests.get(f"{self.url}/v1/jobs", timeout=10).json()["jobs"]:
                    requests.delete(f"{self.url}/v1/jobs/{job['id']}", timeout=10)
            service.terminate()
            service.communicate()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def read(self, page: str) -> None:
        """Follow a page from top to bottom."""
        blocks = blocks_of(page)
        for number, block in enumerate(blocks):
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            try:
                self.follow(block, following)
            except AssertionError as error:
                raise AssertionError(f"line {block.line}: {error}") from None

    def follow(self, block: Block, following: Block | None) -> None:
        """Follow a block; the next block may be its output."""
        if block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.needs is not None:
            assert block.language == "python", "only Python is merely compiled"
            compile(block.text, "example", "exec")
        elif block.language == "console":
            for command, shown in commands_of(block.text):
                self.type(command, shown)
        elif block.language == "python" and block.title is None:
            output = following.text if following is not None and following.language == "text" else None
            self.run_python(block.text, output)
        elif block.language == "toml":
            check_toml(block.text, self.folder)
        elif block.language == "json":
            check_json(block.text)
        elif block.language == "sh":
            check_shell(block.text)
        elif block.language == "ini":
            check_unit(block.text)

    def type(self, command: str, shown: list[str]) -> None:
        """Run a command as typed, and compare its output."""
        command = command.replace(PORT, self.port)
        words = shlex.split(command, comments=True)
        if words[0] == "export" and len(words) == 2:
            name, _, value = words[1].partition("=")
            self.environment[name] = value
            return
        if words[:2] == ["gas", "serve"] and words[-1] == "&":
            self.serve(words[2:-1], shown)
            return
        if words[0] in OPTIONAL and shutil.which(words[0], path=self.environment["PATH"]) is None:
            pytest.skip(f"the rest needs {words[0]}, which is not installed")
        done = self.shell(command)
        is_error = bool(shown) and shown[0].startswith("gas: ") and done.returncode != 0
        assert done.returncode == 0 or is_error, f"$ {command}\nexit code {done.returncode}\n{done.stderr}{done.stdout}"
        printed = done.stderr if is_error else done.stdout
        wrong = differences(shown, printed.replace(self.port, PORT).replace(str(self.folder), "~"))
        assert not wrong, f"$ {command}\n{wrong}\n{done.stderr}"

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command; `gas` without a shell if it needs none, since that starts faster."""
        words = shlex.split(command, comments=True)
        placeholders = r"\{\w+\}"  # no shell expands them
        plain = words[0] == "gas" and not SHELL_SIGNS & set(re.sub(placeholders, "", command))
        argv = [sys.executable, "-m", *words] if plain else ["bash", "-c", command]
        return subprocess.run(
            argv,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def serve(self, options: list[str], shown: list[str]) -> None:
        """Start S³, and wait until it prints its address."""
        if "--port" not in options:
            options = ["--port", self.port, *options]
        command = [sys.executable, "-m", "gas", "serve", *options]
        service = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.services.append(service)
        assert service.stdout is not None
        said = service.stdout.readline()
        assert self.port in said, f"S³ did not start: {shlex.join(command)}"
        assert not (wrong := differences(shown or ["..."], said.replace(self.port, PORT))), wrong
        deadline = time.monotonic() + 60
        while not requests.get(f"{self.url}/healthz", timeout=10).ok:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def run_python(self, text: str, shown: str | None) -> None:
        """Run a block in the namespace of those before it, as a notebook does."""
        text = text.replace(PORT, self.port)
        known = set(sys.modules)
        printed = io.StringIO()
        kept = dict(os.environ)
        sys.path.insert(0, str(self.folder))
        try:
            os.environ.update(self.environment)
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
                exec(compile(text, "example", "exec"), self.names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            pytest.skip(f"the rest needs {error.name}, which is not installed")
        finally:
            sys.path.remove(str(self.folder))
            os.environ.clear()
            os.environ.update(kept)
            for name in set(sys.modules) - known:  # modules of the page; the next page may use the same names
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
        if shown is not None:
            wrong = differences(shown.splitlines(), printed.getvalue().replace(self.port, PORT))
            assert not wrong, wrong


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def check_toml(text: str, folder: Path) -> None:
    """Read an application or a configuration; a partial application is completed first."""
    import tomllib

    from documents.fields import FieldError
    from gas.application import Application
    from gas.endpoints import load_configuration

    tables = tomllib.loads(text)
    if "endpoints" in tables:
        path = folder / "configuration-of-the-page.toml"
        path.write_text(text)
        configuration = load_configuration(path)
        assert configuration.names
        for name in configuration.names:
            try:
                configuration.endpoint(name)
            except FieldError as error:
                if "cannot be read" not in str(error):  # a file that only the reader has, such as a token
                    raise
        path.unlink()
        return
    tables.setdefault("speedup", {"model": "amdahl", "sequential_time": 3600, "serial_fraction": 0.01})
    if tables["speedup"]["model"] in ("layouts", "goodput"):
        tables.setdefault("unit", "gpus")
    Application.from_tables(tables, "example", name="example")


def check_json(text: str) -> None:
    """Read JSON; an availability list also as one."""
    from gas.availability import SCHEMA, AvailabilityList

    document = json.loads(text)
    if document.get("schema") == SCHEMA:
        AvailabilityList.from_wire(document, "example")


def check_shell(text: str) -> None:
    """Have bash parse a script, and check the arguments and options of each `gas` command in it."""
    parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
    for line in text.replace("\\\n", " ").splitlines():
        for words in gas_commands(line):
            check_command(words)


def gas_commands(line: str) -> list[list[str]]:
    """Return the `gas` commands in a line of a script, each without the program and the rest of a pipe."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    found: list[list[str]] = []
    begins, inside, skip = True, False, False
    for word in lexer:
        if skip or word in ("<", ">", ">>", "2>"):
            skip = not skip
        elif word and set(word) <= set("|&;()"):
            begins, inside = True, False
        elif begins and not re.match(r"\w+=", word):
            begins, inside = False, Path(word).name == "gas"
            found += [[]] if inside else []
        elif inside:
            found[-1].append(word)
    return found


def check_command(words: list[str]) -> None:
    """Check the arguments and options of a command of Gas, without running it."""
    import typer

    command: Any = typer.main.get_command(app)
    context: Any = None
    try:
        while True:
            group = hasattr(command, "commands") or hasattr(command, "list_commands")
            if not group or not words or words[0].startswith("-"):
                break
            name, *rest = words
            context = context or command.make_context("gas", [name])
            found = command.get_command(context, name)
            assert found is not None, f"gas {name}: there is no such command"
            command, words = found, rest
        command.make_context(command.name, list(words))
    except Exception as error:
        if type(error).__name__ == "Exit" or "does not exist" in str(error):
            return
        raise AssertionError(f"gas {command.name} {shlex.join(words)}: {getattr(error, 'message', error)}") from None


def check_unit(text: str) -> None:
    """Read a systemd unit: its sections, each setting once except those that form lists."""
    import configparser

    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert unit.has_section("Unit")
