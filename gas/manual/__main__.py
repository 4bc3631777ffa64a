"""``python -m gas.manual FOLDER``: write the pages of the manual into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__" and str(Path(__file__).parents[2]) not in sys.path:  # with Python alone: python -I -S FILE
    sys.path.insert(0, str(Path(__file__).parents[2]))

from gas.manual.roff import command_page, program_page
from gas.manual.stand_ins import install


def write(folder: Path, version: str) -> list[Path]:
    """Write the pages and return them; the process is full of stand-ins afterwards, so it should do nothing else."""
    install()
    from gas.manual.description import listed

    groups = listed()
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"gas": program_page(groups, version)}
    for one in [command for commands in groups.values() for command in commands]:
        pages[f"gas-{one.name.replace(' ', '-')}"] = command_page(one, version)
    paths = []
    for name, text in pages.items():
        path = folder / f"{name}.1"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


if __name__ == "__main__":
    written = write(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
    print(f"{sys.argv[1]}: {len(written)} pages")
