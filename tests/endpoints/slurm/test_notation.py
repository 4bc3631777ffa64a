"""Slurm's notations."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.slurm.notation import duration, instant, node_names, node_states, tasks, words
from gas.errors import BadInput


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[001-004,010]", ["n001", "n002", "n003", "n004", "n010"]),
        ("gpu7", ["gpu7"]),
        ("r[0-1]c[1-2]-ib", ["r0c1-ib", "r0c2-ib", "r1c1-ib", "r1c2-ib"]),
        ("a,b[1,3],c[08-11]x", ["a", "b1", "b3", "c08x", "c09x", "c10x", "c11x"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n1,n1", ["n1"]),
        ("(null)", []),
        ("", []),
        ("N/A", []),
    ],
)
def test_a_node_list_stands_for_its_names(text, names):
    assert node_names(text) == tuple(names)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("n[1-", "ends inside"), ("n1]", "extra bracket"), ("n[1-[2]]", "extra bracket"), ("n[a-c]", '"a-c"'),
        ("n[4-2]", '"4-2"'), ("n1,,n2", "empty name"), ("n1 n2", '" "'), ("n[1-99999999]", "1-99999999"),
        ("n[0-999][0-9999]", "1,000,000 names"),
    ],
)  # fmt: skip
def test_what_is_no_node_list_is_refused_and_named(text, named):
    with pytest.raises(BadInput, match=named.replace("(", r"\(")):
        node_names(text)


numbers = st.lists(st.integers(0, 9999), min_size=1, max_size=6, unique=True)


@given(
    st.text("abcxyz-_.", min_size=1, max_size=5).filter(lambda text: text not in ("-",)),
    numbers,
    st.sampled_from(["", "-ib"]),
)
def test_numbers_come_back_with_their_width(prefix, found, suffix):
    text = f"{prefix}[{','.join(f'{n:04}' for n in found)}]{suffix}"
    assert node_names(text) == tuple(f"{prefix}{n:04}{suffix}" for n in found)


@given(st.integers(0, 500), st.integers(0, 200), st.integers(1, 5))
def test_a_range_is_its_numbers(first, more, width):
    found = node_names(f"n[{first:0{width}}-{first + more}]")
    assert [int(name[1:]) for name in found] == list(range(first, first + more + 1))
    assert {len(name) >= width + 1 for name in found} == {True}


@pytest.mark.parametrize(
    ("text", "listed", "at_once"),
    [
        ("1-5,7%2", [1, 2, 3, 4, 5, 7], 2),
        ("[3-10:2]", [3, 5, 7, 9], None),
        ("[0-3%4]", [0, 1, 2, 3], 4),
        ("57-85:4", [57, 61, 65, 69, 73, 77, 81, 85], None),
        ("8", [8], None),
    ],
)
def test_tasks_of_an_array(text, listed, at_once):
    found = tasks(text)
    assert [task for one in found.ranges for task in one] == listed
    assert len(found) == len(listed)
    assert found.at_once == at_once


def test_a_hundred_thousand_tasks_take_no_room():
    assert len(tasks("0-99999").ranges) == 1
    assert len(tasks("0-99999")) == 100_000


def test_no_tasks_are_no_array():
    assert tasks("N/A") is None


def test_a_list_of_tasks_that_was_cut_off_says_how_to_ask_for_it_in_full():
    with pytest.raises(BadInput, match="SLURM_BITSTR_LEN=0"):
        tasks("1,5,9,13,...")


@pytest.mark.parametrize("text", ["1-", "a", "5-3", "1%x", "1,,2", "1-9:0"])
def test_what_is_no_list_of_tasks_is_refused(text):
    with pytest.raises(BadInput, match="list of tasks"):
        tasks(text)


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_in_each_of_its_forms(days, hours, minutes, seconds):
    assert (
        duration(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    )
    assert duration(f"{hours}:{minutes:02}:{seconds:02}") == (hours * 60 + minutes) * 60 + seconds
    assert duration(f"{minutes}:{seconds:02}") == minutes * 60 + seconds
    assert duration(f"{days}-{hours}") == (days * 24 + hours) * 3600


@pytest.mark.parametrize("text", ["UNLIMITED", "NONE", "INFINITE", "NOT_SET"])
def test_no_limit_is_none(text):
    assert duration(text) is None


@pytest.mark.parametrize("text", ["36600-00:00:01", "99999999999:00", f"{'9' * 5000}-00:00:00", "INVALID"])
def test_more_than_a_hundred_years_are_no_limit(text):
    """Squeue itself prints INVALID for more than one."""
    assert duration(text) is None


def test_a_hundred_years_are_a_limit():
    assert duration("36600-00:00:00") == 36600 * 86400


@pytest.mark.parametrize("text", ["99999999999999", "9" * 18, "9" * 5000, "9999-12-31T23:59:59"])
def test_times_after_the_year_9000_are_its_first_second(text):
    assert instant(text, UTC) == int(datetime(9000, 1, 1, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("text", ["9" * 5000, f"1-{'9' * 5000}", f"1%{'9' * 5000}", "1-99999999999"])
def test_tasks_of_which_there_cannot_be_so_many_are_refused(text):
    with pytest.raises(BadInput, match="list of tasks"):
        tasks(text)


def test_node_numbers_of_thousands_of_digits_are_refused():
    with pytest.raises(BadInput, match="is not a range"):
        node_names(f"n[1-{'9' * 5000}]")


@pytest.mark.parametrize("text", ["20", "1:2:3:4", "soon", "-5:00"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(BadInput, match="is not a duration"):
        duration(text)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(microsecond=0)))
def test_epoch_seconds_and_local_times_are_the_same_moment(moment):
    there = moment.replace(tzinfo=UTC)
    assert instant(moment.isoformat(), UTC) == instant(str(int(there.timestamp()))) == int(there.timestamp())


def test_local_time_is_read_in_the_zone_given():
    zone = ZoneInfo("Europe/Stockholm")
    assert instant("2026-11-21T00:17:44", zone) == int(datetime(2026, 11, 20, 23, 17, 44, tzinfo=UTC).timestamp())
    assert instant("2026-10-25T02:30:00", zone) == int(datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp())


def test_local_time_without_a_zone_says_how_to_ask():
    with pytest.raises(BadInput, match="SLURM_TIME_FORMAT=%s"):
        instant("2026-11-21T00:17:44")


@pytest.mark.parametrize("text", ["N/A", "Unknown", "0", "None"])
def test_a_time_that_is_not_known_is_none(text):
    assert instant(text) is None


@pytest.mark.parametrize(
    ("states", "against", "reserved"),
    [
        (["IDLE"], (), False),
        (["MIXED+PLANNED"], (), False),
        (["IDLE+DRAIN"], ("DRAIN",), False),
        (["DOWN*+DRAIN"], ("DOWN", "DRAIN", "NOT_RESPONDING"), False),
        (["idle", "DRAIN"], ("DRAIN",), False),
        (["IDLE", "POWERED_DOWN", "CLOUD"], (), False),
        (["idle~"], (), False),
        (["MIXED*"], ("NOT_RESPONDING",), False),
        (["IDLE+MAINTENANCE+RESERVED"], (), True),
        (["MAINT"], (), True),
        (["FUTURE"], ("FUTURE",), False),
        (["ALLOCATED", "COMPLETING"], (), False),
    ],
)
def test_in_which_states_no_job_starts_on_a_node(states, against, reserved):
    found = node_states(*states)
    assert (found.why_not, found.reserved) == (against, reserved)


@pytest.mark.parametrize(
    ("states", "completing", "rebooting"),
    [
        (["MIXED"], False, False),
        (["ALLOCATED", "COMPLETING"], True, False),
        (["MIXED+COMPLETING"], True, False),
        (["idle@"], False, True),
        (["IDLE+REBOOT_REQUESTED"], False, True),
        (["DOWN^"], False, True),
        (["IDLE", "POWERING_UP"], False, True),
    ],
)
def test_a_node_that_a_job_leaves_or_that_boots(states, completing, rebooting):
    found = node_states(*states)
    assert (found.completing, found.rebooting) == (completing, rebooting)


def test_words_of_nothing_are_none():
    assert words("(null)") == ()
    assert words("a,b") == ("a", "b")
