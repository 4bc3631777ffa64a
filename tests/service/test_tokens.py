"""Tokens: a file of salted hashes that several processes may change while a service reads it."""

import logging
import os
import pwd
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.errors import BadInput, NotFound, Unauthorized
from gas.service.token_file import add_token, read_tokens, revoke_tokens
from gas.service.tokens import Principal, Tokens, the_service_user

BEARER = "Bearer "


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens"


# ---------------------------------------------------------------------------------------------------------- in and out


def test_a_token_names_its_user_and_role(path):
    alice, _ = add_token(path, "alice")
    root, _ = add_token(path, "alice", "operator")
    tokens = Tokens(path)
    assert tokens.authenticate(BEARER + alice) == Principal("alice", "user")
    assert tokens.authenticate(f"bearer   {root} ") == Principal("alice", "operator")
    assert [tokens.authenticate(BEARER + t).is_operator for t in (alice, root)] == [False, True]


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


# ------------------------------------------------------------------------------------------------------------ revoking


def test_the_last_token_revoked_leaves_a_file_that_lets_nobody_in(path):
    token, _ = add_token(path, "alice")
    tokens = Tokens(path)
    revoke_tokens(path, "alice")
    for guard in (tokens, Tokens(path)):
        with pytest.raises(Unauthorized, match="does not know the token"):
            guard.authenticate(BEARER + token)


# --------------------------------------------------------------------------------------------------- a running service


def test_a_running_service_sees_tokens_added_and_revoked_at_once(path):
    alice, _ = add_token(path, "alice")
    tokens = Tokens(path)
    for _ in range(20):  # even for changes in quick succession
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


@pytest.mark.thorough
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
        with pytest.raises(BadInput, match=rf"written by other users .*\(mode {mode:04o}\).*chmod 600 {path}`"):
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


def test_a_link_goes_on_pointing_to_the_file(path, tmp_path):
    (tmp_path / "site").mkdir()
    real = tmp_path / "site" / "tokens.json"
    add_token(real, "alice")
    path.symlink_to(real)
    token, _ = add_token(path, "bob")
    assert path.is_symlink()
    assert [r.user for r in read_tokens(real)] == ["alice", "bob"]
    assert Tokens(path).authenticate(BEARER + token).user == "bob"


# ------------------------------------------------------------------------------------------ two processes, and crashes


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
