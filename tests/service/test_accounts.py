"""The Unix users as whom jobs may run, with a made-up table of users."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from gas.errors import BadInput
from gas.service.accounts import LOWEST, Account, Accounts, lowest_uid
from gas.service.jobs import Job, JobRequest
from gas.service.runner import command_of

USERS = {
    "root": (0, 0),
    "toor": (0, 0),
    "daemon": (1, 1),
    "gas": (990, 990),
    "twin": (990, 990),
    "nobody": (65534, 65534),
    "wheel": (1002, 0),
    "ada": (1001, 1001),
    "ada.b-c_d": (200_001, 200_000),
}


def lookup(name: str) -> pwd.struct_passwd:
    uid, gid = USERS[name]
    return pwd.struct_passwd((name, "x", uid, gid, "", f"/home/{name}", "/bin/bash"))


@pytest.fixture
def accounts() -> Accounts:
    return Accounts("gas", 1000, lookup)


@pytest.mark.parametrize("user", ["ada", "ada.b-c_d"])
def test_an_ordinary_user_has_an_account(accounts: Accounts, user: str) -> None:
    account = accounts.of(user)
    assert (account.name, account.uid, account.gid) == (user, *USERS[user])
    assert account.gid in account.groups
    assert account.environment["HOME"] == f"/home/{user}"


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("root", "has uid 0; jobs never run as root"),
        ("toor", "has uid 0; jobs never run as root"),
        ("daemon", "has uid 1, which is a system user .*begin at 1000"),
        ("gas", "is the account of this service"),
        ("twin", "is the account of this service"),
        ("nobody", "has uid 65534, which is a system user"),
        ("wheel", "has root's group as its primary group"),
        ("eve", "is not a Unix user of this machine"),
        ("", "is not a Unix user of this machine"),
    ],
)
def test_others_are_refused_with_the_reason_and_the_way_out(accounts: Accounts, user: str, why: str) -> None:
    with pytest.raises(BadInput, match=f"^user {user}: {why}.*(use a token of an ordinary user|create that account)"):
        accounts.of(user)


def test_names_that_the_system_cannot_look_up_are_no_users() -> None:
    for name in ("a\0b", "\udcff", "0", "+", "../root"):
        with pytest.raises(BadInput, match="is not a Unix user"):
            Accounts("gas", 1000).of(name)


def test_the_rule_is_kept_in_the_state_directory(tmp_path: Path, accounts: Accounts) -> None:
    assert Accounts.read(tmp_path) is None
    accounts.write(tmp_path)
    kept = Accounts.read(tmp_path)
    assert kept is not None
    assert (kept.service, kept.lowest) == ("gas", 1000)
    (tmp_path / "accounts.json").write_text("[]")
    assert Accounts.read(tmp_path) is None


def test_the_first_ordinary_uid_is_that_of_login_defs(tmp_path: Path) -> None:
    definitions = tmp_path / "login.defs"
    assert lowest_uid(definitions) == LOWEST
    definitions.write_text("#UID_MIN 5\nSYS_UID_MIN 100\nUID_MIN\t\t 2000\nUID_MAX 60000\n")
    assert lowest_uid(definitions) == 2000
    definitions.write_text("UID_MIN 0\n")
    assert lowest_uid(definitions) == 1


def test_a_job_begins_in_the_home_of_its_user_with_a_login_s_environment(tmp_path: Path) -> None:
    account = Account("ada", 1001, 1001, (1001,), "/home/ada", "")
    request = JobRequest(
        "job", "x", 2, 60, actuator="process", command=("true",), environment={"A": "1", "SHELL": "/bin/zsh"}
    )
    command = command_of(Job(7, request, 0, "queued", 0, 0, 0, 0), tmp_path, account)
    assert command.directory == "/home/ada"
    assert command.environment == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/ada",
        "USER": "ada",
        "LOGNAME": "ada",
        "SHELL": "/bin/zsh",
        "GAS_JOB_ID": "7",
        "GAS_PROCESSORS": "2",
        "GAS_WALLTIME": "60",
        "A": "1",
    }


def test_the_numbers_of_an_account_are_what_a_wrapper_takes() -> None:
    assert Account("ada", 1, 2, (2, 30), "/", "").to_text() == "1:2:2,30"
