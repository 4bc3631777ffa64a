"""The S³ service: the pure scheduler of `gas.s3` with a clock, a store, processes and HTTP around it.

Its modules, from the bottom:

    clock        scheduler time, perhaps faster than the world's
    jobs         what was asked for and what became of it
    store        every job in one SQLite file
    wrapper      the small program that runs one command and outlives the service
    records      what wrappers wrote of their jobs
    processes    starting, cancelling and settling wrappers
    runner       the processes of the jobs that run
    live         `LiveScheduler`: all of it together, safe to call from many threads
    schemas      bodies of requests and answers
    app          the routes of DESIGN.md over a `LiveScheduler`
    preload      a log, or a generated load, as the state to begin with
    server       `serve` and `Embedded`: the app on a socket
"""
