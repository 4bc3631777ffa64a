"""Whether a partition is open to an account: the lists include subaccounts from 24.11 on."""

from dataclasses import replace

import pytest
from made_clusters import cluster, job

from gas.slurm.accounting import Accounting, Association
from gas.slurm.admission import admits_account
from gas.slurm.cluster import Partition
from gas.slurm.order import Blocked, queue

P = Partition("p", ("n0",))
ROOT, SEA = Association("root", parent=""), Association("sea", parent="root")
ICE = Association("ice", parent="sea")
KNOWN = Accounting("u", (ROOT, SEA, ICE, Association("ice", "u", parent="")))


def open_to(account, *, version="24.11.5", accounting=KNOWN, **lists):
    return admits_account(replace(cluster(), version=version, accounting=accounting), replace(P, **lists), account)


@pytest.mark.parametrize(
    ("lists", "account", "before", "since"),
    [
        ({}, "ice", True, True),
        ({"allowed_accounts": ("sea",)}, "sea", True, True),
        ({"allowed_accounts": ("sea",)}, "ice", False, True),
        ({"allowed_accounts": ("ice",)}, "sea", False, False),
        ({"denied_accounts": ("sea",)}, "ice", True, False),
        ({"denied_accounts": ("ice",)}, "sea", True, True),
        ({"allowed_accounts": ("ice",), "denied_accounts": ("sea",)}, "ice", True, True),
    ],
)
def test_lists_include_the_accounts_below_from_24_11_on(lists, account, before, since):
    """Seen on 22.05.8, 24.11.5 and 26.05.5; AllowAccounts takes precedence over DenyAccounts."""
    assert open_to(account, version="22.05.8", **lists) is before
    assert open_to(account, **lists) is since
    assert open_to(account, version="26.05.5", **lists) is since


def test_what_depends_on_accounts_that_are_not_shown_is_not_known():
    without = replace(KNOWN, associations=(ICE,))
    for accounting in (None, without, Accounting("u")):
        assert open_to("ice", accounting=accounting, allowed_accounts=("sea",)) is None
        assert open_to("ice", accounting=accounting, denied_accounts=("sea",)) is None
        assert open_to("ice", accounting=accounting, allowed_accounts=("ice",)) is True
        assert open_to("ice", accounting=accounting, denied_accounts=("ice",)) is False
        assert open_to("ice", accounting=accounting, version="22.05.8", allowed_accounts=("sea",)) is False
    assert open_to("", allowed_accounts=("sea",)) is None


@pytest.mark.parametrize(("reason", "blocked"), [("PartitionConfig", Blocked.ACCOUNT), ("Priority", None)])
def test_then_the_reason_that_slurm_gives_for_a_waiting_job_tells(reason, blocked):
    made = cluster(job(1, account="ice", reason=reason), partitions=(replace(P, allowed_accounts=("sea",)),))
    assert [one.blocked for one in queue(replace(made, version="24.11.5"))] == [blocked]
