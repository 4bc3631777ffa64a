"""gas token: tokens are added, listed and revoked; a token is shown once, only on standard output."""

import json
import stat
import subprocess
import sys
import time

import pytest

from gas.errors import Unauthorized
from gas.service.tokens import Tokens


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state" / "gas" / "s3" / "tokens"  # tests/conftest.py: XDG_STATE_HOME


def user_of(file, token):
    who = Tokens(file).authenticate(f"Bearer {token}")
    return who.user, who.role


def test_add_prints_the_token_alone_and_says_the_rest_on_standard_error(gas, file):
    added = gas("token", "add", "alice")
    assert added.code == 0
    token = added.out.removesuffix("\n")
    assert user_of(file, token) == ("alice", "user")
    assert token not in added.err
    assert token[13:] not in file.read_text()
    for said in ("only once", str(file), "GAS_TOKEN", "token_file", "after its next start"):
        assert said in added.err
    assert "next start" not in gas("token", "add", "bob").err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_where_the_tokens_are(gas, file, tmp_path):
    gas("token", "add", "a", "--name", "kth")
    gas("token", "add", "b", "--state", str(tmp_path / "here"))
    gas("token", "add", "c", "--tokens", str(tmp_path / "site.json"))
    for place in (file.parents[1] / "kth" / "tokens", tmp_path / "here" / "tokens", tmp_path / "site.json"):
        assert len(json.loads(place.read_text())["tokens"]) == 1
    both = gas("token", "add", "a", "--state", str(tmp_path), "--tokens", str(tmp_path / "t"))
    assert (both.code, both.out) == (2, "")
    assert "give one" in both.err
    assert gas("token", "add", "a", "--name", "../../x").code == 2


def test_role_label_and_expiry(gas, file):
    before = int(time.time())
    added = gas(
        "token", "add", "bob", "--role", "operator", "--label", "bob's laptop", "--expires", "30d", "--json"
    ).json
    assert (added["schema"], added["user"], added["role"], added["label"]) == (
        "gas.token/1", "bob", "operator", "bob's laptop",
    )  # fmt: skip
    assert added["expires"] - added["created"] == 30 * 86400
    assert before <= added["created"] <= time.time()
    assert user_of(file, added["token"]) == ("bob", "operator")
    with pytest.raises(Unauthorized, match="expired"):
        Tokens(file, clock=lambda: added["expires"]).authenticate(f"Bearer {added['token']}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["../alice"], "a user has letters"),
        (["alice", "--role", "root"], "root"),
        (["alice", "--expires", "30"], "without a unit"),
        (["alice", "--expires", "0d"], "at least 1 s"),
        (["alice", "--label", "a\nb"], "one line"),
        ([], "USER"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_made(gas, file, arguments, said):
    refused = gas("token", "add", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert refused.err.count("\n") == 1
    assert not file.exists()


def test_list_shows_whose_tokens_there_are_and_nothing_secret(gas, file):
    alice = gas("token", "add", "alice", "--label", "laptop").out.strip()
    bob = gas("token", "add", "bob", "--role", "operator", "--expires", "30d").out.strip()
    table = gas("token", "list")
    rows = table.out.splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [[alice[4:12], "alice", "user"], [bob[4:12], "bob", "operator"]]
    assert "laptop" in rows[0]
    assert "never" in rows[0]
    assert "in 29d23h" in rows[1] or "in 30d00h" in rows[1]
    listed = gas("token", "list", "--json")
    assert (listed.json["schema"], listed.json["file"]) == ("gas.tokens/1", str(file))
    assert [set(entry) for entry in listed.json["tokens"]] == 2 * [
        {"id", "user", "role", "label", "created", "created_iso", "expires", "expires_iso", "expired"}
    ]
    secret = json.loads(file.read_text())["tokens"]
    for shown in (table.out, listed.out):
        for entry, token in zip(secret, (alice, bob), strict=True):
            assert not any(part in shown for part in (token[13:], entry["salt"], entry["hash"]))


def test_list_marks_what_has_expired(gas, file):
    gas("token", "add", "alice", "--expires", "1s")
    document = json.loads(file.read_text())
    document["tokens"][0]["expires"] = 1_000_000_000
    file.write_text(json.dumps(document))
    assert "expired 2001-09-09T01:46:40Z" in gas("token", "list").out
    assert gas("token", "list", "--json").json["tokens"][0]["expired"] is True


def test_list_without_a_file_or_without_tokens_says_what_that_means(gas):
    missing = gas("token", "list")
    assert missing.code == 2
    assert "gas token add" in missing.err
    gas("token", "add", "alice")
    gas("token", "revoke", "alice")
    empty = gas("token", "list")
    assert empty.code == 0
    assert "refuses all requests" in empty.err


def test_revoke_takes_one_token_or_all_of_a_user_and_a_running_service_sees_it(gas, file):
    one, two, three, bob = (gas("token", "add", user).out.strip() for user in ("alice", "alice", "alice", "bob"))
    running = Tokens(file)
    assert gas("token", "revoke", one[4:12]).out == f"revoked 1 token of alice: {one[4:12]}\n"
    assert gas("token", "revoke", "alice").out.startswith("revoked 2 tokens of alice: ")
    for token in (one, two, three):
        with pytest.raises(Unauthorized):
            running.authenticate(f"Bearer {token}")
    assert running.authenticate(f"Bearer {bob}").user == "bob"
    assert [entry["id"] for entry in gas("token", "revoke", "bob", "--json").json["revoked"]] == [bob[4:12]]


def test_revoking_what_is_not_there_fails(gas):
    assert gas("token", "revoke", "alice").code == 1
    token = gas("token", "add", "alice").out.strip()
    refused = gas("token", "revoke", "bob")
    assert (refused.code, refused.out) == (1, "")
    assert '"bob"' in refused.err
    assert token[13:-1] not in gas("token", "revoke", token[:-1]).err


def test_a_damaged_file_is_named_with_the_place(gas, file):
    gas("token", "add", "alice")
    document = json.loads(file.read_text())
    document["tokens"][0]["role"] = "admin"
    file.write_text(json.dumps(document))
    for command in (["list"], ["add", "bob"], ["revoke", "alice"]):
        refused = gas("token", *command)
        assert refused.code == 2
        assert f'{file} tokens[0] role: "admin" is not known' in refused.err


def test_two_programs_that_add_at_once_both_get_in(file):
    command = [sys.executable, "-m", "gas", "token", "add", "alice"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=60)[0].strip() for process in both]
    assert [user_of(file, token) for token in printed] == 2 * [("alice", "user")]
