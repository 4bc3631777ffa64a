"""The site: the pages of the guide, pictures drawn by the commands on them, and the reference of the Python interface.

``gas guide --site DIR`` builds it with mkdocs-material and mkdocstrings (extra `docs`). A broken link, a name without
documentation, or any other warning is an error. Nothing on the site is loaded from elsewhere.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container
from importlib import import_module
from pathlib import Path
from typing import Any

from documents.extras import way_to_install
from gas.errors import BadInput, Missing
from gas.guide.contents import files_of, for_readers, grouped, pages, title_of

__all__ = ["build_site"]

PACKAGES = {
    "gas": "Plans and agents",
    "gas.endpoints": "Schedulers",
    "gas.simulation": "Simulation and audit",
    "gas.workflows.conversions": "Requests for other programs",
    "gas.errors": "Errors",
    "speedup_models": "Speed-up models",
    "workloads": "Logs and models of workloads",
}
"""Packages and modules whose public names are the Python interface, and the titles of their pages."""

WELCOME = """# Gas

Your application can run on 16, 64 or 256 processors: small requests start soon but run long, large requests wait longer
but run faster. Gas reads from each scheduler how many processors are free and when, combines that with the speed-up of
your application, and finds the request – machine, processors, walltime – that **finishes first**.

"""

OPTIONS = {
    "docstring_style": "numpy",
    "docstring_section_style": "list",  # tables are too wide for a phone
    "merge_init_into_class": True,
    "show_root_heading": True,
    "show_root_full_path": False,
    "show_source": False,
    "show_symbol_type_heading": True,
    "show_signature_annotations": True,
    "separate_signature": True,
    "members_order": "source",
    "heading_level": 2,
    "filters": ["!^_"],
    "docstring_options": {"warn_unknown_params": False, "warn_missing_types": False},  # of **options
}
"""How mkdocstrings shows what a docstring says."""

_REFERENCE = re.compile(r"`gas guide ([\w-]+)`")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[[^\]]*\]\(([\w-]+\.png)\)")
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def build_site(folder: Path) -> None:
    """Write the site into a folder, which is replaced if it holds a site.

    Raises
    ------
    BadInput
        The folder holds something else, or a page has a fault, which the message names.
    Missing
        The programs that build it are not installed.
    """
    try:
        from mkdocs.commands.build import build
        from mkdocs.config import load_config
        from mkdocs.exceptions import MkDocsException
    except ImportError as error:
        raise Missing(f"gas guide --site needs {error.name}: {way_to_install('docs')}") from None
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "sitemap.xml").exists())):
        raise BadInput(
            f"--site {folder}: contains other files than a site of this guide; give another folder, or an empty one"
        )
    with tempfile.TemporaryDirectory() as scratch:
        sources, file = Path(scratch) / "pages", Path(scratch) / "mkdocs.yml"
        sources.mkdir()
        file.write_text(json.dumps(settings(sources, folder.absolute(), write_sources(sources))))  # which is YAML too
        warnings = _Warnings()
        logging.getLogger("mkdocs").addHandler(warnings)
        try:
            build(load_config(str(file)))
        except MkDocsException as error:
            raise BadInput("; ".join([*dict.fromkeys(warnings.messages), str(error)])) from None
        finally:
            logging.getLogger("mkdocs").removeHandler(warnings)


class _Warnings(logging.Handler):
    """Keeps what mkdocs warns of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def settings(sources: Path, target: Path, menu: list[Any]) -> dict[str, Any]:
    """Return the settings of mkdocs."""
    handler = {"python": {"options": OPTIONS, "paths": [str(Path(__file__).parents[2])]}}
    return {
        "site_name": "Gas",
        "docs_dir": str(sources),
        "site_dir": str(target),
        "use_directory_urls": False,  # the site also works from a folder, without a server
        "strict": True,
        "nav": menu,
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.indexes", "navigation.top", "content.code.copy", "toc.follow"],
            "palette": [{"scheme": "default", "primary": "teal", "accent": "teal"}],
            "icon": {"logo": "material/chart-timeline"},
        },
        "plugins": ["search", {"mkdocstrings": {"handlers": handler}}],
        "markdown_extensions": [
            "attr_list",
            "tables",
            "pymdownx.superfences",
            {"pymdownx.highlight": {"use_pygments": True}},
            {"toc": {"permalink": True, "toc_depth": 3}},
        ],
        "extra": {"generator": False},
        "extra_css": ["site.css"],
        "validation": {"links": {"anchors": "warn", "unrecognized_links": "warn"}},
    }


