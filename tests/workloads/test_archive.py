"""Fetching logs of the archive from a real server on this machine."""

import dataclasses
import gzip
import hashlib
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from archive_server import ArchiveServer

from workloads import LogError, archive, read_swf
from workloads.archive import ArchivedLog, ArchiveError, ArchiveUnreachable, NotInArchive, fetch, find

TEXT = b"; Version: 2.2\n; Acknowledge: somebody\n; MaxProcs: 8\n1 0 -1 3 1" + b" -1" * 13 + b"\n"
PACKED = gzip.compress(TEXT, mtime=0)
UNKNOWN = ArchivedLog("Some-Log-1999-1", "l_some", "a machine")
KNOWN = dataclasses.replace(UNKNOWN, sha256=hashlib.sha256(TEXT).hexdigest())


@pytest.fixture
def server():
    one = ArchiveServer()
    yield one
    one.close()


@pytest.fixture
def get(server, tmp_path):
    """Fetch a log from the server into a folder of the test."""
    return lambda log, **options: fetch(log, base=server.base, directory=tmp_path / "cache", **options)


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").iterdir())


def test_a_log_is_downloaded_once_and_checked_by_the_sum_of_its_plain_text(server, get, tmp_path):
    server.put(KNOWN, PACKED)
    first, second = get(KNOWN), get(KNOWN)
    assert first.path == tmp_path / "cache" / "Some-Log-1999-1.swf.gz"
    assert (first.downloaded, second.downloaded) == (True, False)
    assert first.checked
    assert second.checked
    assert first.sha256 == second.sha256 == KNOWN.sha256
    assert read_swf(first.path).job.tolist() == [1]
    assert server.asked == ["/labs/parallel/workload/l_some/Some-Log-1999-1.swf.gz"]
    assert kept(tmp_path) == ["Some-Log-1999-1.swf.gz"]


def test_how_the_archive_packs_a_log_does_not_matter(server, get):
    server.put(KNOWN, gzip.compress(TEXT, compresslevel=1, mtime=7))
    assert get(KNOWN).checked


def test_a_log_of_unknown_sum_says_so_and_hands_the_sum_on(server, get):
    server.put(UNKNOWN, PACKED)
    for fetched in (get(UNKNOWN), get(UNKNOWN)):
        assert not fetched.checked
        assert fetched.sha256 == hashlib.sha256(TEXT).hexdigest()


def test_another_text_than_the_known_one_is_put_aside_and_both_sums_are_named(server, get, tmp_path):
    other = TEXT.replace(b"1 0 ", b"1 5 ")
    server.put(KNOWN, gzip.compress(other))
    with pytest.raises(ArchiveError) as refused:
        get(KNOWN)
    assert hashlib.sha256(other).hexdigest() in str(refused.value)
    assert KNOWN.sha256 in str(refused.value)
    assert kept(tmp_path) == ["Some-Log-1999-1.swf.gz.mismatch"]
    assert gzip.decompress((tmp_path / "cache" / "Some-Log-1999-1.swf.gz.mismatch").read_bytes()) == other


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (PACKED[:-5], "what arrived is damaged"),
        (PACKED[:40] + b"x" + PACKED[41:], "what arrived is damaged"),
        (b"<html><body>please log in</body></html>", "what arrived is not a log"),
        (b"", "what arrived is not a log"),
        (gzip.compress(b"1 2 3\n", mtime=0), "what arrived is not a log .*this one 3"),
    ],
)
def test_what_is_no_log_is_not_kept(server, get, tmp_path, body, said):
    server.put(UNKNOWN, body)
    with pytest.raises(ArchiveError, match=said):
        get(UNKNOWN)
    assert kept(tmp_path) == []


def test_a_log_longer_than_what_is_looked_at_is_kept(server, get):
    lines = b"".join(b"%d %d 0 3 1" % (n, n) + b" -1" * 13 + b"\n" for n in range(30_000))
    server.put(UNKNOWN, gzip.compress(lines))
    assert len(read_swf(get(UNKNOWN).path)) == 30_000


