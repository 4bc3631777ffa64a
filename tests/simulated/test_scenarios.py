"""What seeds have found once, told as a story each: the same machine, with chosen faults at chosen moments."""

import pytest

from simulated import commands
from simulated.world import FAULTS, World

NONE = dict.fromkeys(FAULTS, False)


class Story(World):
    """A run that does what `tell` says, and then mends all and judges."""

    def __init__(self, seed, tell):
        super().__init__(seed, 0, NONE)
        self._tell = tell
        self.faults_done["story"] = 1  # so that a start may fail while the disk does
        self.oracle.outages = 1

    def _live(self):
        self.start_service()
        self.wait(1)
        self._tell(self)
        self.settle()
        for text in self.oracle.violations:
            self.note(f"VIOLATION: {text}")
        self._end_all()

    def wait(self, seconds):
        self.kernel.run(self.kernel.now + seconds)

    def submits(self, **more):
        self._submit(self._wish(key=f"key-{self.tokens}", **{"processors": 1, **more}))
        self.wait(0.5)

    def syncs_fail(self, seconds):
        self.disk.where, self.disk.rate = "s3.sqlite", 1.0
        self.disk.fails["fsync"] = self.kernel.now + seconds
        self.oracle.disturb(self.kernel.now + seconds + 30)

    def starts_again(self):
        while self.scheduler is None:
            self.wait(1)


def passes(story, seeds=range(2)):
    for seed in seeds:
        result = Story(seed, story).run()
        assert not result.violations, "\n".join(result.trace)


def test_what_is_answered_after_a_failed_sync_and_a_restart_outlives_a_power_cut():
    def story(world):
        for _ in range(5):
            world.submits()
        world.syncs_fail(3)
        world.submits()  # its pages count as written, but are not
        world.kill_service()
        world.wait(4)
        world.starts_again()
        for _ in range(5):
            world.submits()
        world.cut_power()
        world.starts_again()

    passes(story, range(4))


def test_a_power_cut_while_a_backup_is_restored_leaves_something_to_restore():
    def story(world):
        for _ in range(5):
            world.submits()
        world.take_backup()
        world.wait(1)
        for _ in range(5):
            world.submits()
        world.kill_service()
        world.restoring = world.backups[0]
        world.oracle.restored(world.backups[0].known)
        world.disk.crash_in, world.disk.crash_how = world.seed * 2, "power"
        world.wait(60)
        world.starts_again()

    passes(story, range(4))


def test_a_job_that_one_backup_started_and_another_has_as_cancelled_shares_its_processors_with_nobody():
    def story(world):
        def goes_back_to(backup):
            world.kill_service()
            world._copy_over(backup)
            world.oracle.restored(backup.known)
            world._restart()
            world.wait(1)

        size = world.size
        for _ in range(2):
            command = commands.command_line(f"t{world.tokens + 1}", 25.0, 0, "stubborn")
            world.submits(processors=size, walltime=30, command=command, notice=None, job_class=None)
        blocker, waits = world.oracle.asked.values()
        world.take_backup()
        world.wait(1)
        world.cancel_job(waits)
        world.wait(1)
        world.take_backup()
        world.wait(1)
        older, newer = world.backups
        goes_back_to(older)
        world.cancel_job(blocker)
        while waits.token not in world.oracle.executing:
            world.wait(1)
        goes_back_to(newer)
        world.submits(processors=size, notice=None, job_class=None)

    passes(story)


@pytest.mark.parametrize("seconds", [-86400.0, 100 * 86400.0])
def test_a_restart_with_another_clock_loses_no_job_and_gives_no_processor_twice(seconds):
    def story(world):
        world.keep = 7 * 86400
        for _ in range(6):
            world.submits(processors=world.size, walltime=20)
        world.kill_service()
        world.kernel.wall += seconds
        world.oracle.clock_moved = True
        world.oracle.disturb(world.kernel.now + 90, runs=False)
        world.starts_again()
        world.submits(processors=world.size)

    passes(story)
