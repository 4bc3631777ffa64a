"""What a scheduler that knows no keys is sent through, and what may become of what is sent."""

from __future__ import annotations

from typing import Protocol, TypeVar

from gas.errors import BadInput, Unreachable

__all__ = ["NotSent", "RefusedAs", "SendingTransport", "Unclear"]

B = TypeVar("B", contravariant=True)


class SendingTransport(Protocol[B]):
    """One way to speak to one scheduler. Every method but those said raises `Unreachable` if it is not understood.

    Nothing is repeated here: what may be repeated, `gas.endpoints.tagging` decides.
    """

    @property
    def address(self) -> str:
        """Return where it is: what is the same for the same scheduler, for every user."""

    @property
    def timeout(self) -> float:
        """Return the seconds within which it reads how things stand, or gives up."""

    @property
    def user(self) -> str:
        """Return the user that it acts as."""

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
        """Ask for the end of a job; one that has ended stays as it is.

        Raises
        ------
        NotFound, Forbidden
            There is none; it is not the user's. Not every scheduler distinguishes the two.
        """


class NotSent(Unreachable):
    """Nothing of a request has reached the scheduler, nor will."""


class Unclear(Unreachable):
    """A request was sent, and it is not known what has become of it.

    Attributes
    ----------
    over
        Whether the program that carried it has ended: what is not there by now will not come any more.
    """

    def __init__(self, message: str, *, over: bool = False) -> None:
        super().__init__(message)
        self.over = over


class RefusedAs(BadInput):
    """The scheduler answered an error, and has made a job all the same.

    Attributes
    ----------
    id
        The number of the job.
    """

    def __init__(self, message: str, id: int) -> None:
        super().__init__(message)
        self.id = id
