"""Every error that may reach a person has one way out of the program."""

import importlib
import pkgutil

import pytest

import gas
import speedup_models
import workloads
from gas.errors import (
    ERRORS,
    BadInput,
    Conflict,
    GasError,
    Infeasible,
    Missing,
    NotFound,
    Outcome,
    StalePlan,
    StoreFailed,
    Unreachable,
    outcome_of,
)
from speedup_models import ConstraintError, FieldError, ModelError
from workloads import LogError


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BadInput("x"), 422, 2),
        (FieldError("place", "x"), 422, 2),
        (ModelError("x"), 422, 2),
        (LogError("log", "x"), 422, 2),
        (Infeasible("x"), 422, 3),
        (Unreachable("x"), 503, 4),
        (StalePlan("x"), 412, 5),
        (NotFound("x"), 404, 1),
        (Conflict("x"), 409, 1),
        (StoreFailed("x"), 503, 1),
        (Missing("x"), 501, 1),
        (GasError("x"), 500, 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_the_exit_codes_and_statuses_of_the_design(error, status, code):
    assert outcome_of(error) == Outcome(http_status=status, exit_code=code)


def subclasses(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_every_error_that_any_module_defines_has_an_outcome():
    for package in (gas, speedup_models, workloads):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith((".wrapper", "__main__")):  # programs, not modules
                importlib.import_module(module.name)
    own = {
        kind
        for kind in subclasses(Exception)
        if kind.__module__.split(".")[0] in ("gas", "speedup_models", "workloads") and not kind.__name__.startswith("_")
    }
    assert {BadInput, FieldError, ModelError, LogError} <= own
    without = {kind.__qualname__ for kind in own if not any(base in ERRORS for base in kind.__mro__)}
    assert without == set()


def test_the_most_specific_class_decides():
    class NoSuchReservation(NotFound):
        pass

    class Both(Infeasible, BadInput):
        pass

    assert outcome_of(NoSuchReservation("x")) == ERRORS[NotFound]
    assert outcome_of(Both("x")) == ERRORS[Infeasible]
    assert outcome_of(ConstraintError("x")) == ERRORS[ModelError]


def test_what_nobody_foresaw_has_no_outcome():
    assert outcome_of(KeyError("x")) is None
    assert outcome_of(ValueError("x")) is None  # though BadInput is one


def test_bad_input_is_a_value_error_for_callers_in_python():
    assert issubclass(BadInput, ValueError)
    assert issubclass(BadInput, GasError)
