"""Options that studies share: which values they accept, and the messages for those that they do not."""

from itertools import product

import pytest
from thorough import some

STUDIES = (
    "backfilling", "power", "bushel", "walk", "supercomputers", "estimates", "prediction", "setups", "clusters",
    "conditional", "priorities", "accuracy",
)  # fmt: skip
"""Those that have a seed."""


@pytest.mark.parametrize("study", STUDIES)
def test_help_names_whole_numbers_as_such(gas, study):
    found = gas("experiment", study, "--help")
    assert "--seed N " in found.out
    assert "--workers N " in found.out
    assert "<int" not in found.out


SEEDS = ("x", "1.5", "-1", str(2**62 + 1), "", "٣")


@pytest.mark.parametrize(("study", "seed"), some(list(product(STUDIES, SEEDS)), 17))  # each study, and each seed
def test_a_seed_that_is_none_is_refused_in_a_sentence(gas, study, seed):
    found = gas("experiment", study, "--seed", seed)
    assert found.code == 2
    assert f"'--seed': must be a whole number from 0 to {2**62:,}, not '{seed}'" in found.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--workers", 0), "'--workers': must be a whole number from 1 to 256, not '0'"),
        (("--seeds", 1001), "'--seeds': must be a whole number from 1 to 1,000, not '1001'"),
        (("--jobs", "many"), "'--jobs': must be a whole number of 1 or more, not 'many'"),
    ],
)
def test_every_other_number_is_refused_in_the_same_words(gas, options, words):
    found = gas("experiment", "prediction", *options)
    assert found.code == 2
    assert words in found.err


@pytest.mark.parametrize(
    ("study", "option", "least", "most"),
    [("backfilling", "--jobs-per-point", 2100, 10_000_000), ("prediction", "--samples", 1, 10_000)],
)
def test_more_than_memory_holds_is_refused(gas, study, option, least, most):
    found = gas("experiment", study, option, 10**18)
    assert found.code == 2
    assert f"'{option}': must be a whole number from {least:,} to {most:,}, not '{10**18}'" in found.err


def test_the_largest_seed_is_taken(gas, tmp_path):
    found = gas("experiment", "prediction", "--seed", 2**62, "--traces", tmp_path, "--output", tmp_path / "out")
    assert "--seed" not in found.err


def test_help_shows_what_a_study_takes_of_logs_and_months(gas):
    power, backfilling, setups = (gas("experiment", one, "--help").out for one in ("power", "backfilling", "setups"))
    assert "--month" in power
    assert "--month" not in backfilling  # it simulates whole logs
    assert "a file or a folder" in " ".join(backfilling.split())
    assert "a folder. Repeatable" not in " ".join(setups.split())  # it compares with tables of the paper
