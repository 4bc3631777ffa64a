"""Streams of jobs: logs of real machines, and models that generate them.

    log         a log in memory: a column per field of the Standard Workload Format, and the faults that it may have
    header      header comments, as lines and as keys; the instant of second 0
    formats     the formats of logs, recognized by content
    swf         reading and writing log files
    sacct       reading the output of Slurm's sacct
    sacct_header  its header line, and the fields of its lines
    sacct_cells its cells: durations, limits, counts
    accounting  writing logs in the format of sacct
    tables      a log as a table: CSV, Parquet
    batsim      workloads of the simulator Batsim: JSON
    cells       numbers in the cells of a file; complaints about its lines
    growing     the columns of a log while it is read
    pages       the text of a log file: unpacked, decoded, in pieces
    selection   parts of a log: months, dates, first jobs
    archive     the logs of the Parallel Workloads Archive by name, with notes, and downloading them
    jobs        the rigid jobs of a log that fit on a machine; rules for jobs that outlive their estimate
    load        the load of a machine, and the same jobs at a higher load
    lublin      generator: the Lublin-Feitelson model of rigid batch and interactive jobs
    jann        generator: Jann's model, fitted to any log by its moments per range of sizes, or to the CTC SP2's
    feitelson   generator: a model like Feitelson's of 1996, with repeated jobs, and its longer and smaller variants
    downey      generator: Downey's model of moldable jobs, and how they become rigid
    arrivals    laws of interarrival times
    hyper_erlang  the distribution of Jann's model, fitted to three moments
    generated   header, constants and load of generated logs
    estimates   models of users' run-time estimates, and their accuracy
    tsafrir     the model of Tsafrir, Etsion and Feitelson: a few round values, used over and over
    history     estimates made by a system from jobs that have ended
    estimate_models  all of these models by name: a log with other estimates
    adjustment  walltimes corrected by the share that similar jobs used
    replay      the order in which a scheduler learns of submissions and ends

`Log` is at the centre: files are read into it and written from it; a generator is a module with a function
``generate(jobs, processors, *, generator, …) -> Log``; and `rigid_jobs` makes of it the jobs that a scheduler takes.
Random choices come from the caller's `numpy.random.Generator`. The package knows nothing of schedulers or of
moldable jobs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
