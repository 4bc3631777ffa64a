"""The lock for deployers: every package that a service needs, pinned, with checksums, and without host names."""

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK = ROOT / ".ci" / "requirements.lock"
EXTRAS = ("server", "plot", "data")


@pytest.fixture(scope="module")
def locked():
    if not LOCK.exists():
        pytest.skip("there is no lock beside an installed package")
    return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", LOCK.read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def asked():
    """What pyproject.toml requires for a service with its pictures and data."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *(text for extra in EXTRAS for text in project["optional-dependencies"][extra])]
    extras = project["optional-dependencies"]
    for text in list(texts):
        if (requirement := Requirement(text)).name == project["name"]:
            texts += [inner for extra in requirement.extras for inner in extras[extra]]
    return [requirement for requirement in map(Requirement, texts) if requirement.name != project["name"]]


def test_every_dependency_is_locked_to_a_version_that_it_allows(locked, asked):
    for requirement in asked:
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


def test_what_the_dependencies_need_is_locked_too(locked, asked):
    waiting, seen = [canonicalize_name(requirement.name) for requirement in asked], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        assert name in locked, f"{name} is not in the lock: make it anew"
        try:
            needs = distribution(name).requires or []
        except ModuleNotFoundError:
            continue  # not installed here; its own name is locked
        for text in needs:
            inner = Requirement(text)
            if inner.marker is None or inner.marker.evaluate({**default_environment(), "extra": ""}):
                waiting.append(canonicalize_name(inner.name))


def test_every_locked_package_has_a_checksum_and_no_host_is_named(locked):
    text = LOCK.read_text()
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)
    assert "://" not in text
    assert "index-url" not in text
