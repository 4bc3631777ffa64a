"""S³, the space-shared scheduler of the paper: pure, and the same live and in simulation.

Its modules, from the bottom:

    placing    the kernels: place, revise, promote
    entries    what the schedule holds: `Entry`, and promises that were `Broken`
    repair     planning again around processors that are not there
    core       `S3`: submit, reserve, cancel, step, availability, check
    machine    `Machine`: S³ with jobs whose run time is known; time moves on, jobs start and end
    replay     a log driven through a machine up to an instant
    whatif     what a request would have got: a copy of the machine, run to the request's end
"""

from gas.s3.core import S3
from gas.s3.entries import Broken, Entry, State
from gas.s3.machine import Event, Machine

__all__ = ["S3", "Broken", "Entry", "Event", "Machine", "State"]
