"""What goes wrong, and when it is over."""

from __future__ import annotations

import contextlib
import re
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gas.errors import GasError
from gas.service import backup as product_backup
from gas.service import wrapper
from simulated import calls
from simulated.disk import CHANGES, Disk
from simulated.kernel import INIT, Process, Task
from simulated.service import DAY, MENDED, STATE, Backup
from simulated.users import Users


class Faults(Users):
    """The faults, each a method of its name."""

    def _kill(self) -> None:
        self.kill_service()

    def _power_cut(self) -> None:
        self.cut_power()

    def _crash_at(self, how: str) -> None:
        disk = self.disk
        disk.crash_kind = self.rng.choice(["", *CHANGES])
        disk.crash_in = self.rng.randint(0, 3 if disk.crash_kind else 25)
        disk.crash_how = how
        disk.crash_done = self.rng.random() < 0.5
        self.note(f"{how} after {disk.crash_in} operations of the disk ({disk.crash_kind or 'any'})")

    def _power_cut_at_an_operation(self) -> None:
        self._crash_at("power")

    def _kill_at_an_operation(self) -> None:
        self._crash_at("kill")

    def _stop(self) -> None:
        process = self.process
        if process is None or self.scheduler is None:
            return
        self.note("the service is stopped in order")
        self.oracle.disturb(self.kernel.now + 40)
        scheduler, self.scheduler = self.scheduler, None

        def body() -> None:
            scheduler.stop()
            process.die(0)

        Task(self.kernel, process, body, "stop")

    def _for_a_while(self) -> float:
        seconds = self.rng.choice([0.5, 3.0, 10.0])
        self.oracle.disturb(self.kernel.now + seconds + 30)
        self.oracle.outages += 1
        return self.kernel.now + seconds

    def _failing_sync(self) -> None:
        self.disk.fails["fsync"] = self._for_a_while()
        self.disk.rate = self.rng.choice([0.3, 1.0])
        self.disk.where = self.rng.choice(["", "s3.sqlite", "jobs/"])
        self.disk.then_kill = self.rng.random() < 0.3
        self.note(f"fsync of {self.disk.where or 'everything'} fails until {self.disk.fails['fsync']:.3f}")

    def _failing_write(self) -> None:
        kind = self.rng.choice(["write", "create", "rename", "link", "mkdir", "truncate"])
        self.disk.fails[kind] = self._for_a_while()
        self.disk.rate = self.rng.choice([0.3, 1.0])
        self.disk.where = self.rng.choice(["", "s3.sqlite", "jobs/"])
        self.note(f"{kind} of {self.disk.where or 'everything'} fails until {self.disk.fails[kind]:.3f}")

    def _full_disk(self) -> None:
        self.disk.full_until = self._for_a_while()
        self.note(f"the disk is full until {self.disk.full_until:.3f}")

    def _no_descriptors(self) -> None:
        kernel = self.kernel
        kernel.descriptors_exhausted = True
        until = self._for_a_while()
        self.note(f"no descriptors are left until {until:.3f}")

        def over() -> None:
            kernel.descriptors_exhausted = False

        kernel.at(until, over)

    def _slow_disk(self) -> None:
        self.disk.slow_until = self._for_a_while() + 5
        self.disk.slow_seconds = self.rng.choice([0.5, 3.0, 6.0])
        self.note(f"fsync takes up to {self.disk.slow_seconds} s until {self.disk.slow_until:.3f}")
        self.oracle.disturb(self.disk.slow_until + 40)

    def _stall(self) -> None:
        process = self.process
        if process is None:
            return
        seconds = self.rng.choice([0.5, 3.0, 20.0])
        self.note(f"the service is stopped by SIGSTOP for {seconds} s")
        self.oracle.disturb(self.kernel.now + seconds + 20)
        self.oracle.outages += 1
        process.stopped = True
        self.kernel.at(self.kernel.now + seconds, lambda: process.resume() if process.stopped else None)

    def _suspend(self) -> None:
        seconds = self.rng.choice([1.0, 10.0, 300.0])
        self.note(f"the machine is suspended for {seconds} s")
        self.oracle.clock_moved = True
        self.oracle.outages += 1
        self.kernel.suspend(seconds)
        self.oracle.disturb(self.kernel.now + 90)

    def _step(self) -> None:
        seconds = self.rng.choice([-DAY, -3600.0, -10.0, 10.0, 3600.0, DAY, 100 * DAY])
        self.note(f"the wall clock is set by {seconds:+.0f} s")
        self.oracle.clock_moved = True
        self.oracle.outages += 1
        self.kernel.wall += seconds
        self.oracle.disturb(self.kernel.now + 90, runs=False)

    def _clock_step(self) -> None:
        self._step()

    def _restart_with_another_clock(self) -> None:
        self.kill_service()
        self._step()

    def _restored_backup(self) -> None:
        if not self.backups:
            return self.take_backup()
        first = self.rng.choice(self.backups[-3:])
        newer = [each for each in self.backups if each is not first]
        if newer and self.rng.random() < 0.4:  # somebody finds that it was not the right one
            second = newer[-1]
            seconds = self.rng.choice([3.0, 10.0, 30.0])
            self.kernel.at(self.kernel.now + seconds, lambda: None if self.mended else self._bring_back(second))
        return self._bring_back(first)

    def _bring_back(self, backup: Backup) -> None:
        self.kill_service()
        self.oracle.sizes.end(self.oracle.sizes.ask(backup.size), done=None)  # what was started before is still to come
        self.oracle.accepting.end(self.oracle.accepting.ask(backup.accepting), done=None)
        self.oracle.disturb(self.kernel.now + 60)
        if self.rng.random() < 0.5:
            self._copy_over(backup)
        else:
            self.note("gas restore")
            self.restoring = backup
        self.oracle.restored(backup.known)

    @contextlib.contextmanager
    def _administrator(self) -> Iterator[Disk]:
        """Change files without any fault, and durably."""
        disk = self.kernel.disk
        watch, disk.watch = disk.watch, lambda kind, path, done: None
        try:
            yield disk
            disk.seal()
        finally:
            disk.watch = watch

    def _copy_over(self, backup: Backup) -> None:
        """Have somebody copy a backup over the store, as no guide says."""
        self.note("a backup is copied over the store")
        with self._administrator() as disk:
            folder: Any = disk.find(STATE)
            mark = folder.entries.get("s3.mark")
            text = bytes(mark.data).decode(errors="replace") if mark is not None else ""
            found = re.search(r'"last_id": (\d+)', text)
            if found is None or int(found[1]) < max(self.oracle.names, default=0):
                self.oracle.names.clear()  # the power was cut before the mark was on disk: nothing else knows them
            for name in ("s3.sqlite", "s3.sqlite-wal", "s3.sqlite-journal", "s3.sqlite-shm"):
                if name in folder.entries:
                    disk.unlink(f"{STATE}/{name}")
            file = disk.create(f"{STATE}/s3.sqlite")
            disk.write(file, backup.content, 0, f"{STATE}/s3.sqlite")

    def restore(self, backup: Backup) -> None:
        """Run gas restore, as often as it takes, and then the service."""
        with self._administrator() as disk:
            if not disk.exists("/backups"):
                disk.mkdir("/backups")
            path = f"/backups/{self.kernel.now}"
            file = disk.create(path)
            disk.write(file, backup.content, 0, path)
        if self.restore_began and not MENDED["interrupted restore"]:
            self.oracle.names.clear()
        self.restore_began = True
        process = Process(self.kernel, INIT, ["gas", "restore"], {})
        self.process = process
        process.on_death = lambda status: self.service_died(process)

        def body() -> None:
            try:
                done = product_backup.restore(calls.SimulatedPath(path), calls.SimulatedPath(STATE))
            except (GasError, OSError, sqlite3.Error) as error:
                self.note(f"gas restore: {type(error).__name__}: {error}")
            else:
                self.note(f"gas restore: {done.jobs} jobs, {len(done.lost)} lost, {len(done.found)} found")
                self.restoring = None
                self.restore_began = False
            process.die(0)

        Task(self.kernel, process, body, "restore")

    def _killed_wrapper(self) -> None:
        wrappers = [p for p in self.kernel.living() if wrapper.__file__ in p.arguments]
        if wrappers:
            self.note("a wrapper is killed")
            self.oracle.outages += 1
            self.oracle.disturb(self.kernel.now + 10)
            self.rng.choice(wrappers).die(-signal.SIGKILL)

    def _stopped_wrapper(self) -> None:
        wrappers = [p for p in self.kernel.living() if wrapper.__file__ in p.arguments]
        if wrappers:
            self.note("a wrapper is stopped")
            self.oracle.outages += 1
            self.oracle.disturb(self.kernel.now + 60)
            self.rng.choice(wrappers).signal(signal.SIGSTOP)

    def _slow_wrapper(self) -> None:
        pass  # in `wrapper_began`

    def _late_wrapper(self) -> None:
        self.next_comes_late = True

    def comes_late(self, directory: str) -> float:
        """Kill the service, which is up again a second later, and plans the job again: that second is what counts.

        The job's user may cancel it then.
        """
        kernel, rng = self.kernel, self.rng
        kernel.at(kernel.now, self.kill_service)
        kernel.at(kernel.now + 1, self._restart)
        if rng.random() < 0.5:
            id = int(Path(directory).name.partition(".")[0])
            asked = next((each for each in self.oracle.asked.values() if each.id == id), None)
            kernel.at(kernel.now + rng.uniform(1, 2), lambda: self.cancel_job(asked))
        pause = rng.uniform(0.9, 3.0)
        self.oracle.disturb(kernel.now + pause + 5)
        return pause
