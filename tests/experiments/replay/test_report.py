"""The report of a replay: complete for every format of log, with what it does not know."""

import numpy as np
import pytest
from made_policies import GOOD, LEAVING
from study_files import contents

from workloads import write_swf
from workloads.formats import format_log
from workloads.lublin import generate


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    made = generate(150, 32, generator=np.random.default_rng(5), load=0.9)
    made = made.with_columns(wait=np.arange(150.0) % 50, user=np.arange(150) % 4, requested_time=made.run_time * 2 + 60)
    write_swf(made, folder / "history.swf")
    (folder / "history.txt").write_bytes(format_log(made, "sacct")[0] + b"broken|line\n")
    return folder


def test_what_sacct_printed_becomes_a_report_with_the_record_in_it(gas, log, tmp_path):
    done = gas("replay", log / "history.txt", "-p", 32, "--policy", "easy,s3", "--seeds", 1, "-o", tmp_path / "r",
               "--workers", 1)  # fmt: skip
    assert done.code == 0, done.err
    assert "malformed line" in done.err
    assert "150 jobs waited" in done.out
    text = (tmp_path / "r" / "replay.md").read_text()
    for part in (
        "recorded",
        "26 processors",
        "walltimes corrected",
        "30% moldable",
        "Who loses",
    ):
        assert part in text
    assert "## Limits" in text
    page = (tmp_path / "r" / "replay.html").read_text()
    assert page.count("<svg") + page.count("data:image/svg") >= 3
    assert "Cirne" in page
    before = contents(tmp_path / "r")
    again = gas("replay", log / "history.txt", "-p", 32, "--policy", "easy,s3", "--seeds", 1, "-o", tmp_path / "r",
                "--workers", 1)  # fmt: skip
    assert again.code == 0
    assert contents(tmp_path / "r") == before  # from what was kept


@pytest.mark.thorough
def test_a_policy_that_fails_leaves_the_others_their_report(gas, log, tmp_path):
    (tmp_path / "mine.py").write_text(GOOD + LEAVING)
    done = gas("replay", log / "history.swf", "--policy", f"easy,{tmp_path}/mine.py:Leaving", "--machine", "",
               "--walltimes", "", "--moldable", "0%", "-o", tmp_path / "r", "--workers", 1)  # fmt: skip
    assert done.code == 2
    assert "policy Leaving: start at second" in done.err
    text = (tmp_path / "r" / "replay.md").read_text()
    assert "A policy failed and is left out" in text
    assert "easy" in text


@pytest.mark.thorough
def test_a_log_without_starts_has_no_record_to_compare_with(gas, log, tmp_path):
    made = generate(40, 32, generator=np.random.default_rng(6), load=0.9)
    write_swf(made.with_columns(wait=np.full(40, -1.0)), tmp_path / "log.swf")
    done = gas("replay", tmp_path / "log.swf", "--policy", "easy", "--machine", "80%", "--walltimes", "",
               "--moldable", "0", "-o", tmp_path / "r", "--workers", 1)  # fmt: skip
    assert done.code == 0, done.err
    assert "there is no record to compare with" in done.out
    assert "By size of the machine: mean wait.\n" in (tmp_path / "r" / "replay.md").read_text()


def test_a_machine_of_unknown_size_and_a_pipe_are_refused_with_the_way_out(gas, log, tmp_path):
    refused = gas("replay", log / "history.txt", "-o", tmp_path / "r")
    assert refused.code == 2
    assert "--processors" in refused.err
    assert gas("replay", "-", "-o", tmp_path / "r").code == 2
    assert not (tmp_path / "r").exists()
