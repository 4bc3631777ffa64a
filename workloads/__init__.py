"""Streams of jobs: logs of real machines, and models that generate them.

    log         a log in memory: one column per field of the Standard Workload Format, and the faults that a log may
                have
    header      header comments, as lines and as keys; the instant of second 0
    formats     recognises the format of a log by its content
    swf         reads and writes SWF files
    sacct       reads the output of Slurm's sacct
    sacct_header  the header line of this output, and the fields of its lines
    sacct_cells the cells of this output: durations, limits, counts
    accounting  writes logs in the format of sacct
    tables      logs as tables: CSV, Parquet
    batsim      workloads of the simulator Batsim (JSON)
    cells       numbers in the cells of a file; error messages about its lines
    growing     columns that grow while a log is read
    pages       the text of a log file: unpacked, decoded, in chunks
    selection   selects jobs of a log: months, dates, first jobs
    archive     the logs of the Parallel Workloads Archive: names, notes, downloads
    jobs        the rigid jobs of a log that fit on a machine; rules for jobs that exceed their estimate
    load        the offered load of jobs, and scaling jobs to another load
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
    estimate_models  these models by name: they give a log other estimates
    adjustment  walltimes corrected by the share that similar jobs used
    replay      the order in which a scheduler learns of submissions and ends

`Log` is the central type: files are read into a log and written from one. A generator is a module with a function
``generate(jobs, processors, *, generator, …) -> Log``. `rigid_jobs` turns a log into the jobs that a scheduler takes.
Random choices come from the caller's `numpy.random.Generator`. The package knows nothing of schedulers or of moldable
jobs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
