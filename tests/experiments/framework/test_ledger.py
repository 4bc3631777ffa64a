"""Runs are computed once, kept whole, and never returned for another configuration."""

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from experiments.framework.ledger import Ledger
from gas.errors import BadInput, GasError


def double(configuration, *, notes=None):
    """A run that leaves a note each time it is really computed."""
    if notes is not None:
        with (Path(notes) / "computed").open("a") as stream:
            stream.write(f"{configuration['x']}\n")
    if configuration.get("fail"):
        raise ValueError("this one fails")
    if configuration.get("die"):
        os._exit(9)
    return {"twice": 2 * configuration["x"], "third": configuration["x"] / 3}


def triple(configuration):
    return {"thrice": 3 * configuration["x"]}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "runs", "1")


def computed(tmp_path):
    return [int(line) for line in (tmp_path / "computed").read_text().split()]


XS = [{"x": x} for x in (5, 1, 4, 2)]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_their_configurations(ledger, workers):
    results = ledger.run(double, XS, workers=workers)
    assert [result["twice"] for result in results] == [10, 2, 8, 4]


def test_what_was_computed_is_not_computed_again(ledger, tmp_path):
    run = partial(double, notes=str(tmp_path))
    first = ledger.run(run, XS[:2])
    again = ledger.run(run, XS)
    assert again[:2] == first
    assert computed(tmp_path) == [5, 1, 4, 2]


def test_a_study_that_failed_goes_on_where_it_stopped(ledger, tmp_path):
    run = partial(double, notes=str(tmp_path))
    with pytest.raises(ValueError, match="this one fails"):
        ledger.run(run, [XS[0], {"x": 9, "fail": True}, XS[1]])
    assert ledger.run(run, XS[:2]) == [double(XS[0]), double(XS[1])]
    assert computed(tmp_path) == [5, 9, 1]


def test_another_configuration_function_or_version_is_another_run(ledger):
    ledger.run(double, [{"x": 1}])
    assert ledger.find(double, {"x": 1}) == {"twice": 2, "third": 1 / 3}
    assert ledger.find(double, {"x": 2}) is None
    assert ledger.find(double, {"x": 1, "y": None}) is None
    assert ledger.find(triple, {"x": 1}) is None
    assert Ledger(ledger.folder, "2").find(double, {"x": 1}) is None


def test_what_else_is_kept_of_a_run_is_known_by_its_configuration(ledger):
    ledger.run(double, [{"x": 1}, {"x": 2}, {"x": 3}])
    ledger.run(triple, [{"x": 4}])
    Ledger(ledger.folder, "2").run(double, [{"x": 5}])
    (ledger.folder / "double-0.json").write_text("{")
    assert sorted(one["x"] for one in ledger.others(double, [{"x": 2}])) == [1, 3]
    assert Ledger(ledger.folder / "none", "1").others(double, []) == []


def test_the_order_of_keys_and_bound_arguments_make_no_other_run(ledger, tmp_path):
    ledger.keep(double, {"x": 1, "y": 2}, {"r": 0})
    assert ledger.find(partial(double, notes=str(tmp_path)), {"y": 2, "x": 1}) == {"r": 0}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"result": {}}', b"\xff\xfe"])
def test_a_damaged_file_counts_as_absent_and_is_replaced(ledger, damage):
    ledger.run(double, [{"x": 1}])
    path = ledger.path(double, {"x": 1})
    path.write_bytes(damage)
    assert ledger.find(double, {"x": 1}) is None
    assert ledger.run(double, [{"x": 1}])[0]["twice"] == 2
    assert json.loads(path.read_text())["configuration"] == {"x": 1}


def test_nothing_is_left_of_a_result_that_cannot_be_kept(ledger):
    with pytest.raises(ValueError, match="JSON"):
        ledger.keep(double, {"x": 1}, {"bad": float("nan")})
    assert not ledger.folder.exists() or list(ledger.folder.iterdir()) == []


def test_a_run_that_cannot_be_kept_leaves_no_partial_file(ledger, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(BadInput, match="No space left on device; free space"):
        ledger.run(double, [{"x": 1}])
    assert list(ledger.folder.iterdir()) == []


def test_the_first_time_and_every_later_one_give_the_same(ledger):
    assert ledger.run(double, XS, workers=2) == ledger.run(double, XS) == [double(c) for c in XS]


def test_equal_configurations_are_one_run(ledger, tmp_path):
    results = ledger.run(partial(double, notes=str(tmp_path)), [XS[0], XS[1], dict(XS[0])])
    assert [result["twice"] for result in results] == [10, 2, 10]
    assert computed(tmp_path) == [5, 1]


def test_progress_counts_what_is_kept_too(ledger):
    ledger.run(double, XS[:3])
    counts = []
    ledger.run(double, XS, progress=lambda count, configuration: counts.append(count))
    assert counts == [1, 2, 3, 4]


@pytest.mark.thorough
def test_a_worker_that_dies_is_an_error_and_the_rest_is_kept(ledger):
    with pytest.raises(GasError, match="worker process was killed"):
        ledger.run(double, [{"x": 1, "die": True}, {"x": 2, "die": True}], workers=2)
    assert ledger.run(double, XS, workers=2)[1]["twice"] == 2


def test_a_result_that_was_changed_is_computed_anew(tmp_path):
    ledger = Ledger(tmp_path, "1")
    run = double
    ledger.keep(run, {"x": 3}, {"twice": 6})
    path = ledger.path(run, {"x": 3})
    kept = json.loads(path.read_text())
    for result in ({}, [], 5, {"twice": 7}, {"twice": "6"}):
        path.write_text(json.dumps(kept | {"result": result}))
        assert ledger.find(run, {"x": 3}) is None
    path.write_text("[" * 100_000)
    assert ledger.find(run, {"x": 3}) is None
    assert ledger.cost(run, {"x": 3}) is None


def test_what_cannot_be_kept_is_named_with_a_way_out(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(BadInput, match=r"runs/double-.*json: cannot be written: .*repeat the command"):
        Ledger(tmp_path / "runs", "1").keep(double, {"x": 3}, {"twice": 6})


def test_workers_end_soon_after_a_parent_that_was_killed(tmp_path):
    script = (
        "import sys; from pathlib import Path; from experiments.framework.ledger import Ledger; import test_ledger\n"
        "if __name__ == '__main__':\n"
        f"    Ledger(Path({str(tmp_path)!r}), '1').run(test_ledger.says_who_and_sleeps, "
        f"[{{'folder': {str(tmp_path)!r}, 'n': n}} for n in range(2)], workers=2)\n"
    )
    path = tmp_path / "study.py"
    path.write_text(script)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    parent = subprocess.Popen([sys.executable, str(path)], env=environment)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("worker-*"))) < 2:
        assert parent.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    parent.kill()
    parent.wait()
    while any(alive(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def says_who_and_sleeps(configuration):
    (Path(configuration["folder"]) / f"worker-{os.getpid()}").touch()
    time.sleep(100)
    return {}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
