"""S³, the space-shared scheduler of the paper: pure, and the same live and in simulation.

Its modules, from the bottom:

    queue      waiting jobs in the order of their priority and submission, as arrays
    runs       equal jobs one behind the other in the queue, as bulk submissions put them there, moved at once
    placing    the kernels on a queue: place, promote
    entries    what the schedule holds: `Entry`, and promises that were `Broken`
    waiting    who waits, as objects and as arrays
    running    who runs, and holds how many processors until when
    invariants what holds for every schedule
    repair     planning again around processors that are not there
    schedule   `Schedule`: what is held and planned, what can be asked of it, and the steps of each change
    offers     `Offers`: conditional backfilling, earlier starts that jobs are offered
    core       `S3`: submit, reserve, cancel, reshape, step, resize
    machine    `Machine`: S³ with jobs whose run time is known; time moves on, jobs start and end
    replay     a log driven through a machine up to an instant
    whatif     what a request would have got: a copy of the machine, run to the request's end
"""

from gas.s3.core import S3
from gas.s3.entries import NO_OFFERS, Broken, Cause, Entry, Resized, State
from gas.s3.machine import Event, Machine
from gas.s3.offers import MOST_NOTICE

__all__ = ["MOST_NOTICE", "NO_OFFERS", "S3", "Broken", "Cause", "Entry", "Event", "Machine", "Resized", "State"]
