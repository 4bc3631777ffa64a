"""The S³ service: the pure scheduler of `gas.s3` with a clock, a store, processes and HTTP around it.

Its modules, from the bottom:

    jobs         what was asked for and what became of it
    changes      what clients request of a waiting job
    listing      lists of jobs in pages
    rows         jobs as rows of the store, sealed
    tables       the tables of the store, and older ones brought up to date
    mark         how far the store had got, beside it
    file_system  whether a folder is on a network file system
    database     the SQLite file: transactions that are surely on disk, or surely not
    store        every job in that file
    command      what a job runs, and its environment
    wrapper      the small program that runs one command and outlives the service
    clock        scheduler time: elapsed time that follows the wall clock, perhaps faster than the world's
    pulse        whether the service ran at all
    grace        for ended jobs that only a jump of the clock made old
    records      what wrappers wrote of their jobs
    accounts     which Unix users jobs may run as
    cgroup       a cgroup for each job
    remains      the processes of a job, found and ended without its wrapper
    launcher     jobs as their own Unix users, by a small helper that stays root
    output       what a job has printed
    processes    starting, cancelling and settling wrappers
    runner       the processes of the jobs that run
    reconciling  what a restored or damaged store does not know, found in the directories of jobs
    feed         what has changed, for those who follow
    metrics      what is counted and measured
    aside        Python programs that work beside the service
    ledger       what was predicted, and what came of it
    prediction   when those who wait are likely to start
    usage        what each user has in the schedule
    outage       what an outage makes of jobs: missed starts, and jobs of the store put on a schedule again
    journal      what is logged and counted of each change
    book         jobs, schedule and store, kept equal
    opening      the book of a store, for another life of the service
    resizing     another size of the machine
    retention    how long ended jobs are kept
    rights       who may do what: the table
    limits       how much one user may take
    classes      classes of jobs: which there are, who may submit in them, their priorities
    token_file   salted hashes of bearer tokens
    tokens       who asks
    turnstile    the lock of the service, in order
    reshaping    another shape for a waiting job
    answering    an answer to what a waiting job is offered
    admission    what a request must pass to become a job
    dispatcher   the book kept up to the present, and what falls due started
    live         `LiveScheduler`: all of it together, safe to call from many threads
    requests     what clients send
    answers      what is answered
    planning     planning for a client
    lanes        so many requests of a kind at a time, users in turn
    planners     the processes that plan
    refusals     how errors are answered
    bodies       bodies of requests, each key once
    gate         what every request passes first
    rooms        who gives way when there is no place left
    connections  who is let in, and the end of patience with each
    stream       the event stream of one client, and how many there are
    page         the page at /
    serving      what a service consists of, for the routes, which all services of a process share
    job_routes   the routes of jobs and reservations
    app          the routes (`gas guide formats`) over a `LiveScheduler`
    backup       copies of a store: made, put back, checked; what is sound of a damaged one saved
    preload      a log, or a generated load, as the state to begin with
    logs         the service's own log
    listening    the socket of the service: its own, or one of systemd
    server       `serve` and `Embedded`: the app on a socket
    draining     what a draining service still has to finish
"""
