"""Installation of an optional part: only from the source, as Gas is in no package registry."""

import re
import tomllib
from pathlib import Path

from documents.extras import way_to_install

ROOT = Path(__file__).parent.parent.parent


def test_each_extra_that_is_named_exists_and_is_installed_from_the_source():
    there = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    texts = {
        path: path.read_text()
        for folder in ("documents", "gas", "experiments", "speedup_models", "workloads")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".md")
    }
    called = [name for text in texts.values() for name in re.findall(r"""way_to_install\(['"](\w+)['"]\)""", text)]
    written = [
        name for text in texts.values() for one in re.findall(r"\.\[([a-z,]+)\]\"", text) for name in one.split(",")
    ]
    assert len(called) > 10
    assert set(called) | set(written) <= there
    assert way_to_install("sim").startswith('pip install ".[sim]"')
    assert [str(path) for path, text in texts.items() if "apples-gas[" in text] == []
