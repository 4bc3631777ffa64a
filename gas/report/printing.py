"""Prints a report's page as PDF by the installed Chromium or Chrome, for which the page's style is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gas.errors import Missing

__all__ = ["print_page"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_SECONDS = 120
"""Time limit for printing a page."""


def print_page(page: Path) -> Path:
    """Print an HTML page as a PDF of the same name, next to it; return its path.

    Raises
    ------
    Missing
        No browser is installed, or it prints nothing; the message says why.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    target = page.with_suffix(".pdf")
    if browser is None:
        raise Missing(f"{target} not written: install Chromium or Chrome, which prints {page.name}")
    with tempfile.TemporaryDirectory() as profile:
        printed = Path(profile, "page.pdf")
        command = [browser, "--headless", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []  # as root it needs this to start
        command += [f"--print-to-pdf={printed}", page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
            why = f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if not printed.exists():
            raise Missing(f"{target} not written: {browser} did not print {page.name} ({why})")
        shutil.move(printed, target)
    return target
