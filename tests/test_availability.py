"""The availability list on the wire: valid lists survive, all others are refused with the place named."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, availability_lists
from thorough import examples

from documents.fields import FieldError
from gas import AvailabilityList, BadInput, read_availability
from gas.availability import MOST_PROCESSORS, Frame
from gas.reading import parse_json
from gas.times import LATEST


def frame(start, end, free):
    return {"start": start, "end": end, "free": free}


def document(**changed):
    """Return a valid list of three frames with some keys changed; `...` removes a key."""
    whole = {
        "schema": "gas.availability/1",
        "scheduler": "kth",
        "kind": "promise",
        "now": 100,
        "processors": 8,
        "version": "17",
        "frames": [frame(100, 200, 2), frame(200, 300, 0), frame(300, None, 8)],
    }
    return {key: value for key, value in (whole | changed).items() if value is not ...}


def read(tmp_path, content):
    path = tmp_path / "kth.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_availability(path)


# ---------------------------------------------------------------------------------------------------- what is good


def test_the_wire_format_of_the_design(tmp_path):
    text = """{"schema": "gas.availability/1", "scheduler": "kth", "kind": "promise", "now": 1731000000,
    "processors": 100, "version": "8127", "frames": [{"start": 1731000000, "end": 1731000600, "free": 12},
    {"start": 1731000600, "end": null, "free": 100}]}"""
    availability = read(tmp_path, text)
    assert availability.scheduler == "kth"
    assert (availability.kind, availability.now, availability.processors) == ("promise", 1731000000, 100)
    assert availability.version == "8127"
    assert availability.frames == [Frame(1731000000, 1731000600, 12), Frame(1731000600, None, 100)]
    assert availability.starts.dtype == availability.free.dtype == np.int64


@examples(100)
@given(availability_lists())
def test_what_is_written_is_read_again(availability):
    wire = json.loads(json.dumps(availability.to_wire()))
    assert wire["schema"] == "gas.availability/1"
    assert AvailabilityList.from_wire(wire, "wire").to_wire() == availability.to_wire() == wire


def test_extremes_of_the_format_are_valid():
    wire = document(
        now=0,
        processors=MOST_PROCESSORS,
        version="",
        kind="estimate",
        frames=[frame(0, LATEST, 0), frame(LATEST, None, MOST_PROCESSORS)],
    )
    assert AvailabilityList.from_wire(wire, "list").to_wire() == wire


def test_the_last_frame_need_not_be_the_whole_machine():
    wire = document(frames=[frame(100, None, 0)])
    assert AvailabilityList.from_wire(wire, "list").to_wire() == wire


def test_a_list_is_built_from_starts_and_free_processors():
    availability = AvailabilityList.of([0, 5], [3, 7])
    assert availability.frames == [Frame(0, 5, 3), Frame(5, None, 7)]
    assert availability.processors == 7  # by default the largest number that is ever free
    assert AvailabilityList.of(np.array([4]), np.array([3]), processors=9).processors == 9


def test_the_profile_of_a_list_is_a_copy():
    availability = AvailabilityList.of([0, 5], [3, 7])
    availability.profile.free[0] = 1
    assert availability.free.tolist() == [3, 7]


# ---------------------------------------------------------------------------------------------------- what is bad

HUGE = 10**40
REFUSED = {
    "not an object": ([1], "kth.json: [1] is not a table of keys and values"),
    "a number": (5, "kth.json: 5 is not a table"),
    "null": (None, "kth.json: None is not a table"),
    # keys
    "no schema": (document(schema=...), "kth.json schema: is missing"),
    "another schema": (document(schema="gas.plan/1"), 'kth.json schema: "gas.plan/1" is not known'),
    "schema of another kind": (document(schema=1), "kth.json schema: 1 is not a string"),
    "no now": (document(now=...), "kth.json now: is missing"),
    "a mistyped key beside": (document(freed=1), 'kth.json: has no key "freed"'),
    "a mistyped key": (document(shceduler="x"), 'has no key "shceduler"; did you mean "scheduler"?'),
    "a key mistyped": (document(processors=..., procesors=8), 'processors: is missing (is "procesors" meant for it?)'),
    "empty scheduler": (document(scheduler=" "), "kth.json scheduler: ' ' is not a string"),
    "unknown kind": (document(kind="promis"), 'kth.json kind: "promis" is not known; did you mean "promise"?'),
    "version number": (document(version=17), "kth.json version: 17 is not a string"),
    # numbers
    "now in words": (document(now="100"), "kth.json now: '100' is not a whole number"),
    "now with a fraction": (document(now=100.5), "kth.json now: 100.5 is not a whole number"),
    "now true": (document(now=True), "kth.json now: True is not a whole number"),
    "now negative": (document(now=-1), "kth.json now: -1 is below 0"),
    "now too late": (document(now=LATEST + 1), f"kth.json now: {LATEST + 1} is above {LATEST}"),
    "now NaN": (document(now=math.nan), "kth.json now: nan is not a whole number"),
    "no processors": (document(processors=0), "kth.json processors: 0 is below 1"),
    "too many processors": (document(processors=2**31), f"kth.json processors: 2147483648 is above {2**31 - 1}"),
    "infinite processors": (document(processors=math.inf), "kth.json processors: inf is not a whole number"),
    # frames as a whole
    "frames no list": (document(frames={}), "kth.json frames: must be a list of at least one frame"),
    "no frames": (document(frames=[]), "kth.json frames: must be a list of at least one frame"),
    "frame not an object": (document(frames=[[100, None, 8]]), "kth.json frames[0]: [100, None, 8] is not a table"),
    "frame null": (document(frames=[frame(100, 200, 1), None]), "kth.json frames[1]: None is not a table"),
    "frame without end": (document(frames=[{"start": 100, "free": 8}]), "kth.json frames[0] end: is missing"),
    "mistyped key in a frame": (
        document(frames=[{"start": 100, "end": None, "fre": 8}]),
        'kth.json frames[0] free: is missing (is "fre" meant for it?)',
    ),
    "key too many": (document(frames=[frame(100, None, 8) | {"used": 1}]), 'kth.json frames[0]: has no key "used"'),
    # starts and ends
    "first frame not at now": (
        document(frames=[frame(101, None, 8)]),
        "kth.json frames[0] start: 101 is not now (100)",
    ),
    "gap": (
        document(frames=[frame(100, 200, 1), frame(201, None, 8)]),
        "kth.json frames[1] start: 201 leaves a gap: frames[0] ends at 200",
    ),
    "overlap": (
        document(frames=[frame(100, 200, 1), frame(199, None, 8)]),
        "kth.json frames[1] start: 199 leaves an overlap: frames[0] ends at 200",
    ),
    "start with a fraction": (
        document(frames=[frame(100.0, None, 8)]),
        "kth.json frames[0] start: 100.0 is not a whole number",
    ),
    "start true": (document(now=1, frames=[frame(True, None, 8)]), "frames[0] start: True is not a whole number"),
    "last frame ends": (
        document(frames=[frame(100, 200, 8)]),
        "frames[0] end: 200: the last frame has no end",
    ),
    "frame in the middle does not end": (
        document(frames=[frame(100, None, 1), frame(200, None, 8)]),
        "kth.json frames[0] end: None: only the last frame may have no end",
    ),
    "end in words": (
        document(frames=[frame(100, "200", 1), frame(200, None, 8)]),
        "kth.json frames[0] end: '200': is not a whole number",
    ),
    "empty frame": (
        document(frames=[frame(100, 100, 1), frame(100, None, 8)]),
        "kth.json frames[0] end: 100 is not after its start 100",
    ),
    "end before start": (
        document(frames=[frame(100, 50, 1), frame(50, None, 8)]),
        "kth.json frames[0] end: 50 is not after its start 100",
    ),
    "end too late": (
        document(frames=[frame(100, LATEST + 1, 1), frame(LATEST + 1, None, 8)]),
        f"kth.json frames[0] end: {LATEST + 1} is above {LATEST}",
    ),
    "huge end": (document(frames=[frame(100, HUGE, 1), frame(HUGE, None, 8)]), "kth.json frames[0] end: 1000000"),
    # free processors
    "negative": (document(frames=[frame(100, None, -1)]), "kth.json frames[0] free: -1 is outside 0 to 8"),
    "more than there are": (document(frames=[frame(100, None, 9)]), "kth.json frames[0] free: 9 is outside 0 to 8"),
    "huge": (document(frames=[frame(100, None, HUGE)]), "kth.json frames[0] free: 1000000"),
    "NaN": (document(frames=[frame(100, None, math.nan)]), "kth.json frames[0] free: nan is not a whole number"),
    "equal neighbours": (
        document(frames=[frame(100, 200, 8), frame(200, None, 8)]),
        "kth.json frames[1] free: is 8 as in frames[0]",
    ),
}


@pytest.mark.parametrize(("wire", "message"), REFUSED.values(), ids=REFUSED)
def test_a_list_that_breaks_the_format_is_refused_where_it_does(tmp_path, wire, message):
    with pytest.raises(FieldError) as caught:
        read(tmp_path, json.dumps(wire))
    said = str(caught.value)
    assert message in said
    assert said.startswith(str(tmp_path))
    assert "\n" not in said


UNREADABLE = {
    "empty": ("", "is empty; an availability list is a JSON object with schema gas.availability/1"),
    "blank": (" \n ", "is empty"),
    "cut short": (json.dumps(document())[:-9], "not JSON: "),
    "no JSON": ("frames:\n- 1", "not JSON: Expecting value at line 1, column 1"),
    "two documents": ("{}\n{}", "not JSON: Extra data at line 2, column 1"),
    "not UTF-8": (b'{"scheduler": "\xe9t\xe9"}', "not JSON: not UTF-8 text at byte 15"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "deep and complete": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "thousands of digits": (f'{{"now": {"9" * 5000}}}', "not usable JSON: Exceeds the limit"),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_json_is_refused(tmp_path, content, message):
    with pytest.raises(BadInput) as caught:
        read(tmp_path, content)
    said = str(caught.value)
    assert message in said
    assert said.startswith(str(tmp_path / "kth.json"))
    assert "\n" not in said


def test_lists_built_in_python_are_checked_as_strictly():
    with pytest.raises(FieldError, match=r"availability frames\[1\] free: is 3 as in frames\[0\]"):
        AvailabilityList.of([0, 5], [3, 3])
    with pytest.raises(FieldError, match=r"availability frames\[0\] end: 4 is not after its start 5"):
        AvailabilityList.of([5, 4], [3, 2])
    with pytest.raises(FieldError, match="must be a list of at least one frame"):
        AvailabilityList.of([], [], processors=8)
    with pytest.raises(BadInput, match="2 starts of frames, but free processors in 3"):
        AvailabilityList.of([0, 5], [3, 2, 1])
    with pytest.raises(FieldError, match="not a whole number"):
        AvailabilityList.of([0.5], [3])
    with pytest.raises(FieldError, match="4 is outside 0 to 3"):
        AvailabilityList.of([0], [4], processors=3)


# ------------------------------------------------------------------------------------------------------- anything

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["start", "end", "x"]), inner),
    max_leaves=8,
)
odd = st.sampled_from([None, True, 0, -1, 100, 200, 8, 2**31, 2**53, 2**64, 10**30, 1e300, math.nan, "", "x", [], {}])


def read_or_refused(text):
    """Read a list; None if it is refused in one line that names the place."""
    try:
        return AvailabilityList.from_wire(parse_json(text, "doc"), "doc")
    except (BadInput, FieldError) as error:
        said = str(error)
    assert said.startswith("doc")
    assert not set(said) & set("\r\n")
    return None


@examples(300)
@given(json_values)
def test_any_other_json_is_refused(value):
    assert read_or_refused(json.dumps(value)) is None


@examples(600)
@given(st.data())
def test_a_valid_list_with_a_few_things_changed_is_read_or_refused(data):
    wire = document(frames=[dict(one) for one in document()["frames"]])
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from([wire, *wire["frames"]] if isinstance(wire.get("frames"), list) else [wire]))
        if not isinstance(where, dict):
            continue
        key = data.draw(st.sampled_from([*where, "new"]))
        if data.draw(st.booleans()):
            where[key] = data.draw(odd)
        else:
            where.pop(key, None)
    availability = read_or_refused(json.dumps(wire))
    if availability is not None:
        # Lists that were accepted keep the rules of the format.
        frames = availability.frames
        assert frames[0].start == availability.now
        assert frames[-1].end is None
        for one, following in itertools.pairwise(frames):
            assert one.start < one.end == following.start
            assert one.free != following.free
        assert all(0 <= one.free <= availability.processors for one in frames)


@examples(200)
@given(st.binary(max_size=40), st.integers(0, 300))
def test_a_file_damaged_anywhere_is_read_or_refused(junk, at):
    text = json.dumps(document()).encode()
    read_or_refused(text[:at] + junk + text[at + len(junk) :])


@pytest.mark.thorough
def test_reading_is_strict_and_quick_at_once():
    # A hundred thousand frames, each looked at.
    count = 100_000
    availability = AvailabilityList.of(TODAY + np.arange(count), np.arange(count) % 2)
    assert len(AvailabilityList.from_wire(availability.to_wire(), "list").frames) == count
