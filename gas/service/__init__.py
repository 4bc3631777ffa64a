"""The S³ service: the pure scheduler of `gas.s3` with a clock, a store, processes and HTTP around it.

Its modules, from the bottom:

    jobs         a job of the service: the client's request, and the job's state
    changes      requests that change a waiting job
    listing      lists of jobs, in pages
    rows         jobs as rows of the store, with checksums
    tables       creates the tables of the store, and upgrades older ones
    mark         the file that records the last write of the store
    file_system  detects network file systems
    database     the SQLite file: its transactions are known to be on disk, known not to be, or reported as in doubt
    store        stores every job in this file
    command      the command of a job, and its environment
    wrapper      the small program that runs one command and outlives the service
    clock        scheduler time: follows elapsed time and the wall clock, optionally faster than real time
    pulse        detects whether the service was stopped, suspended or starved
    grace        keeps ended jobs that became old only by a jump of the clock
    records      reads the records that wrappers write
    accounts     the Unix users whose jobs S³ may run
    cgroup       a cgroup for each job
    remains      finds and ends the processes of a job without its wrapper
    launcher     a small helper that stays root and starts jobs as their own Unix users
    output       the output of a job
    processes    starts, watches and cancels wrappers
    runner       runs the processes of all running jobs
    reconciling  recovers jobs that a restored or damaged store does not know, from their directories
    feed         a bounded record of changes for clients that follow the schedule
    metrics      counters and measurements for Prometheus
    aside        runs Python programs outside the service, at low priority
    ledger       the predictions of the service, and their outcomes
    prediction   predicts the starts of waiting jobs
    usage        what each user has in the schedule, as sums
    outage       effects of an outage: missed starts, and jobs that are scheduled again
    journal      log lines and counters for each change
    book         keeps jobs, schedule and store consistent
    opening      opens the book of an existing store
    resizing     changes the size of the machine
    retention    deletes ended jobs after their retention time
    rights       the table of access rights
    limits       limits for each user
    classes      job classes: their order, and who may submit to each
    token_file   the tokens file: salted hashes of bearer tokens
    tokens       identifies the user of a request by its token
    turnstile    the lock of the service, which serves threads in order
    reshaping    changes the shape of a waiting job
    answering    applies the answer to an offer
    admission    checks a request before it becomes a job
    dispatcher   brings the book up to date, and starts jobs that are due
    live         `LiveScheduler`: the complete service without HTTP, safe to call from many threads
    requests     the bodies of requests
    answers      the bodies of answers
    planning     plans for a client
    lanes        limits concurrent requests of each kind, and serves users in turn
    planners     the processes that compute plans
    refusals     HTTP answers for errors
    bodies       parses request bodies; a repeated key is an error
    gate         the first checks of every request: user, rate, size
    rooms        chooses which connection to close when no place is left
    connections  admits connections, and closes slow ones
    stream       the event stream of one client, and the limit on streams
    page         the web page at /
    serving      the parts of one service, as an argument of the routes
    job_routes   the routes of jobs and reservations
    app          all other routes (`gas guide formats`) of a `LiveScheduler`
    backup       makes, restores and checks copies of a store; saves the undamaged part of a store
    preload      an initial state from a log or a generated load
    logs         the service's own log
    listening    the socket of the service: its own, or one that systemd opened
    server       `serve` and `Embedded`: run the app on a socket
    draining     what a draining service still has to finish
"""
