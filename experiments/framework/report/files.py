"""Reports written into a folder: as HTML, as Markdown, and their pictures."""

from __future__ import annotations

from pathlib import Path

from experiments.framework.report.markdown import markdown
from experiments.framework.report.model import Report
from experiments.framework.report.page import html
from gas.errors import BadInput
from workloads.whole_file import whole_file

__all__ = ["write", "write_files"]


def write(report: Report, folder: Path, name: str) -> list[Path]:
    """Write ``name.html``, ``name.md`` and its pictures into a folder; return what was written.

    Raises
    ------
    BadInput
        The folder cannot be written to.
    """
    contents = {f"{name}.html": html(report).encode(), f"{name}.md": markdown(report).encode()}
    contents |= {f"{picture.name}.svg": picture.svg for picture in report.pictures}
    return write_files(folder, contents)


def write_files(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    """Write files into a folder, which is made if need be, each whole or not at all; return their paths."""
    written = []
    for name, data in contents.items():
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(data)
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
        written.append(path)
    return written