def write_sources(folder: Path) -> list[Any]:
    """Write the pages as mkdocs reads them, with their pictures; return the menu."""
    known = pages()
    menu: list[Any] = [{"Gas": "index.md"}]
    index = WELCOME
    for group, names in grouped(known).items():
        menu.append({group: [{short_title(known[name]): f"{name}.md"} for name in names]})
        index += f"\n## {group}\n\n" + "".join(f"- [{title_of(known[name])}]({name}.md)\n" for name in names)
    for name, text in known.items():
        (folder / f"{name}.md").write_text(linked(for_readers(text), known), encoding="utf-8")
        draw_pictures(text, folder)
    reference = []
    for package, title in PACKAGES.items():
        path = f"python-{package.replace('.', '-')}.md"
        (folder / path).write_text(reference_of(package, title), encoding="utf-8")
        reference.append({f"{title} ({package})": path})
        index += ("\n## Python reference\n\n" if len(reference) == 1 else "") + f"- [{title}]({path}): `{package}`\n"
    (folder / "index.md").write_text(index, encoding="utf-8")
    (folder / "site.css").write_text(STYLE, encoding="utf-8")
    return [*menu, {"Python reference": reference}]


STYLE = """
.md-typeset table:not([class]) { font-size: .68rem; }
.md-typeset table:not([class]) :is(th, td) { min-width: 0; padding: .5em .8em; }
.md-typeset h1 { color: inherit; font-weight: 400; }
.md-typeset pre > code { font-size: .75em; }
.md-typeset img { background: white; }
"""


def short_title(text: str) -> str:
    """Return the title of a page as the menu has it: up to a colon."""
    return title_of(text).partition(":")[0]


def linked(text: str, known: Container[str]) -> str:
    """Return a page with a link wherever it names another one, outside blocks of code."""

    def link(named: re.Match[str]) -> str:
        return f"[{named[0]}]({named[1]}.md)" if named[1] in known else named[0]

    parts = _FENCED.split(text)
    parts[::2] = [_REFERENCE.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def draw_pictures(page: str, folder: Path) -> None:
    """Run the commands of a page that shows pictures, and keep these.

    Raises
    ------
    BadInput
        A command fails, or a picture is not drawn.
    """
    wanted = _PICTURE.findall(page)
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as scratch:
        for title, text in files_of(page).items():
            (Path(scratch) / title).write_text(text, encoding="utf-8")
        for block in _CONSOLE.findall(page.replace("\\\n", " ")):
            for line in block.splitlines():
                if line.startswith("$ gas "):
                    _run(line.removeprefix("$ gas "), scratch)
        for picture in wanted:
            if not (Path(scratch) / picture).exists():
                raise BadInput(f"{picture}: no command of the page draws it")
            shutil.copy(Path(scratch) / picture, folder / picture)


def _run(words: str, folder: str) -> None:
    command = f'"$GAS_PYTHON" -m gas {words}'
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "GAS_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise BadInput(f"gas {words}: {done.stderr.strip()}")


def reference_of(package: str, title: str) -> str:
    """Return the page of a package's or module's public names, which mkdocstrings completes."""
    module = import_module(package)
    text, elsewhere = f"# {title}\n\n`import {package}`\n\n", []
    for name in sorted(module.__all__, key=str.lower):
        where = str(getattr(getattr(module, name), "__module__", package))
        if where.partition(".")[0] != package.partition(".")[0]:  # a constant or alias has the module of its type
            where = package
        if where != package and where in PACKAGES:
            elsewhere.append(f"[`{name}`][{where}.{name}]")
        else:
            text += f"::: {where}.{name}\n\n"
    return text + (f"## Described elsewhere\n\n{', '.join(elsewhere)}\n" if elsewhere else "")
