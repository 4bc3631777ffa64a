"""Slurm's scheduling, pure: the published state of a cluster, and the decisions of its schedulers.

The published state, and the configuration of a site::

    cluster       what Slurm publishes, whatever the transport
    settings      how it is configured: priority, enforcement, preemption, defaults
    accounting    accounts, users and qualities of service, their limits and what is in use
    versions      what its schedulers do otherwise from one release to the next

Where a job stands, before it is submitted::

    demand        how much of each trackable resource it counts for
    extent        what a partition has altogether
    fair_share    who has used less than their part comes first
    factors       what its priority depends on
    priority      the priority that it would get, with its parts; observed is what waiting jobs show of it
    standing      a job with all that its limits depend on
    levels        the QOS, association and accounts whose limits hold for it, and what they use
    access        who may use a partition, and what it allows
    limits        what limits say to it; verdict is the answer, reasons are Slurm's names of them,
                  release is how much of a limit is in use, and when running jobs give it back
    blocked       the waiting jobs that limits hold back; held_back is what limits say to any job
    explanation   why a job waits

One cycle of the backfill scheduler, and one pass of the main scheduler, on arrays. Machine code takes each array by its
type, so kernels that call each other repeat long lists of parameters::

    order         the queue: a record for each waiting job and partition, in the order in which they are considered
    preemption    whose place a waiting job may take
    unasked       partitions and QOS that are not chosen for a job that does not name them
    features      which nodes a constraint allows
    parameters    how the backfill scheduler plans
    needs         what a job asks of nodes
    builder       the machine and what runs on it as arrays
    records       the queue as arrays
    state         all of that together: what a cycle begins with
    node_sets     sets of nodes as words of 64 bits
    rows          the arrays of a cycle: records, reservations, parameters, plans
    machine       the machine, and what jobs have of it
    fitting       how much of each node a job can have
    choosing      which of those nodes it gets; dealing is how many CPUs of each
    will_run      at which end of running jobs
    table         which jobs are planned in which span
    search        the start of one record
    bench         what a cycle works in
    startable     which records might still start now
    cycle         one cycle of the backfill scheduler
    observed_depth
                  how many jobs a cycle plans, where that is not published
    supposed_depth
                  how many of a user or a partition, where plans are as published only with that number
    unpublished   that, and what else shows of a configuration that is not published
    node_weights  weights of nodes that jobs with GPUs leave to others, on old releases
    main_pass     one pass of the main scheduler
    out_of_turn   jobs that the main scheduler starts at once, whatever is planned
    sooner        what would make a waiting job start sooner
    at_start      limits looked at once more, with the nodes that a job would get
    why           why there is no plan for a job
    passes        one pass of a cycle over a state, and its plans
    beyond        what the cycle does not plan, and will start some time, planned on
    outlook       what becomes of a job that is not submitted yet
    forecast      both passes: what the next cycle will plan, and the outlooks of jobs

Run forward, where it is known how long jobs really take::

    dependencies  which other jobs a job waits for
    ageing        priorities while time goes on
    together      nodes that come first as others have them who count for the same limit
    restraints    limits on the queue while jobs start and end
    waiting       the queue while time goes on
    holders       who holds which part of the machine
    placement     where a record fits, apart from what is planned
    clock         when both schedulers look at the queue
    starts        what starts when and where, and what is known of that beforehand
    beginning     a cluster and its queue made ready, from which runs begin
    forward       both schedulers from instant to instant, until the queue is empty

The same in one kernel, for hundreds of samples of a queue, where it follows all that moves the queue::

    flow          what changes meanwhile, and what does not
    turns         whose turn it is
    runs          what runs, until when
    drain         both schedulers from instant to instant
    sampler       a queue made ready for it
"""
