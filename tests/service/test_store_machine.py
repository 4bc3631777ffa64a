"""S³ under any sequence of operations, rebuilt from a copy of its store after each one."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import TODAY
from thorough import examples

from gas.errors import BadInput, Conflict, Draining, NotFound, StalePlan
from gas.service.changes import Answer, Reshape
from gas.service.classes import Classes
from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler

REFUSED = (BadInput, Conflict, Draining, NotFound, StalePlan)

sizes = st.integers(1, 8)
walltimes = st.integers(1, 12)
keys = st.sampled_from([None, None, "a", "b", "c"])
classes = st.sampled_from([None, None, "urgent", "normal", "low"])

CLASSES = Classes(("urgent", "normal", "low"), "normal")


class Stored(RuleBasedStateMachine):
    """Whatever happens to a scheduler, one rebuilt from its store at the same instant gives the same answers."""

    @initialize(processors=st.integers(1, 8), speed=st.sampled_from([1.0, 1.0, 10.0]))
    def begin(self, processors, speed):
        self.directory = Path(tempfile.mkdtemp())
        self.real = float(TODAY)
        self.lives = 0
        self.speed = speed
        self.state = self.directory / "state"
        self.live = LiveScheduler("s3", processors, self.state, clock=self.clock(), classes=CLASSES)

    def teardown(self):
        if hasattr(self, "live"):
            self.live.stop()
            shutil.rmtree(self.directory)

    def clock(self):
        return Clock(self.speed, origin=TODAY, real_origin=TODAY, real=lambda: self.real)

    @property
    def now(self):
        return self.live.clock.now()

    def active(self):
        return self.live.jobs()

    # ------------------------------------------------------------------------------------------ what must hold

    def answers(self, scheduler):
        """Return everything that a client could ask for."""
        jobs = scheduler.jobs(ended=10_000)
        return {
            "jobs": [job.to_wire() for job in jobs],
            "each": [scheduler.job(job.id).to_wire() for job in jobs],
            "requests": [job.request for job in jobs],
            "keys": {key: self.with_key(scheduler, key) for key in ("a", "b", "c")},
            "availability": scheduler.availability().to_wire(),  # with its version
            "machine": scheduler.machine(),
            "health": scheduler.health(),
        }

    def with_key(self, scheduler, key):
        job = scheduler.job_with_key("ada", key)
        return None if job is None else job.to_wire()

    def rebuilt(self):
        """Return a scheduler made from a copy of the files as they are now, while the first one has them open."""
        self.lives += 1
        copy = self.directory / f"copy-{self.lives}"
        copy.mkdir()
        for file in self.state.glob("s3.sqlite*"):
            if not file.name.endswith("-shm"):  # that one is memory, not disk
                shutil.copyfile(file, copy / file.name)
        return LiveScheduler("s3", None, copy, clock=self.clock(), classes=CLASSES)

    @invariant()
    def a_scheduler_rebuilt_from_disk_gives_the_same_answers(self):
        if not hasattr(self, "live"):
            return
        expected = self.answers(self.live)
        other = self.rebuilt()
        try:
            assert self.answers(other) == expected
            with other.frozen() as machine:
                machine.schedule.check()
        finally:
            other.stop()

    @rule(processors=sizes, walltime=walltimes, run_time=st.integers(0, 15))
    def both_answer_the_next_submission_alike(self, processors, walltime, run_time):
        other = self.rebuilt()
        try:
            told = [self.submit(processors, walltime, run_time, scheduler=each) for each in (self.live, other)]
            assert told[0] == told[1]
            assert self.answers(other) == self.answers(self.live)
        finally:
            other.stop()

    # -------------------------------------------------------------------------------------------------- users

    @rule(
        processors=sizes,
        walltime=walltimes,
        run_time=st.integers(0, 15),
        delay=st.sampled_from([None, None, None, -3, 0, 4, 25]),
        patience=st.sampled_from([None, None, 0, 2, 30]),
        key=keys,
        job_class=classes,
        notice=st.sampled_from([None, None, 1, 4]),
    )
    def submits(self, processors, walltime, run_time, delay, patience, key, job_class, notice):
        not_before = None if delay is None else self.now + delay
        start_by = None if patience is None else self.now + patience
        more = {"start_by": start_by, "key": key, "job_class": job_class, "notice": notice}
        self.submit(processors, walltime, run_time, start=not_before, **more)

    def submit(self, processors, walltime, run_time, *, scheduler=None, **more):
        size = min(processors, self.live.processors)
        request = JobRequest("job", "job", size, walltime, actuator="simulated", run_time=run_time, user="ada", **more)
        return self.ask(scheduler or self.live, request)

    @rule(
        processors=sizes,
        walltime=walltimes,
        delay=st.integers(0, 20),
        slack=st.sampled_from([None, 0, 5, 50]),
        key=keys,
        run_time=st.sampled_from([None, 0]),  # 0 lapses
    )
    def reserves(self, processors, walltime, delay, slack, key, run_time):
        start = self.now + delay
        start_by = None if slack is None else start + slack
        more = {"actuator": "none", "run_time": run_time, "start_by": start_by, "key": key, "user": "ada"}
        request = JobRequest("reservation", "reservation", processors, walltime, start=start, **more)
        self.ask(self.live, request)

    @precondition(lambda self: self.reserved())
    @rule(data=st.data(), run_time=st.integers(0, 15), key=keys)
    def uses(self, data, run_time, key):
        """A job replaces a reservation, once; all others stay where they are."""
        held = data.draw(st.sampled_from(self.reserved()))
        others = {job.id: job.start for job in self.active() if job.id != held.id}
        size, walltime = held.request.processors, held.request.walltime
        more = {"start": held.start, "key": key, "user": "ada", "reservation": held.id}
        request = JobRequest("job", "job", size, walltime, actuator="simulated", run_time=run_time, **more)
        answer = self.ask(self.live, request)
        if answer[1] is True:
            assert self.live.job(held.id).state == "cancelled"
            assert answer[0]["promise"] == held.start
            assert {job.id: job.start for job in self.active() if job.id != answer[0]["id"]} == others

    def reserved(self):
        return [job for job in self.active() if job.state == "reserved" and job.request.kind == "reservation"]

    def ask(self, scheduler, request):
        """Return the scheduler's answer; a refusal changes nothing, the same key never makes a second job."""
        before = self.answers(scheduler)
        try:
            job, new = scheduler.submit(request)
        except REFUSED as error:
            assert self.answers(scheduler) == before
            return type(error), str(error)
        assert scheduler.job(job.id).to_wire() == job.to_wire()
        count = len(scheduler.jobs(ended=10_000))
        assert count == len(before["jobs"]) + new
        if request.key is not None:
            again, another = scheduler.submit(request)
            assert (again.id, another) == (job.id, False)
        return job.to_wire(), new

    @precondition(lambda self: self.active())
    @rule(data=st.data())
    def cancels(self, data):
        job = data.draw(st.sampled_from([job.id for job in self.active()]))
        assert self.live.cancel(job).state == "cancelled"
        assert self.live.job(job).state == "cancelled"

    @rule(id=st.integers(-1, 3))
    def cancels_whatever_it_is(self, id):
        try:
            assert not self.live.cancel(id).active
        except NotFound:
            assert id not in {job.id for job in self.live.jobs(ended=10_000)}

    @precondition(lambda self: self.active())
    @rule(
        data=st.data(),
        processors=sizes,
        walltime=st.none() | walltimes,
        run_time=st.sampled_from([None, None, 0, 3, 15]),
        patience=st.sampled_from([None, None, 0, 2, 30]),
        key=keys,
    )
    def reshapes(self, data, processors, walltime, run_time, patience, key):
        """A waiting job gets its new request, once; no other promise gets later; a refusal changes nothing."""
        before = {job.id: job for job in self.active()}
        id = data.draw(st.sampled_from(sorted(before)))
        start_by = None if patience is None else self.now + patience
        wanted = Reshape(id, processors, walltime, run_time, start_by, key, "ada")
        answers, broken = self.answers(self.live), self.live.health()["promises_broken"]
        try:
            job = self.live.reshape(wanted)
        except REFUSED:
            assert self.answers(self.live) == answers
            return
        if key is not None:
            changed = self.answers(self.live)
            assert self.live.reshape(wanted) == job
            assert self.answers(self.live) == changed
            if changed == answers:  # the key had been used for this before
                return
        assert before[id].state == "queued"
        assert (job.request.processors, job.request.walltime) == (processors, walltime or before[id].request.walltime)
        assert job.promise == job.first_promise
        assert job.submission == before[id].submission
        assert start_by is None or job.promise <= start_by + max(0, self.speed - 1)
        after = {other: self.live.job(other) for other in before if other != id}
        assert all(job.promise <= before[other].promise for other, job in after.items())
        assert all(job.first_promise == before[other].first_promise for other, job in after.items())
        assert self.live.health()["promises_broken"] == broken

    @precondition(lambda self: [job for job in self.active() if job.request.notice is not None])
    @rule(data=st.data(), accepts=st.booleans(), later=st.sampled_from([None, 0, 3]), key=keys)
    def answers_an_offer(self, data, accepts, later, key):
        """An accepted offer becomes the promise, once; no promise gets later; a refusal changes nothing."""
        before = {job.id: job for job in self.active()}
        offered = [job for job in before.values() if job.request.notice is not None]
        chosen = data.draw(st.sampled_from(sorted(offered, key=lambda job: (job.offer is None, job.id))[:3]))
        start = chosen.offer
        not_before = None if accepts or later is None else self.now + later
        wanted = Answer(chosen.id, accepts and start is not None, start, not_before, key, "ada")
        answers = self.answers(self.live)
        try:
            job = self.live.answer(wanted)
        except REFUSED:
            assert self.answers(self.live) == answers
            return
        changed = self.answers(self.live)
        if key is not None:
            assert self.live.answer(wanted) == job
            assert self.answers(self.live) == changed
        assert changed == answers or job.promise == (start if wanted.accepts else chosen.promise)
        assert all(self.live.job(id).promise <= each.promise for id, each in before.items())

    # ---------------------------------------------------------------------------------------------- operators

    @rule(processors=sizes)
    def the_machine_gets_another_size(self, processors):
        """Broken promises are reported for exactly the jobs that are late or cancelled."""
        before = {job.id: job.promise for job in self.active()}
        broken = self.live.health()["promises_broken"]
        told = {b.job.id: (b.promised, b.start) for b in self.live.resize(processors, cancel_larger=True)}
        after = {id: self.live.job(id) for id in before}
        assert self.live.processors == processors
        gone = {id for id, job in after.items() if not job.active}
        assert all(after[id].request.processors > processors and after[id].state == "cancelled" for id in gone)
        late = {id for id, job in after.items() if job.active and job.promise > before[id]}
        assert told == {
            **{id: (before[id], None) for id in gone},
            **{id: (before[id], after[id].promise) for id in late},
        }
        assert self.live.health()["promises_broken"] == broken + len(told)

    @rule(accepting=st.booleans())
    def jobs_are_accepted_or_not(self, accepting):
        self.live.accept(accepting)
        assert self.live.machine()["accepting"] == accepting

    # --------------------------------------------------------------------------------------------------- time

    @rule(seconds=st.sampled_from([0.3, 0.7, 1, 1, 2, 5, 20]))
    def time_passes(self, seconds):
        """Every instant is handled in turn, so no promise gets later."""
        promised = {job.id: job.promise for job in self.active()}
        broken = self.live.health()["promises_broken"]
        for _ in range(int(seconds * 10)):
            self.real += 0.1 / self.speed
            self.live.jobs()
        assert all(self.live.job(id).promise <= promise for id, promise in promised.items())
        assert self.live.health()["promises_broken"] == broken

    @rule()
    def the_service_is_killed_and_comes_back_at_once(self):
        """The state at its death is on disk; the first one is left as it is, as by `kill -9`."""
        dead, self.live = self.live, self.rebuilt()
        self.move_in(dead)

    @rule(seconds=st.integers(1, 40))
    def the_service_is_away_for_a_while(self, seconds):
        """Only starts that fell due meanwhile, and what they displace, may come later than promised."""
        self.live.jobs()
        before = {job.id: job for job in self.active()}
        broken = self.live.health()["promises_broken"]
        dead = self.live
        self.real += seconds
        self.live = self.rebuilt()
        now = self.now
        self.move_in(dead)
        after = {id: self.live.job(id) for id in before}
        late = {id for id, job in before.items() if after[id].promise > job.promise}
        missed = {id for id, job in before.items() if job.state != "running" and job.promise < now}
        lapsed = {id for id in missed if before[id].request.lapses}
        assert all((after[id].state, after[id].finished) == ("cancelled", before[id].promise) for id in lapsed)
        missed -= lapsed
        assert missed <= late
        assert late == missed or missed, "nothing is displaced where nothing was missed"
        assert self.live.health()["promises_broken"] == broken + len(late)
        assert all(after[id].first_promise == before[id].first_promise for id in before)

    def move_in(self, dead):
        """Have the rebuilt scheduler go on from the files that it was rebuilt from."""
        dead.stop()
        shutil.rmtree(self.state)
        self.state = self.directory / f"copy-{self.lives}"


TestStored = Stored.TestCase
TestStored.settings = examples(25, stateful_step_count=25)


@pytest.mark.long
class TestStoredForLong(Stored.TestCase):
    """Many more examples."""

    settings = settings(max_examples=2000, stateful_step_count=50, deadline=None)
