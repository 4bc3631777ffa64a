"""The table of rights, and that every route of the service follows it."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import Forbidden, Unauthorized
from gas.service import rights
from gas.service.rights import (
    RIGHTS,
    ROUTES,
    Action,
    Principal,
    admit,
    allowed,
    hidden_keys,
    require,
    route_action,
)

ALICE, BOB = Principal("alice", "user"), Principal("bob", "user")
OPERATOR = Principal("root", "operator")
EVERYBODY = [None, ALICE, BOB, OPERATOR]
OWNERS = [None, "alice", "bob", "root"]

# What the service promises, written out case by case and independently of the table.
OPEN = {"page", "healthz"}
FOR_USERS = {"openapi", "schedule", "events", "metrics", "plan", "submit", "reserve"}
FOR_OWNER = {"command", "output"}
FOR_OWNER_AND_OPERATORS = {"details", "cancel", "reshape", "answer"}
FOR_OPERATORS = {"machine"}


def expected(action, principal, owner):
    if action in OPEN:
        return True
    if principal is None:
        return False
    if action in FOR_USERS:
        return True
    own = owner is not None and owner == principal.user
    if action in FOR_OWNER:
        return own
    if action in FOR_OWNER_AND_OPERATORS:
        return own or principal.is_operator
    assert action in FOR_OPERATORS
    return principal.is_operator


@pytest.mark.parametrize("action", Action)
def test_every_case_is_as_promised(action):
    for principal, owner in itertools.product(EVERYBODY, OWNERS):
        right = expected(action, principal, owner)
        assert allowed(action, principal, owner) is right, (principal, owner)
        if right:
            require(action, principal, owner)
        else:
            with pytest.raises(Unauthorized if principal is None else Forbidden):
                require(action, principal, owner)


def test_every_action_has_its_row():
    assert set(RIGHTS) == set(Action)
    assert {*OPEN, *FOR_USERS, *FOR_OWNER, *FOR_OWNER_AND_OPERATORS, *FOR_OPERATORS} == set(Action)


def test_the_written_table_is_the_table():
    written = re.findall(r"^    (\w+) +(no|own|yes) +(no|own|yes) +(no|own|yes)  ", rights.__doc__, re.MULTILINE)
    assert [(action.value, row.no_token, row.user, row.operator) for action, row in RIGHTS.items()] == written


names = st.text("ab.@-", min_size=1, max_size=3)


@given(st.sampled_from(Action), names, st.none() | names)
def test_an_operator_may_all_that_a_user_may_and_a_user_all_that_nobody_may(action, user, owner):
    ladder = [allowed(action, p, owner) for p in (None, Principal(user, "user"), Principal(user, "operator"))]
    assert ladder == sorted(ladder)


def test_a_user_with_another_letter_is_another_user():
    for other in ("Alice", "alice ", "alic", "alice\x00", ""):
        assert not allowed(Action.CANCEL, Principal(other, "user"), "alice")


def test_a_refusal_names_the_action_who_asks_and_the_way_out():
    with pytest.raises(Unauthorized, match=r"^submitting a job needs a token; .*Authorization: Bearer.*gas token add"):
        require(Action.SUBMIT, None)
    with pytest.raises(
        Forbidden, match=r"^reading the output of job 12: only for its user \(alice\), you are bob.*alice$"
    ):
        require(Action.OUTPUT, BOB, "alice", "job 12")
    with pytest.raises(Forbidden, match=r"^cancelling job 12: only for its user \(alice\) and operators.*ask one"):
        require(Action.CANCEL, BOB, "alice", "job 12")
    with pytest.raises(Forbidden, match=r"^changing the machine: only for operators.*ask an operator$"):
        require(Action.MACHINE, ALICE)


# ----------------------------------------------------------------------------------------------- what is seen of a job


def test_the_owner_sees_all_an_operator_all_but_the_command_and_others_the_schedule_only(s3):
    job = s3.process(1, 60, "true")
    assert hidden_keys(Principal("alice", "user"), "alice") == frozenset()
    assert hidden_keys(OPERATOR, "alice") == {"command", "command_bytes", "message"}
    hidden = hidden_keys(BOB, "alice")
    assert hidden == {"name", "command", "command_bytes", "run_time", "exit_status", "signal", "message"}
    assert hidden == hidden_keys(None, "alice") == hidden_keys(BOB, None)
    assert hidden <= job.keys(), "a job on the wire has these keys"


# ------------------------------------------------------------------------------------------------------------ routes


def test_every_route_of_the_service_has_its_action(s3):
    document = s3.get("/openapi.json").json()
    routes = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    assert len(routes) >= 8
    for method, path in routes:
        assert route_action(method, path) in Action


def test_a_route_that_is_not_in_the_table_is_an_error():
    for method, path in (("POST", "/v1/new"), ("DELETE", "/v1/machine"), ("GET", "/v1/jobs/")):
        with pytest.raises(LookupError, match="ROUTES"):
            route_action(method, path)


def concrete(template):
    return template.replace("{id}", "12")


@pytest.mark.parametrize(("method", "template"), ROUTES)
def test_a_request_is_let_through_to_what_somebody_may_at_least_for_their_own_jobs(method, template):
    action = route_action(method, template)
    for principal in EVERYBODY:
        own = None if principal is None else principal.user
        if expected(action, principal, own):
            assert admit(method, concrete(template), principal) is action
        else:
            with pytest.raises(Unauthorized if principal is None else Forbidden):
                admit(method, concrete(template), principal)


def test_the_head_of_a_document_is_the_document():
    assert route_action("HEAD", "/v1/jobs") is Action.SCHEDULE
    with pytest.raises(Unauthorized):
        admit("HEAD", "/metrics", None)


odd_paths = st.one_of(
    st.text(),
    st.builds(
        "{}{}{}".format,
        st.sampled_from([concrete(path) for _, path in ROUTES]),
        st.sampled_from(["", "/", "//", "/..", "\n", "%00", "?x=/healthz", ";/healthz", "#"]),
        st.sampled_from(["", "healthz", "openapi.json"]),
    ),
)


@given(st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", ""]), odd_paths)
def test_without_a_token_nothing_but_the_page_and_healthz_passes(method, path):
    if method in ("GET", "HEAD") and path in ("/", "/healthz"):
        assert admit(method, path, None) in (Action.PAGE, Action.HEALTHZ)
        return
    with pytest.raises(Unauthorized):
        admit(method, path, None)


def test_a_user_passes_to_what_is_no_route_and_hears_there_that_it_is_none():
    assert admit("GET", "/v1/job", ALICE) is None
    assert admit("PATCH", "/v1/jobs", ALICE) is None
