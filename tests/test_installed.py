"""Entry points of installed distributions are read once, all others each time."""

from importlib.metadata import Distribution, entry_points

import installed


def test_what_is_installed_is_found_as_ever_and_read_once(monkeypatch):
    found = entry_points(group="gas.endpoints")
    assert {"s3", "file", "slurm", "oar"} <= {point.name for point in found}
    monkeypatch.setattr("importlib.metadata.PathDistribution.read_text", None)
    assert list(entry_points(group="gas.endpoints")) == list(found)


def test_entry_points_elsewhere_are_read_each_time(tmp_path, monkeypatch):
    monkeypatch.setattr(Distribution, "entry_points", Distribution.entry_points)
    installed.read_once(str(tmp_path / "inside"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "inside")
    for folder, name in ((tmp_path, "outer"), (tmp_path / "inside", "inner")):
        (folder / f"{name}-1.dist-info").mkdir(parents=True)
        (folder / f"{name}-1.dist-info/METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    for point in ("one", "two"):
        for folder, name in ((tmp_path, "outer"), (tmp_path / "inside", "inner")):
            (folder / f"{name}-1.dist-info/entry_points.txt").write_text(f"[made up.{name}]\n{point} = nowhere\n")
        names = [point.name for group in ("outer", "inner") for point in entry_points(group=f"made up.{group}")]
        assert names == [point, "one"]
