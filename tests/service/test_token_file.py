"""The file of tokens: salted hashes, replaced as a whole by several processes, private to its owner."""

import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import pytest
import warm

from gas.errors import BadInput, Conflict, NotFound, StoreFailed
from gas.service.token_file import add_token, read_tokens, revoke_tokens
from gas.service.tokens import Tokens

BEARER = "Bearer "


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens"


def edited(path, change):
    """Write the file as an editor would: in place, keeping its mode."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def python(program, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, warm.RUN, program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, **options
    )


def test_a_token_has_a_public_id_and_256_random_bits(path):
    made = [add_token(path, "alice") for _ in range(20)]
    for token, record in made:
        assert re.fullmatch(rf"gas_{record.id}_[A-Za-z0-9_-]{{43}}", token)  # 43 characters of base64 are 258 bits
    assert len({token[-43:] for token, _ in made}) == len({record.salt for _, record in made}) == 20


def test_only_a_salted_hash_of_the_secret_is_in_the_file(path):
    token, record = add_token(path, "alice", label="laptop")
    secret = token[-43:]
    assert secret not in path.read_text()
    (entry,) = json.loads(path.read_text())["tokens"]
    assert entry["hash"] == hashlib.sha256(bytes.fromhex(entry["salt"]) + secret.encode()).hexdigest()
    assert entry["hash"] not in repr(record)


def test_the_file_is_for_its_owner_alone_whatever_the_umask(path):
    for mask in (0, 0o777):
        before = os.umask(mask)
        try:
            add_token(path, "alice")
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_was_read_back_is_what_was_added(path):
    made = [
        add_token(path, "alice", label="Alice's ü", expires_in=10)[1],
        add_token(path, "b.o-b_2@kth.se", "operator")[1],
        add_token(path, "x" * 64)[1],
    ]
    assert read_tokens(path) == made


@pytest.mark.parametrize(
    "user", ["", " ", "../alice", "a/b", ".", "..", ".ssh", "-u", "@x", "a b", "a\n", "å", "x" * 65]
)
def test_a_user_that_could_be_mistaken_for_something_else_is_refused(path, user):
    with pytest.raises(BadInput, match="a user has letters, digits and"):
        add_token(path, user)
    assert not path.exists()


@pytest.mark.parametrize("label", ["", "a\nb", "\x1b[2J", "x" * 201])
def test_a_label_is_one_printable_line(path, label):
    with pytest.raises(BadInput, match="one line of 1 to 200 printable"):
        add_token(path, "alice", label=label)


def test_an_id_revokes_one_token_and_a_user_all_of_theirs(path):
    (_, one), (_, two), (_, bob) = add_token(path, "alice"), add_token(path, "alice"), add_token(path, "bob")
    (_, three) = add_token(path, "alice")
    assert revoke_tokens(path, one.id) == [one]
    assert revoke_tokens(path, "alice") == [two, three]
    assert read_tokens(path) == [bob]


def test_a_leaked_token_revokes_itself(path):
    token, record = add_token(path, "alice")
    assert revoke_tokens(path, token) == [record]


def test_revoking_what_is_not_there_changes_nothing_and_repeats_no_token(path):
    token, _ = add_token(path, "alice")
    before = path.read_bytes()
    for which in ("bob", "00000000", token[:-1], "gas_00000000_" + token[-43:]):
        with pytest.raises(NotFound) as refused:
            revoke_tokens(path, which)
        assert token[-43:-1] not in str(refused.value)
    assert path.read_bytes() == before


def test_an_id_is_never_also_a_user(path):
    _, record = add_token(path, "alice")
    with pytest.raises(Conflict, match="is also the id of a token"):
        add_token(path, record.id)


def entry(**changes):
    def change(document):
        found = document["tokens"][1]
        found.update(changes)
        document["tokens"][1] = {key: value for key, value in found.items() if value is not ...}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (entry(id="XYZ"), r"tokens\[1\] id: is not 8 hex"),
        (entry(user="../bob"), r"tokens\[1\] user: \"../bob\": a user has letters"),
        (entry(user=...), r"tokens\[1\] user: is missing"),
        (entry(role="operater"), r"tokens\[1\] role: \"operater\" is not known; did you mean \"operator\""),
        (entry(salt="00"), r"tokens\[1\] salt: is not 32 hex"),
        (entry(hash=None), r"tokens\[1\] hash: is not 64 hex"),
        (entry(created=-1), r"tokens\[1\] created: -1 is below 0"),
        (entry(created=True), r"tokens\[1\] created: True is not a whole number"),
        (entry(expires="never"), r"tokens\[1\] expires: 'never' is not a whole number"),
        (entry(label=7), r"tokens\[1\] label: a label is one line"),
        (entry(rol="user"), r"tokens\[1\]: has no key \"rol\"; did you mean \"role\""),
        (lambda d: d["tokens"].append(d["tokens"][0]), r"tokens\[2\]: has the same id \w+ as another"),
        (lambda d: d["tokens"].append([]), r"tokens\[2\]: \[\] is not a table"),
        (lambda d: d.update(tokens={}), "tokens: is not a list"),
        (lambda d: d.update(schema="gas.tokens/2"), 'schema: "gas.tokens/2" is not known; did you mean'),
        (lambda d: d.update(more=1), 'has no key "more"'),
    ],
)
def test_a_malformed_file_is_refused_and_the_message_names_the_place(path, change, message):
    add_token(path, "alice")
    add_token(path, "bob")
    edited(path, change)
    with pytest.raises(BadInput, match=f"^{re.escape(str(path))}.*{message}"):
        read_tokens(path)


@pytest.mark.parametrize("key", ["salt", "hash", "id"])
def test_a_token_pasted_where_its_hash_belongs_is_not_repeated(path, key):
    add_token(path, "alice")
    token, _ = add_token(path, "bob")
    edited(path, entry(**{key: token}))
    with pytest.raises(BadInput) as refused:
        read_tokens(path)
    assert token[13:] not in str(refused.value)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b"NaN", b"1" * 5000])
def test_what_is_no_tokens_file_is_refused_and_stays_as_it_is(path, text):
    path.touch(0o600)
    path.write_bytes(text)
    with pytest.raises(BadInput, match=re.escape(str(path))):
        add_token(path, "alice")
    assert path.read_bytes() == text


def test_a_folder_made_for_the_file_is_for_its_owner_alone(tmp_path):
    add_token(tmp_path / "new" / "tokens", "alice")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


ADD_MANY = """
import sys
from pathlib import Path
from gas.service.token_file import add_token
for _ in range(int(sys.argv[3])):
    print(add_token(Path(sys.argv[1]), sys.argv[2])[0], flush=True)
