"""What the bodies of requests may contain."""

import pytest
from pydantic import ValidationError

from gas.service.refusals import first_problem
from gas.service.requests import IN_WORDS, MachineBody, ReserveBody, ReshapeBody, SubmitBody


def submitted(name):
    return SubmitBody(name=name, processors=1, walltime=60, actuator={"kind": "simulated", "run_time": 1})


@pytest.mark.parametrize(
    "character",
    ["\0", "\n", "\x1b", "\x7f", "\x85", "\x9b", "\u200b", "\u200e", "\u2028", "\u202e", "\u2066", "\u2069", "\ufeff"],
)
def test_a_name_with_control_or_format_characters_is_refused_and_they_are_named(character):
    for make in (submitted, lambda name: ReserveBody(name=name, processors=1, start=1, walltime=1)):
        with pytest.raises(ValidationError) as refused:
            make(f"a{character}b")
        problem = first_problem(refused.value.errors())
        assert f"U+{ord(character):04X}" in problem
        assert "one line without control and format characters" in problem
        assert problem.isprintable()


@pytest.mark.parametrize("name", ["lu.C", "Ozean-Strömung 7", "海流", "حساب", "a\u00a0b", "🌊"])
def test_names_of_all_languages_are_taken(name):
    assert submitted(name).name == name


def test_a_working_directory_has_the_length_that_a_path_can_have():
    actuator = {"kind": "process", "command": ["true"]}
    for directory, right in (("/" + "a" * 4095, True), ("/" + "a" * 4096, False)):
        body = {"processors": 1, "walltime": 1, "actuator": {**actuator, "directory": directory}}
        if right:
            request = SubmitBody.model_validate(body).request("ada")
            assert request.size >= len(directory), "it counts as what its user keeps in the schedule"
        else:
            with pytest.raises(ValidationError):
                SubmitBody.model_validate(body)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("class", "", "class: '': must be up to 64 letters, digits, ., - and _, a letter or digit first"),
        ("key", "a b", "'a b': must be printable ASCII characters, at least 1, without spaces"),
        ("actuator", {"kind": "process", "command": ["a\0"]}, "must be text without NUL characters"),
        ("actuator", {"kind": "process", "command": ["a"], "directory": "b"}, "'b': must be an absolute path, which"),
    ],
)
def test_a_pattern_is_said_in_words(key, value, words):
    body = {"processors": 1, "walltime": 1, "actuator": {"kind": "simulated", "run_time": 1}, key: value}
    with pytest.raises(ValidationError) as refused:
        SubmitBody.model_validate(body)
    problem = first_problem(refused.value.errors())
    assert words in problem
    assert "pattern" not in problem


def test_every_pattern_has_words():
    def patterns(schema):
        below = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
        own = [schema["pattern"]] if isinstance(schema, dict) and isinstance(schema.get("pattern"), str) else []
        return own + [each for one in below for each in patterns(one)]

    found = {
        each
        for body in (MachineBody, ReserveBody, ReshapeBody, SubmitBody)
        for each in patterns(body.model_json_schema())
    }
    of_names = {each for each in found if "ufeff" in each}  # checked with messages of their own
    assert len(of_names) == 1
    assert found - of_names <= set(IN_WORDS)
