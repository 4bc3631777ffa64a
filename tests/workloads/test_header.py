"""Header comments: kept as lines, read as keys."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from workloads import Header, read_swf
from workloads.swf import read_header

WRITTEN = (
    "; Version: 2.2",
    "; Computer: made up",
    "; Acknowledge: Ada",
    "; Information: http://example.org/",
    ";              http://example.org/second",
    "; MaxJobs: 1,234",
    "; UnixStartTime: 843480031",
    "; TimeZoneString: Europe/Stockholm",
    "; MaxNodes: 338 (batch partition; 512 total)",
    ";",
    ";   text that belongs to nothing",
    "; Acknowledge: Grace",
    "; Note: cleaned by",
    ";         user=5 and (hour>=3)",
    ";MaxProcs:100",
)


def test_values_are_found_by_key_in_any_case():
    header = Header(WRITTEN)
    assert header.version == "2.2"
    assert header.computer == header.text("computer") == "made up"
    assert header.installation is None


def test_numbers_may_have_thousands_separators_remarks_and_no_blank_before_them():
    header = Header(WRITTEN)
    assert (header.max_jobs, header.max_nodes, header.max_procs) == (1234, 338, 100)


@pytest.mark.parametrize("text", ["unknown", "1.5", "12,3456", "", "about 30"])
def test_what_is_no_whole_number_is_not_guessed_at(text):
    assert Header((f"; MaxProcs: {text}",)).max_procs is None


def test_whom_to_thank_may_be_several():
    assert Header(WRITTEN).acknowledgements == ("Ada", "Grace")


def test_lines_without_a_key_continue_the_value_until_an_empty_comment():
    header = Header(WRITTEN)
    assert header.text("Information") == "http://example.org/\nhttp://example.org/second"
    assert header.notes == ("cleaned by\nuser=5 and (hour>=3)",)
    assert not any("belongs to nothing" in value for value in header.all("TimeZoneString") + header.all("MaxNodes"))


def test_unknown_keys_are_kept_too():
    assert Header(("; Policy: easy",)).text("Policy") == "easy"


@pytest.mark.parametrize("more", [";   warning: indented text goes on", "; http://example.org/"])
def test_text_with_a_colon_that_goes_on_opens_no_key(more):
    assert Header(("; Note: see", more)).notes == (f"see\n{more.lstrip('; ')}",)


def test_a_value_is_replaced_in_its_place_and_other_lines_stay_as_they_were():
    changed = Header(WRITTEN).with_value("MaxJobs", 7)
    assert changed.lines == (*WRITTEN[:5], "; MaxJobs: 7", *WRITTEN[6:])
    assert Header(WRITTEN).with_value("MaxRuntime", 7).lines == (*WRITTEN, "; MaxRuntime: 7")


def test_replacing_a_value_of_several_lines_or_places_leaves_one():
    changed = Header(WRITTEN).with_value("acknowledge", "all").with_value("Information", "none")
    assert changed.acknowledgements == ("all",)
    assert changed.text("Information") == "none"
    assert len(changed.lines) == len(WRITTEN) - 2


def test_limits_and_names_of_queues_and_partitions_are_understood():
    header = Header(
        (
            "; MaxRuntime: 64800", "; MaxMemory: 1024", "; AllowOveruse: No", "; Preemption: No",
            "; MaxQueues: 3", "; Queues: these are classes",
            "; Queue:  0  interactive    ", "; Queue: 2 long jobs", "; Queue: none", "; Partition: 1 batch",
        )
    )  # fmt: skip
    assert (header.max_runtime, header.max_memory, header.allow_overuse, header.preemption) == (
        64800,
        1024,
        False,
        "No",
    )
    assert header.queues == {0: "interactive", 2: "long jobs"}
    assert header.partitions == {1: "batch"}
    assert (Header().max_runtime, Header().allow_overuse, Header().queues) == (None, None, {})


def test_what_the_archive_removed_is_understood_with_its_filters():
    header = Header(
        (
            "; Note: uses the EASY scheduler (2 jobs removed)",
            "; Note: THIS IS A CLEANED VERSION OF THE LOG!",
            ";       The filters used to produce it were",
            ";         user=38 and (job>=5844 and job<=9471) or (job>=34043 and job<=36016) (2593 jobs removed)",
            ";         job<=10 (1 job removed)",
        )
    )
    assert header.removed == (
        ("user=38 and (job>=5844 and job<=9471) or (job>=34043 and job<=36016)", 2593, 38),
        ("job<=10", 1, None),
    )
    assert Header().removed == ()


def test_what_was_removed_from_real_logs_is_in_their_headers(traces):
    found = {path.name: read_header(path).removed for path in sorted(traces.glob("*.swf.gz"))}
    assert [one.jobs for one in found["CTC-SP2-1996-3.1-cln.swf.gz"]] == [2080]
    assert [one.user for one in found["SDSC-SP2-1998-4.2-cln.swf.gz"]] == [21, 374, 197, 328, None]
    assert all(bool(removed) is ("-cln" in name) for name, removed in found.items())


def test_a_note_of_several_lines_reads_back_as_it_was_given():
    assert Header(WRITTEN).with_note("first\nsecond").notes[-1] == "first\nsecond"


@pytest.mark.parametrize("line", ["Version: 2.2", "", "; a\nb", "; a\rb"])
def test_a_line_that_would_not_read_back_as_a_comment_is_refused(line):
    with pytest.raises(ValueError, match="header line"):
        Header((line,))


def test_the_epoch_is_what_the_header_says():
    epoch = Header(WRITTEN).epoch
    assert (epoch.start, epoch.zone, epoch.assumed) == (843480031, ZoneInfo("Europe/Stockholm"), ())
    # The log of KTH says of this second: Mon Sep 23 14:00:31 CEST 1996.
    assert datetime.fromtimestamp(epoch.start, epoch.zone).isoformat() == "1996-09-23T14:00:31+02:00"


def test_without_unix_start_time_the_written_start_is_used_and_said():
    header = Header(("; TimeZoneString: Europe/Stockholm", "; StartTime: Mon Sep 23 14:00:31 CEST 1996"))
    assert header.epoch.start == 843480031
    assert "StartTime" in header.epoch.assumed[0]


@pytest.mark.parametrize("start", ["Mon Feb 31 14:00:31 CET 1996", "some day in 1996", "Mon Foo 11 14:00:31 1996"])
def test_a_written_start_that_is_no_date_is_not_used(start):
    epoch = Header((f"; StartTime: {start}",)).epoch
    assert epoch.start == 0
    assert "1970-01-01" in epoch.assumed[0]


@pytest.mark.parametrize("name", ["Middle/Earth", "../../etc/passwd", "/etc/localtime", "Europe", "PST/PDT zone"])
def test_an_unusable_zone_falls_back_to_the_offset_then_to_utc_and_says_so(name):
    with_offset = Header((f"; TimeZoneString: {name}", "; TimeZone: -28800", "; UnixStartTime: 0")).epoch
    without = Header((f"; TimeZoneString: {name}", "; UnixStartTime: 0")).epoch
    assert datetime.fromtimestamp(0, with_offset.zone).hour == 16
    assert datetime.fromtimestamp(0, without.zone).hour == 0
    for epoch in (with_offset, without):
        assert len(epoch.assumed) == 1
        assert name in epoch.assumed[0]


def test_a_header_of_nothing_starts_in_1970_in_utc():
    epoch = Header().epoch
    assert epoch.start == 0
    assert len(epoch.assumed) == 2


def test_an_unknown_unix_start_time_is_none():
    assert Header(("; UnixStartTime: -1",)).epoch.start == 0
    assert "no UnixStartTime" in Header(("; UnixStartTime: -1",)).epoch.assumed[0]


@pytest.mark.thorough
def test_in_real_logs_start_time_and_unix_start_time_agree(traces):
    """StartTime is the fallback; UnixStartTime is the check on it."""
    for path in sorted(traces.glob("*.swf.gz")):
        header = read_swf(path).header
        without = Header(tuple(line for line in header.lines if "UnixStartTime" not in line))
        assert without.epoch.start == header.epoch.start == header.unix_start_time, path.name
        assert header.epoch.assumed == ()
