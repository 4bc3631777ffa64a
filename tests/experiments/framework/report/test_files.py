"""Reports written into a folder."""

import pytest
from made_report import REPORT

from experiments.framework.report.files import write
from gas.errors import BadInput


def test_what_is_written_is_the_same_every_time(tmp_path):
    for folder in ("a", "b/c"):
        written = write(REPORT, tmp_path / folder, "study")
        assert [path.name for path in written] == ["study.html", "study.md", "dot.svg"]
        assert {path.name for path in (tmp_path / folder).iterdir()} == {"study.html", "study.md", "dot.svg"}
    for name in ("study.html", "study.md", "dot.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / "c" / name).read_bytes()


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"file/study.html: cannot be written"):
        write(REPORT, tmp_path / "file", "study")
