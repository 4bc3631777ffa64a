"""Streams of jobs: logs of real machines, and models that generate them.

    log         a log in memory: a column per field of the Standard Workload Format; what can be wrong with one
    header      its header comments, as lines and as keys; when second 0 was
    formats     every format in which logs are read and written, told apart by content
    swf         reading and writing log files
    sacct       reading what Slurm's accounting prints
    sacct_header  its header line: whether it is one, and which fields lines have
    sacct_cells what stands in its cells: durations, limits, counts
    accounting  writing that
    tables      a log as a table: CSV, Parquet
    batsim      workloads of the simulator Batsim: JSON
    cells       numbers in the cells of a file; complaints about its lines
    growing     the columns of a log while it is read
    pages       the text of a log file: unpacked, decoded, in pieces
    selection   parts of a log: months, dates, first jobs
    archive     the logs of the Parallel Workloads Archive by name: what is known of them, and fetching them
    jobs        the rigid jobs in a log that a machine can run; what happens to a job that outlives its estimate
    load        how busy jobs keep a machine, and the same jobs made denser
    lublin      generator: the Lublin-Feitelson model of rigid batch and interactive jobs
    jann        generator: Jann's model, fitted to any log by its moments per range of sizes, or to the CTC SP2's
    feitelson   generator: a model like Feitelson's of 1996, with repeated jobs, and its longer and smaller variants
    downey      generator: Downey's model of moldable jobs, and how they become rigid
    arrivals    laws of interarrival times
    hyper_erlang  the distribution of Jann's model, fitted to three moments
    generated   what the logs of all generators have in common: header, constants, load
    estimates   models of the run-time estimates that users give, and how good estimates are
    tsafrir     the model of Tsafrir, Etsion and Feitelson: a few round values, used over and over
    history     estimates that a system makes of the jobs that have ended
    estimate_models  all of these by name: a log with other estimates
    adjustment  walltimes corrected by how much of theirs similar jobs used
    replay      the order in which a scheduler learns of submissions and ends

Everything meets in `Log`: files are read to it and written from it, a generator is a module with a function
``generate(jobs, processors, *, generator, …) -> Log``, and `rigid_jobs` turns it into what a scheduler takes. Random
choices come from the caller's `numpy.random.Generator`. The package knows nothing of schedulers or of moldable jobs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
