"""What the bodies of requests may hold."""

import pytest
from pydantic import ValidationError

from gas.service.refusals import first_problem
from gas.service.requests import ReserveBody, SubmitBody


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