def test_a_server_that_has_the_file_unpacked_on_the_way_is_no_hindrance(server, get):
    """Some servers send .gz files as "Content-Encoding: gzip" of plain text."""
    server.put(KNOWN, lambda request: request.send(PACKED, Content_Encoding="gzip"))
    fetched = get(KNOWN)
    assert fetched.checked
    assert gzip.decompress(fetched.path.read_bytes()) == TEXT


def test_a_damaged_file_in_the_cache_is_moved_aside_and_fetched_again(server, get, tmp_path):
    (tmp_path / "cache").mkdir()
    path = tmp_path / "cache" / "Some-Log-1999-1.swf.gz"
    for bad in (PACKED[:-3], gzip.compress(b"; another log\n"), b"not packed at all"):
        path.write_bytes(bad)
        server.put(KNOWN, PACKED)
        fetched = get(KNOWN)
        assert fetched.downloaded
        assert fetched.moved_aside.read_bytes() == bad
        assert path.read_bytes() == PACKED


def test_a_file_in_the_cache_stays_where_it_is_if_no_better_one_can_be_had(server, get, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "Some-Log-1999-1.swf.gz").write_bytes(PACKED[:-3])
    with pytest.raises(NotInArchive):
        get(KNOWN)
    assert kept(tmp_path) == ["Some-Log-1999-1.swf.gz"]


def test_offline_only_what_is_there_and_sound_is_used(server, get, tmp_path):
    with pytest.raises(ArchiveError, match=r"Some-Log-1999-1: is not in .*cache; fetch it without --offline"):
        get(KNOWN, offline=True)
    server.put(KNOWN, PACKED)
    path = get(KNOWN).path
    assert get(KNOWN, offline=True).path == path
    path.write_bytes(gzip.compress(b"; another\n"))
    with pytest.raises(ArchiveError, match=f"has the sha256 .*, expected {KNOWN.sha256}"):
        get(KNOWN, offline=True)
    path.write_bytes(PACKED[:-1])
    with pytest.raises(ArchiveError, match="is damaged"):
        get(KNOWN, offline=True)
    assert len(server.asked) == 1


def test_a_file_that_the_server_does_not_have_is_named(get, tmp_path):
    with pytest.raises(NotInArchive, match=r"l_some/Some-Log-1999-1.swf.gz: is not there \(404\)"):
        get(UNKNOWN)
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ("status", "kind"), [(503, ArchiveUnreachable), (500, ArchiveUnreachable), (403, ArchiveError)]
)
def test_a_server_that_refuses_is_quoted(server, get, status, kind):
    server.put(UNKNOWN, lambda request: request.send_error(status))
    with pytest.raises(ArchiveError, match=f"the server refuses with {status}") as refused:
        get(UNKNOWN)
    assert type(refused.value) is kind


def test_a_server_that_is_not_there_is_unreachable(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        base = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ArchiveUnreachable, match="no answer .*refused") as refused:
            fetch(UNKNOWN, base=base, directory=tmp_path)
    assert len(str(refused.value)) < 250
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_leaves_nothing(server, get, tmp_path):
    def broken_off(request):
        request.send(PACKED[:50], promised=len(PACKED))
        request.close_connection = True

    server.put(KNOWN, broken_off)
    with pytest.raises(ArchiveUnreachable, match="broke off"):
        get(KNOWN)
    assert kept(tmp_path) == []


def test_an_interrupted_download_leaves_nothing(server, get, tmp_path):
    def interrupt(share):
        raise KeyboardInterrupt

    server.put(KNOWN, PACKED)
    with pytest.raises(KeyboardInterrupt):
        get(KNOWN, progress=interrupt)
    assert kept(tmp_path) == []


@pytest.mark.thorough
def test_progress_goes_up_to_the_whole(server, get):
    shares = []
    text = TEXT + b"".join(b"; %d\n" % n for n in np.random.default_rng(1).integers(0, 10**15, 50_000))
    server.put(UNKNOWN, gzip.compress(text))
    get(UNKNOWN, progress=shares.append)
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == 1


