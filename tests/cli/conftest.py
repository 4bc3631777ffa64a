"""The paper's worked example (its Fig. 4.4) as files."""

import json

import made_endpoints
import pytest

from gas import AvailabilityList

PAPER = AvailabilityList.of([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40], scheduler="paper")

EXAMPLE = """
name = "example"
[speedup]
model = "table"
times = { 10 = 5, 20 = 3, 30 = 2 }
[walltime]
safety = 1
"""


@pytest.fixture
def example(tmp_path):
    (tmp_path / "example.toml").write_text(EXAMPLE)
    return str(tmp_path / "example.toml")


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "paper.json").write_text(json.dumps(PAPER.to_wire()))
    return str(tmp_path / "paper.json")


@pytest.fixture
def endpoints(tmp_path, monkeypatch):
    """Return a function that writes a configuration of `made_endpoints`: ``endpoints(kth='type = "nodes"')``."""
    made_endpoints.install(tmp_path / "site", monkeypatch)

    def write(**tables):
        path = tmp_path / "gas.toml"
        path.write_text("".join(f"[endpoints.{name}]\n{table}\n" for name, table in tables.items()))
        return str(path)

    return write


@pytest.fixture
def app(tmp_path):
    """Five hours on two processors, one on ten."""
    path = tmp_path / "app.toml"
    path.write_text(
        'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 2 = 18000, 10 = 3600 }\n[walltime]\nsafety = 1\n'
    )
    return str(path)
