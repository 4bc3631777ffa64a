"""S³, the space-shared scheduler of the paper: pure code, which the live service and the simulator share.

Its modules, from the bottom:

    queue      the waiting jobs in order of priority and submission, as arrays
    runs       runs of equal jobs in the queue, from bulk submissions, which move together
    placing    kernels that place queued jobs and move them to earlier starts
    entries    entries of the schedule: `Entry`, and broken promises: `Broken`
    waiting    waiting jobs, as objects and as arrays
    running    running jobs, their processors and their ends
    invariants the invariants of every schedule
    repair     plans again when processors are lost
    schedule   `Schedule`: running and planned jobs, queries, and the steps of each change
    offers     `Offers`: conditional backfilling, which offers jobs earlier starts
    core       `S3`: submit, reserve, cancel, reshape, step, resize
    machine    `Machine`: S³ with jobs of known run times; time advances, and jobs start and end
    replay     a log replayed on a machine up to an instant
    whatif     the outcome of a hypothetical request: a copy of the machine, run until the request ends
"""

from gas.s3.core import S3
from gas.s3.entries import NO_OFFERS, Broken, Cause, Entry, Resized, State
from gas.s3.machine import Event, Machine
from gas.s3.offers import MOST_NOTICE

__all__ = ["MOST_NOTICE", "NO_OFFERS", "S3", "Broken", "Cause", "Entry", "Event", "Machine", "Resized", "State"]
