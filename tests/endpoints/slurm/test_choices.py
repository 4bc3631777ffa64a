"""Partitions, accounts and QOS are a choice if they take a user's jobs at all."""

from dataclasses import replace

import pytest

from gas.endpoints.slurm.choices import Choice, choices, usable, why_not
from gas.endpoints.slurm.directives import from_words
from gas.endpoints.slurm.options import Options
from gas.slurm.accounting import Accounting, Association, Bounds, Qos
from gas.slurm.cluster import Cluster, Node, Partition
from gas.slurm.settings import Settings

NODES = tuple(Node(f"n{k}", 4, partitions=("main",)) for k in range(4))
MAIN = Partition("main", ("n0", "n1", "n2", "n3"))
SETTINGS = Settings(
    {}, enforced=frozenset({"associations", "limits", "qos"}), with_accounting=True, partition_limits="ALL"
)
ACCOUNTING = Accounting(
    "ada",
    (
        Association("root"),
        Association("sea", parent="root"),
        Association("ice", parent="root"),
        Association("sea", "ada", parent="sea", qos=("normal", "high"), default_qos="normal"),
        Association("ice", "ada", parent="ice", qos=("normal",), default_qos="normal"),
    ),
    {name: Qos(name) for name in ("normal", "high", "others")},
    default_account="sea",
)


def cluster(*partitions, accounting=ACCOUNTING, settings=SETTINGS):
    return Cluster(
        "ada", 1000, "24.11.5", NODES, (), (), partitions or (MAIN,), settings=settings, accounting=accounting
    )  # fmt: skip


def chosen(cluster, *words, partitions=(MAIN,)):
    return choices(cluster, partitions, Options.of(from_words(words, "here"), now=0), "ada")


def test_accounts_and_their_qos_are_choices_and_the_defaults_come_first():
    assert chosen(cluster()) == [Choice(), Choice(qos="high"), Choice(account="ice")]
    assert [one.words for one in chosen(cluster())] == [(), ("--qos=high",), ("--account=ice",)]
    assert Choice("ice", "high").shown == "+account=ice+qos=high"


def test_what_the_options_fix_is_no_choice():
    assert chosen(cluster(), "--account=ice") == [Choice()]
    assert chosen(cluster(), "--account=sea") == [Choice(), Choice(qos="high")]
    assert chosen(cluster(), "--qos=high") == [Choice()]


def test_without_accounts_there_is_one_choice():
    assert chosen(cluster(accounting=None, settings=None)) == [Choice()]


def test_what_a_partition_is_not_open_to_is_no_choice():
    only = replace(MAIN, allowed_qos=("high",))
    assert chosen(cluster(only), partitions=(only,)) == [Choice(qos="high")]
    without = replace(MAIN, denied_accounts=("sea",))
    assert chosen(cluster(without), partitions=(without,)) == [Choice(account="ice")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"allowed_accounts": ("fire",)}, 'is not open to account "sea"'),
        ({"allowed_qos": ("others",)}, 'is not open to QOS "normal"'),
        ({"state": "INACTIVE"}, "INACTIVE"),
    ],
)
def test_a_partition_that_takes_no_job_of_the_user_is_not_usable(change, words):
    closed = replace(MAIN, name="closed", **change)
    there = cluster(MAIN, closed)
    assert [one.name for one in usable(there, "ada")] == ["main"]
    assert words in why_not(there, closed, "ada").words


def test_groups_count_where_they_are_known():
    staff = replace(MAIN, allowed_groups=("staff",))
    assert usable(cluster(staff), "ada", groups=frozenset({"users"})) == []
    assert usable(cluster(staff), "ada", groups=frozenset({"staff"})) == [staff]
    assert usable(cluster(staff), "ada") == [staff]


def test_a_qos_under_which_no_job_ever_starts_is_no_choice():
    none = replace(ACCOUNTING, qos={**ACCOUNTING.qos, "high": Qos("high", bounds=Bounds(user_jobs=0))})
    assert chosen(cluster(accounting=none)) == [Choice(), Choice(account="ice")]


def test_a_qos_for_large_jobs_only_or_with_no_room_at_the_moment_is_one():
    for bounds in (Bounds(least_tres={"cpu": 16}), Bounds(user_submitted=0)):
        high = replace(ACCOUNTING, qos={**ACCOUNTING.qos, "high": Qos("high", bounds=bounds)})
        assert Choice(qos="high") in chosen(cluster(accounting=high))
