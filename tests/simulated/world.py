"""One seed: what users and faults do, one after the other, until all is mended and judged."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from gas.service import book, dispatcher, pulse, runner
from simulated import calls, database
from simulated import kernel as machine
from simulated.faults import Faults
from simulated.service import FAULTS, STATE, DiskFaults

__all__ = ["FAULTS", "Result", "World", "simulate"]


@dataclass
class Result:
    """How a run ended."""

    seed: int
    violations: list[str]
    trace: list[str]
    faults: Counter[str]
    counts: Counter[str]
    digest: str


class World(Faults):
    """One run."""

    def run(self) -> Result:
        """Do it all, and return what was found."""
        kernel = self.kernel
        machine.present = kernel
        kernel.began, kernel.wrapper_began = self.command_began, self.wrapper_began
        kernel.changed = self.process_ended
        kernel.unforeseen = self.unforeseen
        kernel.disk.watch = self.watch
        kernel.disk.mkdir(STATE)
        kernel.disk.seal()
        logger = logging.getLogger("gas.s3")
        disabled, logger.disabled = logger.disabled, True
        collecting = gc.isenabled()
        gc.disable()
        try:
            with calls.installed(), self._polling():
                self._live()
        finally:
            logger.disabled = disabled
            if collecting:
                gc.enable()
            for connection in database.connections:
                connection.abandon()
            database.connections.clear()
        digest = hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]
        violations = self.oracle.violations
        return Result(self.seed, violations, self.trace, self.faults_done, self.counts, digest)

    @contextlib.contextmanager
    def _polling(self) -> Iterator[None]:
        """Have records looked at less often: a poll twenty times a second is what most of the time would go to."""
        with pytest.MonkeyPatch.context() as patch:
            for module in (dispatcher, book, runner):
                patch.setattr(module, "POLL_SECONDS", self.poll)
            patch.setattr(pulse, "BEAT_SECONDS", 1.0)
            yield

    def _live(self) -> None:
        self.note(f"seed {self.seed}: {self.size} processors; faults: {', '.join(self.enabled) or 'none'}")
        self.start_service()
        self.kernel.run(self.kernel.now + 1)
        for _ in range(self.operations):
            self.operate()
            if self.oracle.violations:
                break
            self.kernel.run(self.kernel.now + self._gap())
            if self.oracle.violations:
                break
        else:
            self.settle()
        for text in self.oracle.violations:
            self.note(f"VIOLATION: {text}")
        self._end_all()

    def _gap(self) -> float:
        return self.rng.choice([0.0, 0.0, 0.05, self.gap, self.gap, 3 * self.gap])

    def _end_all(self) -> None:
        for process in self.kernel.living():
            process.dead = True
            for task in list(process.tasks):
                task.reap()

    def _is_idle(self) -> bool:
        idle: list[bool] = []
        if self.request("all idle?", _idle, lambda answer: idle.append(answer is True)):
            self.kernel.run(self.kernel.now + 1)
        return idle == [True] and not self.oracle.executing

    def settle(self) -> None:
        """Mend all faults, let everything come to its end, and judge that."""
        self.note("all faults are mended")
        self.mended = True
        self.disk = DiskFaults()
        self.kernel.descriptors_exhausted = False
        if self.process is not None and self.process.stopped:
            self.process.resume()
        for _ in range(300):
            if self.process is None and not self.restarting:
                self.start_service()
            self.kernel.run(self.kernel.now + 20)
            if self.oracle.violations:
                return
            if self._is_idle():
                break
        self.kernel.run(self.kernel.now + (150 if self.oracle.clock_moved else 30))
        self.look_at_all(final=True)
        self.kernel.run(self.kernel.now + 5)

    def operate(self) -> None:
        """One thing that somebody does, or that goes wrong."""
        if self.enabled and self.rng.random() < 0.12:
            name = self.rng.choice(self.enabled)
            self.faults_done[name] += 1
            getattr(self, "_" + name.replace(" ", "_"))()
            return
        choices: list[tuple[int, Callable[[], None]]] = [
            (40, self.submit),
            (8, self.submit_again),
            (10, self.cancel),
            (4, self.reserve),
            (12, self.look_at_one),
            (1, self.look_at_all),
            (10, self.read_output),
            (2, self.resize),
            (1, self.drain),
            (2, self.take_backup),
            (4, self.submit_simulated),
            (10, self.reshape),
            (10, self.answer),
        ]
        total = sum(weight for weight, _ in choices)
        at = self.rng.random() * total
        for weight, action in choices:
            at -= weight
            if at < 0:
                action()
                return


def _idle(scheduler: Any) -> bool:
    clock = scheduler.clock.now()
    return all((job.request.start or 0) > clock + 300 for job in scheduler.jobs())


def simulate(seed: int, operations: int = 200, faults: dict[str, bool] | None = None) -> Result:
    """Return what a seed shows."""
    return World(seed, operations, faults).run()