FULL = """
import resource, sys
from pathlib import Path
from workloads.archive import ArchivedLog, fetch
sys.dont_write_bytecode = True  # half a file would be left
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    fetch(ArchivedLog("Some-Log-1999-1", "l_some", ""), base=sys.argv[1], directory=Path(sys.argv[2]))
except OSError as error:
    print(error.filename, error.strerror, sep="|")
"""


def test_a_disk_that_takes_no_more_is_named_and_nothing_is_left(server, tmp_path):
    server.put(UNKNOWN, PACKED)
    command = [sys.executable, "-c", FULL, server.base, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}|File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_is_a_file_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("")
    server.put(UNKNOWN, PACKED)
    with pytest.raises(OSError, match="cache"):
        fetch(UNKNOWN, base=server.base, directory=tmp_path / "cache")


@pytest.mark.parametrize("base", ["ftp://example.org", "example.org/logs", "http://", "http://[", ""])
def test_an_address_that_is_none_is_refused(tmp_path, base):
    with pytest.raises(LogError, match="is not an address to download from"):
        fetch(UNKNOWN, base=base, directory=tmp_path)


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "kth-sp2-1996-2", "KTH-SP2-1996-2.swf", "kth-sp2-1996-2.swf.gz"])
def test_names_are_found_in_any_case_and_with_the_ending_of_the_file(name):
    assert find(name).name == "KTH-SP2-1996-2"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kth", "did you mean KTH-SP2-1996-2.1-cln or KTH-SP2-1996-2"),
        ("CTC-SP2-1996-3.2-cln", "did you mean CTC-SP2-1996-3.1-cln"),
        ("qqqqqq", "`gas traces list` lists them"),
        ("", "`gas traces list` lists them"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, said):
    with pytest.raises(LogError, match=rf'^"{name}": is not a known log of the archive; .*{said}'):
        find(name)


def test_the_cache_is_where_caches_are(monkeypatch, tmp_path):
    monkeypatch.setenv("GAS_TRACES", "/somewhere/else")  # logs that belong to the user
    monkeypatch.delenv("GAS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert archive.cache_directory() == tmp_path / "gas" / "traces"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert archive.cache_directory() == tmp_path / ".cache" / "gas" / "traces"
    monkeypatch.setenv("GAS_CACHE", str(tmp_path / "own"))
    assert archive.cache_directory() == tmp_path / "own" / "traces"


def test_no_two_logs_have_one_name_and_each_has_an_address():
    assert len({log.name.lower() for log in archive.LOGS}) == len(archive.LOGS)
    assert find("KTH-SP2-1996-2.1-cln").url() == (
        "https://www.cs.huji.ac.il/labs/parallel/workload/l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz"
    )


@pytest.mark.parametrize("log", [log for log in archive.LOGS if log.sha256], ids=lambda log: log.name)
def test_what_is_known_of_a_log_is_what_the_log_says(traces, log):
    path: Path = traces / log.file
    if not path.exists():
        pytest.skip(f"{log.file} is not in GAS_TRACES")
    assert hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest() == log.sha256
    read = read_swf(path)
    days = [np.datetime64(int(read.start_time + at), "s") + offset(read, at) for at in read.submit[[0, -1]]]
    assert tuple(str(day)[:10] for day in days) == log.period
    assert (len(read), read.header.max_procs) == (log.jobs, log.processors)
    assert (read.requested_time > 0).mean() == pytest.approx(log.estimates, abs=5e-5)


def offset(log, at):
    from datetime import datetime

    return np.timedelta64(int(datetime.fromtimestamp(log.start_time + at, log.zone).utcoffset().total_seconds()), "s")


def test_a_real_log_is_fetched_checked_and_its_giver_named(server, get, traces):
    log = find("kth-sp2-1996-2.1-cln")
    server.put(log, (traces / log.file).read_bytes())
    fetched = get(log)
    assert fetched.checked
    thanks = archive.acknowledgement(fetched.path)
    assert "Lars Malinowsky" in thanks
    assert any("Parallel Workloads Archive" in line for line in thanks)


def test_a_copyright_is_shown_with_the_thanks(traces):
    thanks = archive.acknowledgement(traces / "SDSC-SP2-1998-4.2-cln.swf.gz")
    assert any("Copyright 2000 The Regents of the University of California" in line for line in thanks)
