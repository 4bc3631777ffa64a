"""Transports to schedulers without idempotency keys, and the possible results of a request."""

from __future__ import annotations

from typing import Protocol, TypeVar

from gas.errors import BadInput, Unreachable

__all__ = ["NotSent", "RefusedAs", "SendingTransport", "Unclear"]

B = TypeVar("B", contravariant=True)


class SendingTransport(Protocol[B]):
    """A transport to one scheduler. Methods raise `Unreachable` if they cannot read an answer, unless stated otherwise.

    Nothing is repeated here; `gas.endpoints.tagging` decides what may be repeated.
    """

    @property
    def address(self) -> str:
        """Return an address that is the same for the same scheduler, for every user."""

    @property
    def timeout(self) -> float:
        """Return the time limit in seconds for reading the state."""

    @property
    def user(self) -> str:
        """Return the user as whom it acts."""

    def submit(self, batch: B) -> int:
        """Submit a job and return its number.

        Raises
        ------
        NotSent, Unclear
            It was not sent; it may have got through.
        RefusedAs
            An error came together with a job.
        GasError
            The scheduler refuses it.
        """

    def cancel(self, id: int) -> None:
        """Cancel a job; a job that has ended does not change.

        Raises
        ------
        NotFound, Forbidden
            There is no such job; it is not the user's. Not every scheduler distinguishes the two.
        """


class NotSent(Unreachable):
    """Nothing of a request has reached the scheduler, or will reach it."""


class Unclear(Unreachable):
    """A request was sent, and its result is unknown.

    Attributes
    ----------
    over
        Whether the program that carried it has ended: it will then create nothing more.
    """

    def __init__(self, message: str, *, over: bool = False) -> None:
        super().__init__(message)
        self.over = over


class RefusedAs(BadInput):
    """The scheduler answered with an error, but has created a job.

    Attributes
    ----------
    id
        The number of the job.
    """

    def __init__(self, message: str, id: int) -> None:
        super().__init__(message)
        self.id = id
