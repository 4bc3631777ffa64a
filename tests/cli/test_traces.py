"""``gas traces``, against a real server on this machine."""

import gzip
import hashlib
import sys

import pytest
from archive_server import ArchiveServer

from workloads.archive import LOGS, find

TEXT = b"; Version: 2.2\n; Acknowledge: the people of Ames\n; MaxProcs: 8\n1 0 -1 3 1" + b" -1" * 13 + b"\n"
SUM = hashlib.sha256(TEXT).hexdigest()
NASA, KTH = find("NASA-iPSC-1993-3.1-cln"), find("KTH-SP2-1996-2.1-cln")


@pytest.fixture
def server(monkeypatch, tmp_path):
    one = ArchiveServer()
    monkeypatch.setenv("GAS_ARCHIVE", one.base)
    monkeypatch.setenv("GAS_CACHE", str(tmp_path / "cache"))
    one.put(NASA, gzip.compress(TEXT))
    yield one
    one.close()


def test_get_prints_the_path_and_nothing_else_on_standard_output(server, gas, tmp_path):
    done = gas("traces", "get", "nasa-ipsc-1993-3.1-cln")
    path = tmp_path / "cache" / "traces" / NASA.file
    assert (done.code, done.out) == (0, f"{path}\n")
    assert gzip.decompress(path.read_bytes()) == TEXT


def test_get_tells_whom_to_acknowledge_and_that_nothing_was_checked(server, gas):
    for said in ("that of the downloaded log is", "that of the cached log is"):
        done = gas("traces", "get", NASA.name)
        assert "the people of Ames" in done.err
        assert "cite D. G. Feitelson, D. Tsafrir and D. Krakov" in done.err
        assert f"NASA-iPSC-1993-3.1-cln is NOT VERIFIED: its SHA-256 is not known; {said} {SUM}" in done.err
    assert len(server.asked) == 1


def test_get_as_json_says_all_of_it(server, gas, tmp_path):
    (log,) = gas("traces", "get", NASA.name, "-d", tmp_path / "here", "--json").json["logs"]
    assert log["path"] == str(tmp_path / "here" / NASA.file)
    assert (log["sha256"], log["checked"], log["downloaded"]) == (SUM, False, True)
    assert log["acknowledgement"][0] == "the people of Ames"
    assert log["url"] == f"{server.base}/l_nasa_ipsc/{NASA.file}"


def test_get_takes_the_archive_from_the_command_line(gas, tmp_path):
    other = ArchiveServer()
    try:
        other.put(NASA, gzip.compress(TEXT))
        assert gas("traces", "get", NASA.name, "--base-url", other.base, "-d", tmp_path).code == 0
    finally:
        other.close()


def test_list_shows_what_can_be_had_and_what_is_here(server, gas, tmp_path):
    rows = {row.split()[0]: row for row in gas("traces", "list").out.splitlines()}
    lanl = " ".join(rows["LANL-CM5-1994-4.1-cln"].split())
    assert lanl.endswith("CM-5, LANL 1024 122060 1994-10-04 to 1996-09-24 90.7% yes")
    assert not rows[NASA.name].rstrip().endswith("yes")
    gas("traces", "get", NASA.name)
    after = gas("traces", "list")
    assert f"folder: {tmp_path / 'cache' / 'traces'}" in after.err
    (row,) = [row for row in after.out.splitlines() if row.startswith(NASA.name)]
    assert row.rstrip().endswith("yes")


def test_each_column_of_the_list_is_explained(server, gas):
    titles = gas("traces", "list").out.splitlines()[0].split()
    explained = gas("traces", "list", "--help").out.partition("Columns:")[2]
    assert titles[2:] == [line.split()[0] for line in explained.splitlines()[1:] if line.startswith("    ")][:6]


@pytest.mark.parametrize("width", [40, 80, 100])
def test_list_cuts_no_name_in_a_narrow_terminal(server, gas, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = gas("traces", "list").out.splitlines()
    for log in LOGS:
        assert any(log.name in line.split() for line in lines)
    assert max(map(len, lines)) <= width


def test_list_as_json_is_one_object(server, gas):
    gas("traces", "get", NASA.name)
    document = gas("traces", "list", "--json").json
    assert document["schema"] == "gas.traces/1"
    logs = {log["name"]: log for log in document["logs"]}
    assert logs[NASA.name]["path"] is not None
    assert logs[NASA.name]["jobs"] is None
    assert (logs[KTH.name]["path"], logs[KTH.name]["first_day"]) == (None, "1996-09-30")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("get", "kht-sp2-1996-2"), 2, "did you mean KTH-SP2-1996-2"),
        (("get", KTH.name), 1, "is not there (404)"),
        (("get", NASA.name, "--base-url", "http://127.0.0.1:1"), 4, "no answer"),
        (("get", NASA.name, "--base-url", "nowhere"), 2, "is not an address to download from"),
        (("get", NASA.name, "--offline"), 1, "fetch it without --offline"),
        (("get", NASA.name, "-d", "/dev/null"), 1, "/dev/null"),
        (("get",), 2, "Missing argument"),
    ],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(server, gas, arguments, code, said):
    done = gas("traces", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert done.err.startswith("gas: ")
    assert len(done.err.splitlines()) == 1


def test_another_text_than_the_known_one_is_an_error_that_names_both_sums(server, gas):
    server.put(KTH, gzip.compress(TEXT))
    done = gas("traces", "get", KTH.name)
    assert (done.code, done.out) == (1, "")
    assert SUM in done.err
    assert KTH.sha256 in done.err


def test_a_name_that_is_wrong_fetches_none_of_those_that_are_right(server, gas):
    assert gas("traces", "get", NASA.name, "nonsense").code == 2
    assert server.asked == []


def test_several_names_give_several_paths_in_their_order(server, gas):
    ross = find("Sandia-Ross-2001-1.1-cln")
    server.put(ross, gzip.compress(TEXT))
    out = gas("traces", "get", ross.name, NASA.name).out.split()
    assert [path.rpartition("/")[2] for path in out] == [ross.file, NASA.file]


def test_a_file_that_went_bad_is_told(server, gas, tmp_path):
    path = tmp_path / "cache" / "traces" / NASA.file
    gas("traces", "get", NASA.name)
    path.write_bytes(b"\x1f\x8bnonsense")
    done = gas("traces", "get", NASA.name)
    assert done.code == 0
    assert f"{path} was damaged or another log; it was renamed to {path}.mismatch" in done.err


def test_without_pooch_the_way_to_it_is_told(server, gas, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    done = gas("traces", "get", NASA.name)
    assert done.code == 1
    assert 'gas traces get needs pooch: pip install ".[data]" in the source directory of Gas' in done.err
