"""Tokens: a file of salted hashes that several processes may change while a service reads it."""

import hashlib
import json
import logging
import os
import pwd
import re
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.errors import BadInput, Conflict, NotFound, StoreFailed, Unauthorized
from gas.service.token_file import add_token, read_tokens, revoke_tokens
from gas.service.tokens import Principal, Tokens, the_service_user

BEARER = "Bearer "


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens"


def edited(path, change):
    """Write the file as somebody with an editor would: in place, leaving its mode as it is."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def python(program, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True, **options
    )


# ---------------------------------------------------------------------------------------------------------- in and out


def test_a_token_names_its_user_and_role(path):
    alice, _ = add_token(path, "alice")
    root, _ = add_token(path, "alice", "operator")
    tokens = Tokens(path)
    assert tokens.authenticate(BEARER + alice) == Principal("alice", "user")
    assert tokens.authenticate(f"bearer   {root} ") == Principal("alice", "operator")
    assert [tokens.authenticate(BEARER + t).is_operator for t in (alice, root)] == [False, True]


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


def test_a_token_expires_at_its_instant(path):
    token, record = add_token(path, "alice", expires_in=60, now=1000)
    assert record.expires == 1060
    now = 1059.9
    tokens = Tokens(path, clock=lambda: now)
    assert tokens.authenticate(BEARER + token).user == "alice"
    now = 1060.0
    with pytest.raises(Unauthorized, match=r"expired \(at 1970-01-01T00:17:40Z\)") as refused:
        tokens.authenticate(BEARER + token)
    assert token[-43:] not in str(refused.value)


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


# ------------------------------------------------------------------------------------------------------------ revoking


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


def test_the_last_token_revoked_leaves_a_file_that_lets_nobody_in(path):
    token, _ = add_token(path, "alice")
    tokens = Tokens(path)
    revoke_tokens(path, "alice")
    for guard in (tokens, Tokens(path)):
        with pytest.raises(Unauthorized, match="not known"):
            guard.authenticate(BEARER + token)


# --------------------------------------------------------------------------------------------------- a running service


def test_a_running_service_sees_tokens_added_and_revoked_at_once(path):
    alice, _ = add_token(path, "alice")
    tokens = Tokens(path)
    for _ in range(20):  # however close together the changes are
        bob, _ = add_token(path, "bob")
        assert tokens.authenticate(BEARER + bob).user == "bob"
        revoke_tokens(path, "bob")
        with pytest.raises(Unauthorized, match="revoked"):
            tokens.authenticate(BEARER + bob)
        assert tokens.authenticate(BEARER + alice).user == "alice"


def vanish(path):
    path.unlink()


def break_off(path):
    path.write_bytes(path.read_bytes()[:-10])


def open_to_all(path):
    path.chmod(0o666)


def become_a_folder(path):
    path.unlink()
    path.mkdir()


def become_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [vanish, break_off, open_to_all, become_a_folder, become_a_pipe])
def test_a_file_that_cannot_be_used_lets_nobody_in_until_it_can(path, damage, caplog):
    token, _ = add_token(path, "alice")
    good = path.read_bytes()
    tokens = Tokens(path)
    damage(path)
    with caplog.at_level(logging.ERROR, "gas.s3"):
        for header in (BEARER + token, None, "Bearer x", BEARER + token):
            with pytest.raises(Unauthorized, match="refuses all requests; see its log"):
                tokens.authenticate(header)
    (message,) = [r.getMessage() for r in caplog.records]  # once, not in every request
    assert str(path) in message
    with pytest.raises(BadInput):
        Tokens(path)
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_bytes(good)
    assert tokens.authenticate(BEARER + token).user == "alice"


def test_many_threads_may_ask_while_the_file_changes(path):
    steady, _ = add_token(path, "steady")
    tokens = Tokens(path)
    wrong = []
    done = threading.Event()

    def ask():
        while not done.is_set():
            try:
                if tokens.authenticate(BEARER + steady) != Principal("steady", "user"):
                    wrong.append("another user")
            except Unauthorized as error:
                wrong.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        add_token(path, "passing")
        revoke_tokens(path, "passing")
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------------------------------------ what is not let in


def test_another_secret_with_a_known_id_is_refused(path):
    (one, _), (two, _) = add_token(path, "alice"), add_token(path, "bob")
    tokens = Tokens(path)
    crossed = one[:13] + two[13:]
    last = "A" if one[-1] != "A" else "B"
    for token in (crossed, one[:-1] + last, one.swapcase(), one[:-1], one + "A", one[4:]):
        with pytest.raises(Unauthorized):
            tokens.authenticate(BEARER + token)


def test_a_secret_is_hashed_and_compared_even_for_an_id_that_is_not_there(path, monkeypatch):
    import hmac

    token, record = add_token(path, "alice")
    tokens = Tokens(path)
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or real(a, b))
    other = "0" * 8 if record.id != "0" * 8 else "1" * 8
    for header in (token, f"gas_{other}_{token[13:]}"):
        try:
            tokens.authenticate(BEARER + header)
        except Unauthorized:
            continue
    assert compared == [(32, 32), (32, 32)]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    path = tmp_path_factory.mktemp("known") / "tokens"
    token, _ = add_token(path, "alice")
    return Tokens(path), token


secretlike = st.text("abcXYZ019_-", min_size=43, max_size=43)
headers = st.one_of(
    st.none(),
    st.text(max_size=300),
    st.text().map(lambda text: BEARER + text),
    st.binary(max_size=300).map(lambda sent: sent.decode("latin-1")),
    st.builds("Bearer gas_{:08x}_{}".format, st.integers(0, 2**32 - 1), secretlike),
    st.builds(
        "{} gas_0123abcd_{}{}".format, st.sampled_from(["Bearer", "Basic", "", "bearer bearer"]), secretlike, st.text()
    ),
    st.integers(1, 10**6).map(lambda n: BEARER + "gas_" * n),
)


@examples(500)
@given(header=headers)
def test_any_other_header_is_unauthorized_and_nothing_else(known, header):
    tokens, _ = known
    with pytest.raises(Unauthorized) as refused:
        tokens.authenticate(header)
    for word in (header or "").split():
        assert len(word) < 20 or word not in str(refused.value)


@examples(300)
@given(data=st.data())
def test_a_true_token_with_one_slip_is_refused_and_no_message_repeats_its_secret(known, data):
    tokens, token = known
    header = BEARER + token
    place = data.draw(st.integers(len(BEARER), len(header) - 1))
    slip = data.draw(st.characters().filter(lambda c: c != header[place]))
    slipped = data.draw(
        st.sampled_from(
            [header[:place] + slip + header[place + 1 :], header[:place] + header[place + 1 :], header[:place]]
        )
    )
    with pytest.raises(Unauthorized) as refused:
        tokens.authenticate(slipped)
    message = str(refused.value)
    assert not any(token[i : i + 8] in message for i in range(4, len(token) - 8))


# ---------------------------------------------------------------------------------------------------------- the file


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused_with_the_way_out(path, mode):
    add_token(path, "alice")
    path.chmod(mode)
    for use in (Tokens, read_tokens, lambda p: add_token(p, "bob"), lambda p: revoke_tokens(p, "alice")):
        with pytest.raises(BadInput, match=rf"written by others .*\(mode {mode:04o}\).*chmod 600 {path}`"):
            use(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused_unless_root_reads_for_them(path):
    add_token(path, "alice")
    os.chown(path, 12345, -1)
    with pytest.raises(BadInput, match="belongs to another user"):
        Tokens(path)


def test_a_file_that_is_not_there_says_how_to_make_one(path):
    with pytest.raises(BadInput, match="gas token add USER"):
        Tokens(path)
    with pytest.raises(NotFound):
        revoke_tokens(path, "alice")
    assert not path.exists()


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
        (lambda d: d["tokens"].append(d["tokens"][0]), r"tokens\[2\]: has the id \w+ of another"),
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


def test_a_link_goes_on_pointing_to_the_file(path, tmp_path):
    (tmp_path / "site").mkdir()
    real = tmp_path / "site" / "tokens.json"
    add_token(real, "alice")
    path.symlink_to(real)
    token, _ = add_token(path, "bob")
    assert path.is_symlink()
    assert [r.user for r in read_tokens(real)] == ["alice", "bob"]
    assert Tokens(path).authenticate(BEARER + token).user == "bob"


def test_a_folder_made_for_the_file_is_for_its_owner_alone(tmp_path):
    add_token(tmp_path / "new" / "tokens", "alice")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


# ------------------------------------------------------------------------------------------ two processes, and crashes

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


def test_a_full_disk_is_told_and_leaves_the_file_as_it_was(path):
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


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreFailed, match="cannot be written"):
        add_token(tmp_path / "file" / "tokens", "alice")


# ------------------------------------------------------------------------------------------------------ without tokens


def test_without_tokens_everybody_is_the_user_of_the_service_whatever_the_environment_says(monkeypatch):
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "mallory")
    assert the_service_user() == Principal(pwd.getpwuid(os.geteuid()).pw_name, "operator")


@pytest.mark.parametrize(
    ("name", "user"), [("KTH\\anna", "KTH_anna"), ("host$", "host_"), ("-x", "_-x"), ("", "_"), (None, None)]
)
def test_the_user_of_the_service_could_have_a_token_too(monkeypatch, path, name, user):
    def found(uid):
        if name is None:
            raise KeyError(uid)
        return pwd.struct_passwd((name, "x", uid, 0, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", found)
    who = the_service_user()
    assert who.user == (user if name is not None else f"uid{os.geteuid()}")
    assert add_token(path, who.user)[1].user == who.user
