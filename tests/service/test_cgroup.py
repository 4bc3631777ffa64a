"""Cgroups by their files, in a directory that looks like a part of the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.service import cgroup
from gas.service.cgroup import Cgroups, choose, listed, written


def tree(place: Path, controllers: str = "cpuset cpu memory", cpus: str = "0-7") -> Path:
    """Make a cgroup's files."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "cgroup.procs": "",
        "cgroup.controllers": controllers,
        "cgroup.subtree_control": "",
        "cpuset.cpus.effective": cpus,
    }.items():
        (place / name).write_text(text)
    return place


def job(cgroups: Cgroups, name: str, processors: int) -> str:
    """Make the cgroup of a job, with the files that the kernel would make, and return its processors."""
    place = cgroups.root / f"job-{name}"
    place.mkdir()
    for file in ("cpuset.cpus", "cgroup.procs", "cgroup.kill", "cgroup.freeze"):
        (place / file).touch()
    assert cgroups.make(name, processors) == place
    return (place / "cpuset.cpus").read_text()


def test_each_job_has_processors_of_its_own(tmp_path: Path) -> None:
    cgroups = Cgroups(tree(tmp_path))
    assert cgroups.binds
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpuset"
    assert job(cgroups, "1.a", 2) == "0,1"
    assert job(cgroups, "2.b", 4) == "2,3,4,5"
    cgroup.remove(tmp_path / "job-1.a")  # a real one has no files that rmdir minds
    for file in (tmp_path / "job-1.a").iterdir():
        file.unlink()
    cgroup.remove(tmp_path / "job-1.a")
    assert cgroups.of("1.a") is None
    assert job(cgroups, "3.c", 2) == "0,1"


def test_a_job_with_more_processors_than_there_are_is_bound_to_none(tmp_path: Path) -> None:
    """The scheduler's machine may be larger than this one."""
    assert job(Cgroups(tree(tmp_path, cpus="0-3")), "1.a", 5) == ""


def test_without_the_controller_a_job_has_a_cgroup_and_no_processors_of_its_own(tmp_path: Path) -> None:
    cgroups = Cgroups(tree(tmp_path, controllers="memory"))
    assert not cgroups.binds
    assert job(cgroups, "1.a", 2) == ""


def test_a_job_runs_without_a_cgroup_where_the_system_refuses_one(tmp_path: Path) -> None:
    cgroups = Cgroups(tree(tmp_path))
    (tmp_path / "job-1.a").touch()
    assert cgroups.make("1.a", 1) is None
    assert cgroups.of("1.a") is None


@given(st.sets(st.integers(0, 300)))
def test_lists_of_processors_are_read_as_they_are_written(numbers: set[int]) -> None:
    assert listed(written(numbers)) == numbers


@given(st.sets(st.integers(0, 40)), st.integers(1, 20))
def test_processors_are_chosen_among_the_free_ones_and_neighbours_if_there_are_any(
    free: set[int], processors: int
) -> None:
    chosen = choose(free, processors)
    assert set(chosen) <= free
    assert len(set(chosen)) == (processors if len(free) >= processors else 0)
    runs = [first for first in free if all(first + i in free for i in range(processors))]
    if runs:
        assert chosen == list(range(min(runs), min(runs) + processors))


def test_a_list_of_the_kernel_is_read() -> None:
    assert listed("0-2,8,10-11\n") == {0, 1, 2, 8, 10, 11}
    assert listed("\n") == set()


def test_all_in_a_cgroup_are_killed_at_one_stroke(tmp_path: Path) -> None:
    for name in ("cgroup.kill", "cgroup.freeze"):
        (tmp_path / name).touch()
    cgroup.kill(tmp_path)
    assert [(tmp_path / name).read_text() for name in ("cgroup.kill", "cgroup.freeze")] == ["1", ""]


def test_where_the_kernel_cannot_they_are_frozen_killed_and_thawed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.freeze").touch()
    (tmp_path / "cgroup.procs").write_text("11\n12\n")
    killed = []

    def kill(pid: int, number: int) -> None:
        assert (tmp_path / "cgroup.freeze").read_text() == "1"
        killed.append((pid, number))

    monkeypatch.setattr(os, "kill", kill)
    cgroup.kill(tmp_path)
    assert sorted(killed) == [(11, 9), (12, 9)]
    assert (tmp_path / "cgroup.freeze").read_text() == "0"


# -------------------------------------------------------------------------------------------------------- found


def seen(tmp_path: Path, within: str, shown: str = "/") -> tuple[Path, Path]:
    """Return what /proc/self shows for a process in a cgroup of a tree mounted at `tmp_path`/tree."""
    (tmp_path / "cgroup").write_text(f"5:memory:/other\n0::{within}\n")
    mounts = (
        f"30 20 0:1 / /sys rw - sysfs sysfs rw\n31 20 0:26 {shown} {tmp_path}/tree rw shared:4 - cgroup2 cgroup rw\n"
    )
    (tmp_path / "mounts").write_text(mounts)
    return tmp_path / "cgroup", tmp_path / "mounts"


def delegated(monkeypatch: pytest.MonkeyPatch, *places: Path) -> None:
    monkeypatch.setattr(cgroup, "_is_marked", lambda place: place in places)


def test_the_part_of_the_tree_is_the_own_cgroup_or_the_one_above_if_that_was_delegated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = tree(tmp_path / "tree" / "system.slice" / "gas.service")
    inner = tree(unit / "service")
    delegated(monkeypatch, unit, inner)
    found = Cgroups.found(*seen(tmp_path, "/system.slice/gas.service/service"))
    assert found is not None
    assert found.root == unit
    delegated(monkeypatch, unit)
    found = Cgroups.found(*seen(tmp_path, "/system.slice/gas.service"))
    assert found is not None
    assert found.root == unit


def test_a_tree_of_which_a_container_sees_a_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "tree")
    delegated(monkeypatch, root)
    found = Cgroups.found(*seen(tmp_path, "/docker/1", shown="/docker/1"))
    assert found is not None
    assert found.root == root


@pytest.mark.parametrize("within", ["/", "/user.slice"])
def test_what_was_not_delegated_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: str) -> None:
    tree(tmp_path / "tree" / "user.slice")
    tree(tmp_path / "tree")
    delegated(monkeypatch)
    monkeypatch.setattr(cgroup, "_is_ours", lambda place: False)
    assert Cgroups.found(*seen(tmp_path, within)) is None


def test_a_system_without_cgroups_of_version_2_has_none(tmp_path: Path) -> None:
    (tmp_path / "cgroup").write_text("5:memory:/other\n")
    assert Cgroups.found(tmp_path / "cgroup", tmp_path / "none") is None
    assert Cgroups.found(tmp_path / "none", tmp_path / "none") is None


def test_root_takes_only_what_systemd_has_marked_as_delegated(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, who may write everywhere")
    assert (
        Cgroups.found(
            *seen(tmp_path, "/"),
        )
        is None
    )


def test_a_place_that_is_no_cgroup_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"--cgroup {tmp_path}: is not a cgroup of version 2"):
        Cgroups.at(tmp_path)