"""


def test_two_processes_that_add_at_once_lose_nothing(path):
    both = [python(ADD_MANY, path, user, 25) for user in ("alice", "bob")]
    printed = {
        user: process.communicate(timeout=60)[0].split() for user, process in zip(("alice", "bob"), both, strict=True)
    }
    tokens = Tokens(path)
    for user, given_out in printed.items():
        assert len(given_out) == 25
        assert {tokens.authenticate(BEARER + token).user for token in given_out} == {user}
    assert len(read_tokens(path)) == 50


def test_killed_at_any_moment_it_leaves_a_whole_file_with_every_token_it_gave_out(path):
    given_out = []
    for pause in (0.0, 0.003, 0.007, 0.013):
        process = python(ADD_MANY, path, "alice", 100_000)
        given_out.append(process.stdout.readline().strip())
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        rest = process.communicate(timeout=30)[0]
        given_out += [line for line in rest.splitlines() if len(line) == 56]
    tokens = Tokens(path)
    assert {tokens.authenticate(BEARER + token).user for token in given_out} == {"alice"}
    add_token(path, "bob")  # no lock and no half-written file is in the way


def test_a_full_disk_is_said_and_leaves_the_file_as_it_was(path):
    add_token(path, "alice")
    before = path.read_bytes()
    program = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({len(before)},) * 2)\n{ADD_MANY}"
    process = python(program, path, "bob", 1, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=30)
    assert out == ""
    assert "StoreFailed" in err.splitlines()[-1]
    assert "no token was added or revoked" in err
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["tokens", "tokens.lock"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreFailed, match="cannot be written"):
        add_token(tmp_path / "file" / "tokens", "alice")
