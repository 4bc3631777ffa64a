"""What limits say to a job: it is free to start, waits for a limit, never starts, or is not even accepted."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FREE", "NEVER", "REJECTED", "WAITS", "Binding", "Verdict"]

FREE, WAITS, NEVER, REJECTED = "free", "waits", "never", "rejected"
_SEVERITY = {FREE: 0, WAITS: 1, NEVER: 2, REJECTED: 3}


@dataclass(frozen=True)
class Binding:
    """A limit that a job meets.

    Attributes
    ----------
    outcome
        `WAITS` until others end, `NEVER` as long as the limit is what it is, `REJECTED` at submission.
    reason
        Slurm's name of it, as squeue shows it; what sbatch says where it is rejected.
    words
        What it is, in a clause for a person, with the bound and what is in use.
    bound, asked, used
        In the unit of the limit, as far as it is one of amounts.
    release
        The earliest second at which it may let the job start, by the ends of running jobs; None if that is not known.
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
    """All limits that a job meets, in the order in which Slurm tests them.

    Attributes
    ----------
    unknown
        What may hold the job too and is not published, in words.
    """

    bindings: tuple[Binding, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """The worst of them; `FREE` if there is none."""
        return max((one.outcome for one in self.bindings), key=_SEVERITY.__getitem__, default=FREE)

    @property
    def deciding(self) -> Binding | None:
        """The first of the worst ones."""
        return next((one for one in self.bindings if one.outcome == self.outcome), None)

    @property
    def reason(self) -> str:
        """What squeue shows, or sbatch says: the first that fails."""
        if self.outcome == REJECTED:
            return self.deciding.reason if self.deciding is not None else ""
        return self.bindings[0].reason if self.bindings else ""

    @property
    def release(self) -> int | None:
        """The earliest second at which all of them may let the job start; None if that is not known, or never."""
        if self.outcome != WAITS or any(one.release is None for one in self.bindings):
            return None
        return max(one.release for one in self.bindings if one.release is not None)
