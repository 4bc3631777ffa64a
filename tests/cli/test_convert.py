"""``gas convert``: logs from one format to another."""

import io
import json
import re
from pathlib import Path

import pytest

_GUIDE = Path(__file__).parents[2] / "gas" / "guide" / "simulate.md"

SWF = """; MaxProcs: 8
; UnixStartTime: 1714550400
1 0 5 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1
2 9 0 30 2 -1 -1 2 60 -1 1 8 -1 -1 -1 -1 -1 -1
3 12 -1 -1 2 -1 -1 2 60 -1 0 8 -1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    return path


def test_a_log_goes_through_every_format_and_comes_back(gas, log, tmp_path):
    last = log
    for name in ("a.csv", "b.json", "c.swf.gz", "d.txt", "e.csv"):
        done = gas("convert", last, tmp_path / name)
        assert done.code == 0, done.err
        last = tmp_path / name
    assert [line.split(",")[1:4] for line in last.read_text().splitlines() if not line.startswith("#")][1:] == [
        ["0", "5", "60"], ["9", "0", "30"],
    ]  # fmt: skip


def test_what_cannot_be_held_is_said(gas, log, tmp_path):
    done = gas("convert", log, tmp_path / "a.json")
    assert "1 of 3 jobs left out: without a run time" in done.err
    assert "2 jobs written as batsim" in done.err
    assert json.loads((tmp_path / "a.json").read_text())["nb_res"] == 8


def test_the_help_asks_sacct_for_what_the_guide_asks_for(gas):
    """Without Eligible, holds and dependencies would count as waits."""
    (asked,) = re.findall(r"SLURM_TIME_FORMAT=%s sacct -aXP .*State", _GUIDE.read_text().replace(" \\\n", ""))
    assert (
        asked.split() == re.search(r"SLURM_TIME.*State", gas("convert", "--help").out.replace(" \\\n", ""))[0].split()
    )


def test_what_sacct_has_no_field_for_is_said(gas, log, tmp_path):
    log.write_text(SWF.replace("1 7 -1 -1", "1 7 -1 3").replace("9 0 30 2", "9 0 30 1"))
    done = gas("convert", log, tmp_path / "a.sacct")
    assert (
        "not kept in the sacct format: requested processors, executable, the header; swf, csv and parquet keep them"
        in done.err
    )
    assert "sacct has no field" not in gas("convert", log, tmp_path / "a.csv").err


def test_malformed_lines_are_left_out_and_named_or_refused(gas, log, tmp_path):
    log.write_text(SWF + "4 x 1\n5 20 0 10 1 -1 -1 1 10 -1 1 7 -1 -1 -1 -1 -1 -1\n")
    done = gas("convert", log, tmp_path / "a.csv")
    assert done.code == 0
    assert "1 malformed line left out" in done.err
    assert "line 6" in done.err
    assert gas("convert", log, tmp_path / "b.csv", "--strict").code != 0
    assert not (tmp_path / "b.csv").exists()


def test_part_of_a_log_and_the_size_of_its_machine(gas, log, tmp_path):
    assert gas("convert", log, tmp_path / "a.swf", "--first", 1, "--processors", 64).code == 0
    text = (tmp_path / "a.swf").read_text()
    assert "MaxProcs: 64" in text
    assert len([line for line in text.splitlines() if not line.startswith(";")]) == 1


def test_the_load_of_a_log_is_scaled_and_its_header_says_so(gas, tmp_path):
    rows = "".join(
        f"{i} {10 * i} 7 {r} 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n" for i, r in ((1, 20), (2, 10), (3, 10))
    )
    log = tmp_path / "log.swf"
    log.write_text(f"; MaxProcs: 8\n{rows}")  # 160 processor-seconds in 20 s: load 1
    done = gas("convert", log, tmp_path / "a.swf", "--scale-load", 0.5)
    assert "load scaled from 1.000 to 0.5; recorded waits are left out" in done.err
    lines = (tmp_path / "a.swf").read_text().splitlines()
    assert "; Note: Interarrival times multiplied by 2: offered load 0.5 instead of 1" in lines
    assert [line.split()[1:4] for line in lines[2:]] == [["10", "-1", "20"], ["30", "-1", "10"], ["50", "-1", "10"]]


@pytest.mark.parametrize(
    ("header", "load", "message"),
    [
        ("; MaxProcs: 8\n", 0, "must be a number above 0"),
        ("", 0.5, "neither MaxProcs nor MaxNodes; give the machine's number of processors yourself (--processors)"),
    ],
)
def test_a_load_that_cannot_be_reached_is_refused(gas, log, tmp_path, header, load, message):
    log.write_text(SWF.replace("; MaxProcs: 8\n", header))
    done = gas("convert", log, tmp_path / "a.swf", "--scale-load", load)
    assert done.code != 0
    assert message in done.err
    assert not (tmp_path / "a.swf").exists()


def test_standard_input_and_output(gas, log, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SWF.encode())))
    done = gas("convert", "-", "-", "--to", "csv")
    assert done.code == 0
    assert "job,submit,wait,run_time" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "standard output has no suffix that chooses a format; choose one with --to: swf, sacct"),
        (
            ["sacct"],
            "sacct: unknown suffix; use .swf, .sacct, .txt, .psv, .csv, .parquet, .json, or choose",
        ),
        (["a.parquet.gz"], "Parquet is compressed already"),
    ],
)
def test_an_output_of_no_format_is_refused(gas, log, tmp_path, arguments, message):
    done = gas("convert", log, *arguments)
    assert done.code == 2
    assert message in done.err


def test_the_log_itself_is_not_overwritten(gas, log):
    done = gas("convert", log, log)
    assert done.code == 2
    assert log.read_text() == SWF


@pytest.mark.parametrize("suffix", ["csv", "json", "swf"])
def test_simulations_and_audits_read_every_format(gas, log, tmp_path, suffix):
    gas("convert", log, tmp_path / f"a.{suffix}")
    done = gas("simulate", tmp_path / f"a.{suffix}", "--policy", "easy")
    assert done.code == 0, done.err
    assert "2 jobs" in done.out
