"""Pages of Markdown on the terminal, through a pager if there is one."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from gas.cli.tables import say

__all__ = ["show_markdown"]

WIDEST = 100
"""Columns: longer lines of prose are hard to read."""


def show_markdown(text: str, *, plain: bool = False) -> None:
    """Show a page: formatted and in a pager on a terminal, unless `plain`; otherwise as Markdown text."""
    if plain or not sys.stdout.isatty():
        say(text.rstrip("\n"))
        return
    console = Console(highlight=False, width=min(WIDEST, Console().width))
    with console.capture() as captured:
        console.print(Markdown(text, hyperlinks=False))
    pager = _pager()
    if pager:
        reader = subprocess.Popen(pager, stdin=subprocess.PIPE, text=True, errors="replace")
        with suppress(BrokenPipeError):  # the user quit before the end
            reader.communicate(captured.get())
    else:
        sys.stdout.write(captured.get())


def _pager() -> list[str]:
    """Return the command of the user's pager, or `less`, which can show colours; empty if neither is installed."""
    named = shlex.split(os.environ.get("PAGER", ""))
    command = named if named and shutil.which(named[0]) else ["less"]
    if os.environ.get("TERM") == "dumb" or not shutil.which(command[0]):
        return []
    # less quits if the page fits the screen, shows colours, and leaves the text on the screen
    return [*command, "-FRX"] if Path(command[0]).name == "less" else command
