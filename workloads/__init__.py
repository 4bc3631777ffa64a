"""Streams of jobs: logs of real machines, and models that generate them.

    log         a log in memory: a column per field of the Standard Workload Format; what can be wrong with one
    header      its header comments, as lines and as keys; when second 0 was
    swf         reading and writing log files
    jobs        the rigid jobs in a log that a machine can run; what happens to a job that outlives its estimate
    load        how busy jobs keep a machine, and the same jobs made denser
    lublin      generator: the Lublin-Feitelson model of rigid batch and interactive jobs
    estimates   models of the run-time estimates that users give

Everything meets in `Log`: files are read to it and written from it, a generator is a module with a function
``generate(jobs, processors, *, generator, …) -> Log``, and `rigid_jobs` turns it into what a scheduler takes. Random
choices come from the caller's `numpy.random.Generator`. The package knows nothing of schedulers or of moldable jobs.
"""

from workloads.header import Epoch, Header
from workloads.jobs import Overrun, RigidJobs, apply_overrun, machine_size, rigid_jobs
from workloads.load import offered_load, scale_interarrivals, scale_to_load
from workloads.log import Log, LogError
from workloads.swf import format_swf, parse_swf, read_swf, write_swf

__all__ = [
    "Epoch",
    "Header",
    "Log",
    "LogError",
    "Overrun",
    "RigidJobs",
    "apply_overrun",
    "format_swf",
    "machine_size",
    "offered_load",
    "parse_swf",
    "read_swf",
    "rigid_jobs",
    "scale_interarrivals",
    "scale_to_load",
    "write_swf",
]
