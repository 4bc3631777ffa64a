"""The notebook of the examples runs as users run it, in a kernel of its own, on a real S³."""

import json
import shutil
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "gas.ipynb"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """The kernel ``python3`` is this Python, whatever else is installed; its files are in a folder of the test."""
    spec = tmp_path / "share" / "kernels" / "python3"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    for name in ("PATH", "RUNTIME_DIR", "CONFIG_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"JUPYTER_{name}", str(tmp_path / "share"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")


def outputs(cell):
    return [
        part
        for output in cell.outputs
        for part in (output.get("data", {}).get("text/html"), output.get("data", {}).get("text/plain"))
        if part
    ]


@pytest.mark.process
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_of_the_examples(kernel, start_s3, tmp_path, monkeypatch):
    nbclient, nbformat, _ = (pytest.importorskip(name) for name in ("nbclient", "nbformat", "ipykernel"))
    folder = tmp_path / "examples"
    folder.mkdir()
    for name in ("ocean.toml", "cluster.json", "small.swf"):
        shutil.copy(NOTEBOOK.parent / name, folder)
    monkeypatch.setenv("GAS_ENDPOINT", start_s3(16).url)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    plan, frame, waits, schedule, job, function = (outputs(cell) for cell in code)
    assert "<img" in plan[0]
    assert "<table" in plan[0]
    assert plan[1].startswith("<Plan of ocean: ")
    assert "<table" in frame[0]
    assert "+00:00" in frame[0]
    assert "easy" in waits[0]
    assert "<img" in schedule[0]
    assert job == ["'running on 8\\n'"]
    assert function == ["'coast solved on 8 processors'"]
    assert not list((folder / "gas-calls").iterdir())


def test_the_notebook_is_kept_without_outputs():
    document = json.loads(NOTEBOOK.read_text())
    assert NOTEBOOK.stat().st_size < 10_000
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
