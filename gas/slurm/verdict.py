"""The verdict of limits on a job: free to start, waiting for a limit, never starting, or rejected at submission."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FREE", "NEVER", "REJECTED", "WAITS", "Binding", "Verdict"]

FREE, WAITS, NEVER, REJECTED = "free", "waits", "never", "rejected"
_SEVERITY = {FREE: 0, WAITS: 1, NEVER: 2, REJECTED: 3}


@dataclass(frozen=True)
class Binding:
    """A limit that a job exceeds.

    Attributes
    ----------
    outcome
        `WAITS` until others end, `NEVER` while the limit keeps its value, `REJECTED` at submission.
    reason
        Slurm's name for it in squeue; for a rejected job, sbatch's message.
    words
        The limit as a clause for the user, with its value and the usage.
    bound, asked, used
        The limit, the request and the usage, in the limit's unit, if it is a number.
    release
        Epoch second at which it may first let the job start, by the ends of running jobs; None if unknown.
    """

    outcome: str
    reason: str
    words: str
    bound: float | None = None
    asked: float | None = None
    used: float | None = None
    release: int | None = None


@dataclass(frozen=True)
class Verdict:
    """All limits that a job exceeds, in the order in which Slurm tests them.

    Attributes
    ----------
    unknown
        What is not published and might also hold the job back, in words.
    """

    bindings: tuple[Binding, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The worst outcome; `FREE` if there is no limit."""
        return max((one.outcome for one in self.bindings), key=_SEVERITY.__getitem__, default=FREE)

    @property
    def deciding(self) -> Binding | None:
        """The first limit with the worst outcome."""
        return next((one for one in self.bindings if one.outcome == self.outcome), None)

    @property
    def reason(self) -> str:
        """The first limit's reason in squeue, or sbatch's message."""
        if self.outcome == REJECTED:
            return self.deciding.reason if self.deciding is not None else ""
        return self.bindings[0].reason if self.bindings else ""

    @property
    def release(self) -> int | None:
        """Epoch second at which all of them may let the job start; None if unknown, or never."""
        if self.outcome != WAITS or any(one.release is None for one in self.bindings):
            return None
        return max(one.release for one in self.bindings if one.release is not None)
