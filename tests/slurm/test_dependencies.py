"""What a job waits for, as Slurm shows it."""

import pytest

from gas.slurm.dependencies import Dependency, dependencies_of, fulfilled, fulfilled_from

TIMES = {(1, None): (10, 20), (2, None): (15, None), (3, None): (None, None), (4, 7): (5, 6)}


def holds(text, now, alone=True):
    return fulfilled(*dependencies_of(text), now, lambda job, task: TIMES[job, task], alone)


def test_conditions_are_read_with_and_without_their_states():
    assert dependencies_of("afterany:12(unfulfilled),afterok:13_*(unfulfilled),after:14_3+5") == (
        (Dependency("afterany", 12), Dependency("afterok", 13), Dependency("after", 14, 3, 300)), False,
    )  # fmt: skip
    assert dependencies_of("afterok:1:2?singleton") == (
        (Dependency("afterok", 1), Dependency("afterok", 2), Dependency("singleton")), True,
    )  # fmt: skip
    assert dependencies_of("(null)") == dependencies_of("") == ((), False)


@pytest.mark.parametrize(
    ("text", "since"),
    [("afterany:1", 20), ("afterok:1", 20), ("after:1", 10), ("after:1+1", 70), ("after:2", 15),
     ("after:2?afterok:1", 15), ("after:2,afterok:1", 20), ("afterok:4_7", 6)],
)  # fmt: skip
def test_they_hold_from_an_instant_on(text, since):
    assert not holds(text, since - 1)
    assert holds(text, since)


@pytest.mark.parametrize("text", ["afterany:2", "after:3", "afternotok:1", "aftercorr:1", "afterok:x"])
def test_what_has_not_come_or_is_not_understood_does_not_hold(text):
    assert not holds(text, 1_000_000)


def test_who_waits_for_a_good_end_or_a_bad_one_starts_after_that_alone():
    others, bad = (lambda job, task: TIMES[job, task]), (lambda job, task: True)
    for text, well, badly in (("afterok:1", True, False), ("afternotok:1", False, True), ("afterany:1", True, True)):
        assert fulfilled(*dependencies_of(text), 20, others, True) == well
        assert fulfilled(*dependencies_of(text), 20, others, True, bad) == badly
    assert not fulfilled(*dependencies_of("afternotok:1"), 19, others, True, bad)


def test_a_singleton_waits_for_its_likes():
    assert holds("singleton", 0, alone=True)
    assert not holds("singleton", 0, alone=False)


@pytest.mark.parametrize(
    ("text", "since"),
    [("afterok:1", 20), ("afterok:1:4_7", 20), ("afterok:4_7", 10), ("after:1+1", 70), ("after:2", 15),
     ("after:2?afterok:1", 15), ("afterok:2", None), ("singleton", None), ("afternotok:1", None),
     ("afterok:2?afterany:1", 20), ("afterok:2,afterany:1", None)],
)  # fmt: skip
def test_from_when_on_they_hold_is_known_if_the_ends_of_the_others_are(text, since):
    assert fulfilled_from(*dependencies_of(text), 10, lambda job, task: TIMES[job, task]) == since
