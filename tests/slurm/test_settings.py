"""What a configuration says of limits, preemption and the release; nothing is guessed where it is not published."""

import pytest

from gas.slurm.settings import Settings


@pytest.mark.parametrize(
    ("enforced", "limits", "associations", "qos", "safe"),
    [
        (None, None, None, None, False),
        ((), False, False, False, False),
        (("associations",), False, True, False, False),
        (("limits",), True, True, False, False),
        (("qos",), False, True, True, False),
        (("safe",), True, True, False, True),
        (("all",), True, True, True, True),
    ],
)
def test_what_is_enforced(enforced, limits, associations, qos, safe):
    found = Settings(enforced=None if enforced is None else frozenset(enforced), with_accounting=True)
    assert (found.limits_enforced, found.associations_enforced, found.qos_enforced, found.safe) == (
        limits, associations, qos, safe,
    )  # fmt: skip


def test_without_accounting_nothing_is():
    found = Settings(enforced=frozenset({"all"}), with_accounting=False)
    assert (found.limits_enforced, found.associations_enforced, found.qos_enforced) == (False, False, False)


@pytest.mark.parametrize(
    ("kind", "mode", "preempts"),
    [(None, (), False), ("none", ("REQUEUE",), False), ("qos", ("OFF",), False), ("qos", ("CANCEL",), True)],
)
def test_whether_jobs_are_preempted(kind, mode, preempts):
    assert Settings(preempt_type=kind, preempt_mode=frozenset(mode)).preempts == preempts


@pytest.mark.parametrize(
    ("version", "release"), [("22.05.8", (22, 5)), ("26.05", (26, 5)), (None, (0, 0)), ("x", (0, 0))]
)
def test_releases_compare(version, release):
    assert Settings(version=version).release() == release
