"""Access rights: the one table, as data, and its queries.

    action     anonymous  user  operator   what it is
    ---------  ---------  ----  --------   ---------------------------------------------------------------------
    page       yes        yes   yes        read the static page at /, which holds no data
    healthz    yes        yes   yes        read the health of the service
    openapi    no         yes   yes        read the OpenAPI document
    schedule   no         yes   yes        read the availability list, the machine, and of every job what the schedule
                                           shows: id, kind, user, state, processors, walltime, actuator, all instants
    events     no         yes   yes        follow the schedule
    metrics    no         yes   yes        read sums over all users
    plan       no         yes   yes        read what a request would be promised
    submit     no         yes   yes        submit a job, which then is the user's own
    reserve    no         yes   yes        make a reservation, which then is the user's own
    details    no         own   yes        read a job's name, run time, exit status and signal
    command    no         own   own        read a job's command, environment and message
    output     no         own   own        read the output of a job
    cancel     no         own   yes        cancel a job or a reservation
    reshape    no         own   yes        change size and walltime of a waiting job
    answer     no         own   yes        answer what a waiting job is offered
    machine    no         no    yes        change the machine: its size, whether it accepts jobs

*Anonymous* is a request without a token although tokens are required, *own* a job of the same user. The command and
output of a job may hold secrets, so they belong to its user alone. Operators may also see and do what keeps a machine
in order: whose job it is, how it ended, cancelling it.

A request is checked twice: by `admit` when it arrives, before its body is read, and by `require` once the job is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from gas.errors import Forbidden, Unauthorized

__all__ = [
    "HOW_TO_SEND",
    "RIGHTS",
    "ROLES",
    "ROUTES",
    "Action",
    "Principal",
    "Right",
    "Role",
    "admit",
    "allowed",
    "hidden_keys",
    "requested_action",
    "require",
    "route_action",
]

Role = Literal["user", "operator"]
Right = Literal["no", "own", "yes"]

ROLES: tuple[Role, ...] = ("user", "operator")


@dataclass(frozen=True)
class Principal:
    """The user and role of a request, as named by its token."""

    user: str
    role: Role

    @property
    def is_operator(self) -> bool:
        """Whether the request has the rights of an operator."""
        return self.role == "operator"


class Action(StrEnum):
    """The action of a request: the rows of the table."""

    PAGE = "page"
    HEALTHZ = "healthz"
    OPENAPI = "openapi"
    SCHEDULE = "schedule"
    EVENTS = "events"
    METRICS = "metrics"
    PLAN = "plan"
    SUBMIT = "submit"
    RESERVE = "reserve"
    DETAILS = "details"
    COMMAND = "command"
    OUTPUT = "output"
    CANCEL = "cancel"
    RESHAPE = "reshape"
    ANSWER = "answer"
    MACHINE = "machine"


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    no_token: Right
    user: Right
    operator: Right

    def of(self, principal: Principal | None) -> Right:
        """Return the right of a principal."""
        if principal is None:
            return self.no_token
        return self.operator if principal.is_operator else self.user


RIGHTS: dict[Action, Row] = {
    Action.PAGE: Row("yes", "yes", "yes"),
    Action.HEALTHZ: Row("yes", "yes", "yes"),
    Action.OPENAPI: Row("no", "yes", "yes"),
    Action.SCHEDULE: Row("no", "yes", "yes"),
    Action.EVENTS: Row("no", "yes", "yes"),
    Action.METRICS: Row("no", "yes", "yes"),
    Action.PLAN: Row("no", "yes", "yes"),
    Action.SUBMIT: Row("no", "yes", "yes"),
    Action.RESERVE: Row("no", "yes", "yes"),
    Action.DETAILS: Row("no", "own", "yes"),
    Action.COMMAND: Row("no", "own", "own"),
    Action.OUTPUT: Row("no", "own", "own"),
    Action.CANCEL: Row("no", "own", "yes"),
    Action.RESHAPE: Row("no", "own", "yes"),
    Action.ANSWER: Row("no", "own", "yes"),
    Action.MACHINE: Row("no", "no", "yes"),
}

ROUTES: dict[tuple[str, str], Action] = {
    ("GET", "/"): Action.PAGE,
    ("GET", "/healthz"): Action.HEALTHZ,
    ("GET", "/openapi.json"): Action.OPENAPI,
    ("GET", "/metrics"): Action.METRICS,
    ("GET", "/v1/availability"): Action.SCHEDULE,
    ("GET", "/v1/jobs"): Action.SCHEDULE,
    ("POST", "/v1/jobs"): Action.SUBMIT,
    ("GET", "/v1/jobs/{id}"): Action.SCHEDULE,  # and `hidden_keys` of the answer
    ("DELETE", "/v1/jobs/{id}"): Action.CANCEL,
    ("PATCH", "/v1/jobs/{id}"): Action.RESHAPE,
    ("POST", "/v1/jobs/{id}/offer"): Action.ANSWER,
    ("GET", "/v1/jobs/{id}/output"): Action.OUTPUT,
    ("POST", "/v1/reservations"): Action.RESERVE,
    ("POST", "/v1/plan"): Action.PLAN,
    ("GET", "/v1/machine"): Action.SCHEDULE,
    ("PUT", "/v1/machine"): Action.MACHINE,
    ("GET", "/v1/events"): Action.EVENTS,
}
"""Every route of the service, as the OpenAPI document writes it, and what it does; HEAD goes as GET."""

_JOB_KEYS: dict[Action, frozenset[str]] = {
    Action.DETAILS: frozenset({"name", "run_time", "exit_status", "signal"}),
    Action.COMMAND: frozenset({"command", "command_bytes", "message"}),  # a message may quote the command
}
"""The keys of a job on the wire that are not part of the schedule (its environment is never sent)."""

_DOING: dict[Action, str] = {
    Action.PAGE: "reading the page",
    Action.HEALTHZ: "reading the service's health",
    Action.OPENAPI: "reading the OpenAPI document",
    Action.SCHEDULE: "reading the schedule",
    Action.EVENTS: "following the schedule",
    Action.METRICS: "reading the metrics",
    Action.PLAN: "planning",
    Action.SUBMIT: "submitting a job",
    Action.RESERVE: "making a reservation",
    Action.DETAILS: "reading the details of",
    Action.COMMAND: "reading the command of",
    Action.OUTPUT: "reading the output of",
    Action.CANCEL: "cancelling",
    Action.RESHAPE: "reshaping",
    Action.ANSWER: "answering the offer to",
    Action.MACHINE: "changing the machine",
}

_PATTERNS = [
    (method, re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))), action)
    for (method, template), action in ROUTES.items()
]


def allowed(action: Action, principal: Principal | None, owner: str | None = None) -> bool:
    """Return whether a principal may perform an action; `owner` is the user of the job concerned.

    A job without an owner belongs to no principal.
    """
    right = RIGHTS[action].of(principal)
    return right == "yes" or (right == "own" and principal is not None and owner == principal.user)


def require(action: Action, principal: Principal | None, owner: str | None = None, what: str = "the job") -> None:
    """Raise unless a principal may perform an action; `what` names the job concerned in the message.

    Raises
    ------
    Unauthorized
        There is no principal, and the action needs one.
    Forbidden
        The principal does not have the right.
    """
    if allowed(action, principal, owner):
        return
    row = RIGHTS[action]
    doing = _DOING[action] if row.user != "own" else f"{_DOING[action]} {what}"
    if principal is None:
        raise Unauthorized(f"{doing} needs a token; {HOW_TO_SEND}")
    you = f"you are {principal.user} with the role {principal.role}"
    if row.user == "no":
        raise Forbidden(f"{doing}: only for operators, {you}; use a token of the role operator, or ask an operator")
    whose = "no user" if owner is None else owner
    if row.operator == "yes":
        raise Forbidden(f"{doing}: only for its user ({whose}) and operators, {you}; ask one of them")
    raise Forbidden(f"{doing}: only for its user ({whose}), {you}; ask {whose}")


HOW_TO_SEND = (
    "send the header Authorization: Bearer TOKEN; the operator of the service creates tokens (`gas token add USER`)"
)


def route_action(method: str, template: str) -> Action:
    """Return the action of a route; `template` is its path as in the OpenAPI document.

    Raises
    ------
    LookupError
        The route is not in `ROUTES`: a route without rights is not served.
    """
    method = "GET" if method == "HEAD" else method
    if (method, template) not in ROUTES:
        raise LookupError(f"{method} {template}: is not in gas.service.rights.ROUTES; add its action there")
    return ROUTES[method, template]


def requested_action(method: str, path: str) -> Action | None:
    """Return the action of a request by its path; None if the path is not a route."""
    method = "GET" if method == "HEAD" else method
    for known, pattern, action in _PATTERNS:
        if known == method and pattern.fullmatch(path):
            return action
    return None


def admit(method: str, path: str, principal: Principal | None) -> Action | None:
    """Admit a request to its route, or raise as `require` does; return its action.

    This is the first check of a request. The owner of the job in `path` is not known yet, so actions that users may
    perform on their own jobs pass here, and the route calls `require` with the owner. Paths that are not routes (None)
    need a token: without one, a client does not even learn which routes exist.
    """
    action = requested_action(method, path)
    if action is not None:
        require(action, principal, principal.user if principal is not None else None)
    elif principal is None:
        raise Unauthorized(f"this service needs a token; {HOW_TO_SEND}")
    return action


@lru_cache(1024)  # called for each job of each list
def hidden_keys(principal: Principal | None, owner: str | None) -> frozenset[str]:
    """Return the keys of a job on the wire that are null for a principal."""
    return frozenset().union(*(keys for action, keys in _JOB_KEYS.items() if not allowed(action, principal, owner)))
