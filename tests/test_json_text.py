"""JSON read whole, and item by item."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas import json_text
from gas.json_text import parsed, parsed_items

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["jobs", "meta", "errors", "é\n"]), VALUES | st.lists(VALUES, max_size=9))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Let items end in later pieces than the first, which is rare."""
    monkeypatch.setattr(json_text, "_FIRST_PIECE", 5)


def read(text, key="jobs", build=lambda item: item):
    return parsed_items(text if isinstance(text, bytes) else text.encode(), key, build, strict=False)


@pytest.mark.thorough
@examples(300)
@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_item_by_item_it_says_the_same(document, indent, ascii):
    assert read(json.dumps(document, indent=indent, ensure_ascii=ascii)) == document


def test_each_item_is_built_as_soon_as_it_is_read():
    built = []
    found = read('{"meta": 1, "jobs": [{"id": 7}, 8.5, [], "x"], "errors": []}', build=lambda item: built.append(item))
    assert built == [{"id": 7}, 8.5, [], "x"]
    assert found == {"meta": 1, "jobs": [None] * 4, "errors": []}


def test_what_is_no_object_or_no_list_is_returned_as_it_is():
    assert read("[1, 2]") == [1, 2]
    assert read('{"jobs": {"a": 1}}') == {"jobs": {"a": 1}}


@examples(200)
@given(DOCUMENTS, st.data())
def test_a_document_cut_off_anywhere_is_refused(document, data):
    text = json.dumps(document)
    kept = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ValueError):
        read(text[:kept])


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"jobs"}', '{"jobs": [}', '{"jobs": [1 2]}', '{"jobs": [1,]}', '{"jobs": []} x', "{1: 2}", '{"a": 1,}'],
)
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError):
        read(text)


def test_bytes_that_are_no_utf_8_are_replaced_and_shift_nothing():
    assert read(b'{"jobs": [{"name": "caf\xe9 \xf0\x9f\x98\x80 \xff", "id": 12345678}, 2]}') == {
        "jobs": [{"name": "caf\ufffd \U0001f600 \ufffd", "id": 12345678}, 2]
    }


def test_what_has_no_room_or_is_nested_too_deeply_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="nested too deeply"):
        read('{"jobs": [' + "[" * 100_000 + "]" * 100_000 + "]}")
    monkeypatch.setattr(json_text, "MOST_MEMORY_BYTES", 10_000)
    bomb = '{"jobs": [[' + "[]," * 1_000 + "[]]]}"
    for reader in (read, parsed):
        with pytest.raises(ValueError, match="MiB of memory"):
            reader(bomb)
    assert len(read('{"jobs": [' + "[]," * 1_000 + "[]]}")["jobs"]) == 1_001


@pytest.mark.parametrize("text", ["[1e999]", "[NaN]", '{"a": -Infinity}', "[-1e999]"])
def test_numbers_that_are_not_finite_are_refused_where_they_must_be(text):
    parsed(text)
    with pytest.raises(ValueError, match="is not finite"):
        parsed(text, finite=True)


def test_finite_numbers_are_read_as_they_are():
    assert parsed('[1, 0.5, 1e308, "NaN"]', finite=True) == [1, 0.5, 1e308, "NaN"]
