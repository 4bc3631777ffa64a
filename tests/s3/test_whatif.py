from gas.s3 import S3, Machine
from gas.s3.whatif import fate_of


def test_a_request_starts_earlier_than_promised_when_others_end_early():
    machine = Machine(S3(10, 0))
    machine.submit(10, 100, 40)
    machine.submit(10, 100, 10)
    fate = fate_of(machine, 5, 20, 15)
    assert (fate.promised, fate.start, fate.finish) == (200, 50, 65)


def test_the_machine_itself_is_left_alone():
    machine = Machine(S3(10, 0))
    machine.submit(10, 100, 40)
    before = machine.schedule.availability().to_wire()
    fate_of(machine, 5, 20, 0)
    assert machine.schedule.availability().to_wire() == before
    machine.schedule.check()


def test_it_is_what_really_happens_next():
    machine = Machine(S3(10, 0))
    for size, walltime, run_time in [(6, 50, 20), (8, 40, 40), (3, 100, 1)]:
        machine.submit(size, walltime, run_time)
    fate = fate_of(machine, 4, 30, 25)
    entry = machine.submit(4, 30, 25)
    events = machine.advance(1000)
    times = {(e.kind, e.id): e.time for e in events}
    assert times[("ended", entry.id)] == fate.finish
    assert entry.start == fate.start
