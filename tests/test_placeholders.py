"""Placeholders of commands: their values, and braces that are no placeholders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.placeholders import NAMES, check, filled, pieces, variable

VALUES = {name: place for place, name in enumerate(NAMES)}


@pytest.mark.parametrize("name", NAMES)
def test_a_placeholder_is_filled_in_wherever_it_stands(name):
    assert filled(f"--n={{{name}}},{{{name}}}", VALUES) == f"--n={VALUES[name]},{VALUES[name]}"


@pytest.mark.parametrize(
    "text",
    ["${nodes}", "{}", "{a,b}", '{"gpus": 1}', "{print $1}", "{ gpus }", "{1}", "${gpus:-1}", "a{b c}d", "{", "}{"],
)
def test_braces_of_others_stay(text):
    check([text])
    assert filled(text, VALUES) == text


def test_double_braces_are_the_word_in_braces():
    assert filled("{{gpus}} {{any}} {gpus}", {"gpus": 4}) == "{gpus} {any} 4"


@pytest.mark.parametrize(
    ("word", "hint"), [("{gpu}", "gpus"), ("{procesors}", "processors"), ("{walltme}", "walltime")]
)
def test_an_unknown_word_is_refused_with_the_nearest_right_one(word, hint):
    with pytest.raises(BadInput, match=f'is not a placeholder .*; did you mean "{hint}"'):
        check(["torchrun", f"--x={word}"])


def test_what_has_no_value_is_refused_with_the_way_out_unless_the_job_will_know_it():
    with pytest.raises(BadInput, match=r'\{gpus\}: the application does not count GPUs; set unit = "gpus"'):
        filled("{gpus}", {"processors": 4})
    assert filled("{nodes} {processors}", {"processors": 4}, later={"nodes"}) == "{nodes} 4"


@pytest.mark.parametrize("word", ["{nodes:3}", "x={gpus:>4}", "{tasks!r}"])
def test_a_placeholder_with_a_format_is_an_error_with_the_right_one(word):
    with pytest.raises(BadInput, match=r"is a name alone, without a format; write \{(nodes|gpus|tasks)\}"):
        check([word])


def test_what_is_no_placeholder_may_have_a_format():
    check(["{{nodes:3}}", "${nodes:-3}", "{a:1}"])


@given(st.text(st.sampled_from("{}$ ab") | st.sampled_from("gpus"), max_size=12))
def test_pieces_make_the_text_but_for_doubled_braces(text):
    whole = "".join(piece for piece, _ in pieces(text))
    assert whole == text or "{{" in text
    assert all(piece == f"{{{name}}}" for piece, name in pieces(text) if name)


def test_variables_say_the_same():
    assert variable("gpus_per_node") == "GAS_GPUS_PER_NODE"
