"""Every error that may reach a user has exactly one way out of the program."""

import copy
import importlib
import pickle
import pkgutil

import pytest

import documents
import experiments
import gas
import speedup_models
import workloads
from documents.fields import FieldError, Unusable
from documents.home import NoHome
from experiments.moldable.substitution import TooFewJobs
from gas.cli.tables import OutputLost
from gas.endpoints.connection import NoAnswer
from gas.endpoints.endpoint import InDoubt
from gas.endpoints.exchange import Unreadable
from gas.endpoints.pipes import TooMuchOutput
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.errors import (
    ERRORS,
    BadInput,
    Conflict,
    Draining,
    Forbidden,
    GasError,
    Infeasible,
    JobFailed,
    Missing,
    NotFound,
    Outcome,
    OverLimit,
    StalePlan,
    StoreDamaged,
    StoreFailed,
    StoreInDoubt,
    TooLarge,
    TooMany,
    Unauthorized,
    Unreachable,
    Untrusted,
    WithoutGpus,
    outcome_of,
)
from gas.service.database import CommitInDoubt
from gas.service.records import Unknown
from gas.service.rows import DamagedRow
from speedup_models import ConstraintError, ModelError
from workloads import LogError
from workloads.archive import ArchiveError, ArchiveUnreachable, NotInArchive
from workloads.cells import Malformed
from workloads.log import FIELDS


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BadInput("x"), 422, 2),
        (Unusable("x"), 422, 2),
        (Untrusted("x"), 422, 2),
        (FieldError("place", "x"), 422, 2),
        (ModelError("x"), 422, 2),
        (LogError("log", "x"), 422, 2),
        (Infeasible("x"), 422, 3),
        (WithoutGpus("x"), 422, 3),
        (Unreachable("x"), 503, 4),
        (StalePlan("x"), 412, 5),
        (NotFound("x"), 404, 1),
        (Conflict("x"), 409, 1),
        (StoreFailed("x"), 503, 1),
        (StoreInDoubt("x"), 503, 4),
        (StoreDamaged("x"), 503, 1),
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


PACKAGES = (documents, gas, speedup_models, workloads, experiments)


def errors_of_all_modules():
    """Import every module, and return the public error classes that they define."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith((".wrapper", "__main__")):  # programs, not modules
                importlib.import_module(module.name)
    names = {package.__name__ for package in PACKAGES}
    return {
        kind
        for kind in subclasses(Exception)
        if kind.__module__.split(".")[0] in names and not kind.__name__.startswith("_")
    }


def test_every_error_that_any_module_defines_has_an_outcome():
    own = errors_of_all_modules()
    assert {BadInput, FieldError, ModelError, LogError} <= own
    without = {kind for kind in own if not any(base in ERRORS for base in kind.__mro__)}
    assert without == {ArchiveError, ArchiveUnreachable, NotInArchive, Malformed}, (
        "`gas traces` and readers translate these"
    )


SAMPLES = [
    LogError("kth.swf", "'x' is not a number", line=17, at_field=FIELDS[3]),
    LogError("kth.swf", "is empty"),
    TooMany("too many requests; wait 1.5 s", 1.5),
    InDoubt("kth gave no answer", "key-17"),
    NoAnswer("kth is not there", sent=False),
    RefusedAs("error 2015: more than there is", 17),
    Malformed("not a number", "'x' is not a number", FIELDS[3]),
    FieldError("lu.toml [speedup] A", "-1.0 is below 1"),
    *(
        kind("what is wrong")
        for kind in (
            *(ArchiveError, ArchiveUnreachable, NotInArchive, ConstraintError, ModelError, NoHome, Unusable),
            *(NotSent, Unclear, CommitInDoubt, DamagedRow, TooMuchOutput, Unreadable),
            *(
                BadInput,
                Conflict,
                Draining,
                Forbidden,
                GasError,
                Infeasible,
                JobFailed,
                Missing,
                NotFound,
                OutputLost,
                OverLimit,
            ),
            *(
                StalePlan,
                StoreDamaged,
                StoreFailed,
                StoreInDoubt,
                TooFewJobs,
                TooLarge,
                Unauthorized,
                Unknown,
                Unreachable,
                Untrusted,
                WithoutGpus,
            ),
        )
    ),
]
"""An error of each class, two of a class with optional parts."""


def carried_over(error):
    """Return the error as copies of it and as other processes get it."""
    yield copy.copy(error)
    yield copy.deepcopy(error)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(error, protocol))


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_comes_over_from_another_process_as_it_was(error):
    error.add_note("in the third of five logs")
    for other in carried_over(error):
        assert type(other) is type(error)
        assert other is not error
        assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


def test_no_class_of_errors_is_left_out_above():
    assert {kind.__name__ for kind in errors_of_all_modules() - {type(sample) for sample in SAMPLES}} == set()


def test_the_most_specific_class_decides():
    class NoSuchReservation(NotFound):
        pass

    class Both(Infeasible, BadInput):
        pass

    assert outcome_of(NoSuchReservation("x")) == ERRORS[NotFound]
    assert outcome_of(Both("x")) == ERRORS[Infeasible]
    assert outcome_of(ConstraintError("x")) == outcome_of(ModelError("x")) == ERRORS[BadInput]


def test_what_nobody_foresaw_has_no_outcome():
    assert outcome_of(KeyError("x")) is None
    assert outcome_of(ValueError("x")) is None  # though BadInput is one


def test_bad_input_is_a_value_error_for_callers_in_python():
    assert issubclass(BadInput, ValueError)
    assert issubclass(BadInput, GasError)
