"""A key becomes a tag that finds its job again, and a command becomes the words of a shell."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from gas.endpoints import JobDescription, Request
from gas.endpoints.oar import submission as of_oar
from gas.endpoints.slurm import submission as of_slurm
from gas.endpoints.slurm.options import Options
from gas.endpoints.wording import checked_name, long_options, name_without_tag, option_list, shell_word, tag_of
from gas.errors import BadInput

LINES = st.text(st.characters(blacklist_characters="\0\n\r", codec="utf-8"))


def batches(name, key):
    job, request = JobDescription(name, ("true",)), Request(1, 60)
    return [
        of_slurm.batch_of(request, job, key=key, options=Options(), words={}),
        of_oar.batch_of(request, job, key=key, resource="core"),
    ]


@given(name=LINES, key=st.text(min_size=1))
def test_a_tag_is_found_in_the_name_that_bears_it(name, key):
    for batch in batches(name, key):
        begins, tag = name_without_tag(batch.name)
        assert name.startswith(begins)
        assert tag == tag_of(key)
    assert name_without_tag(batches(name, key)[0].name) == (name, tag_of(key))


@pytest.mark.parametrize("name", ["ocean", "gas-0123456789abcdef", "a.gas-0123456789abcdeg", "a.gas-0123456789abcdef0"])
def test_other_names_have_no_tag(name):
    assert name_without_tag(name) == (name, None)


@pytest.mark.parametrize("end", ["\0", "\n", "\r"])
def test_a_name_of_several_lines_is_refused(end):
    for make in (checked_name, lambda name: batches(name, "k")):
        with pytest.raises(BadInput, match="more than one line"):
            make(f"a{end}b")


@given(st.lists(st.text(st.characters(blacklist_characters="\0", codec="utf-8"), max_size=5), min_size=1, max_size=4))
def test_a_shell_reads_words_as_they_are_but_for_the_size(words):
    given = [
        *(word.replace("{", "(") for word in words),
        "{processors}",
        "-n{processors}w={walltime}!",
        "{{x}}${nodes}",
    ]
    line = " ".join(shell_word(word, ("processors", "walltime")) for word in given)
    environment = {"GAS_PROCESSORS": "4", "GAS_WALLTIME": "60"}
    program = f"set -- {line}; for word; do printf '%s\\0' \"$word\"; done"
    done = subprocess.run(["/bin/sh"], input=program.encode(), env=environment, capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [*given[:-3], "4", "-n4w=60!", "{x}${nodes}"]


def test_long_options_have_a_value_or_none():
    assert list(long_options(["--a=b=c", "--hold", "--x11=all"], "x", "sbatch", "")) == [
        ("a", "b=c"), ("hold", None), ("x11", "all")
    ]  # fmt: skip


@pytest.mark.parametrize("word", ["-n", "--", "--A=b", "--a b", "account", "--a=b\nc", "--1=2"])
def test_other_words_are_no_options(word):
    with pytest.raises(BadInput, match=r"here: .* is not a long option of sbatch in one word, as in --a=b"):
        list(long_options([word], "here", "sbatch", "--a=b"))


@pytest.mark.parametrize("given", ["--hold", [1], {"a": 1}])
def test_options_of_a_table_are_a_list(given):
    with pytest.raises(FieldError, match=r"options.*list of options of oarsub, as in ..--hold"):
        option_list(Fields({"options": given}, "gas.toml"), "oarsub", "--hold")
    assert option_list(Fields({}, "gas.toml"), "oarsub", "--hold") == []
