"""Slurm's scheduling as pure functions: the published state of a cluster, and what its schedulers decide.

The published state and the configuration of a site::

    cluster       the published state, independent of the transport
    settings      the configuration: priority, enforcement, preemption, defaults
    accounting    accounts, users and QOS, with their limits and usage
    versions      differences between the schedulers of Slurm releases
    admission     whether a partition is open to an account or a QOS

Priority and limits of a job before it is submitted::

    demand        the amount of each trackable resource (TRES) that a job requests
    extent        the total resources of a partition
    fair_share    fair share: users who have used less than their share come first
    factors       the factors of a job's priority
    priority      the expected priority of a new job, with its parts; `observed` estimates it from waiting jobs
    standing      a job with everything that its limits depend on
    levels        the QOS, association and accounts whose limits apply to a job, and their usage
    access        who may use a partition, and which jobs it accepts
    limits        applies limits to a job; `verdict` is the result, `reasons` are Slurm's names for limits, `release` is
                  the usage that counts against a limit, and when running jobs release it
    blocked       the waiting jobs that limits hold back; `held_back` applies limits to all jobs
    explanation   why a job waits

One cycle of the backfill scheduler and one pass of the main scheduler, on arrays. Compiled kernels take each array as a
separate parameter, hence the long parameter lists::

    order         the queue: a record for each waiting job and partition, in scheduling order
    preemption    the running jobs that a waiting job may preempt
    unasked       partitions and QOS that Gas chooses only if the user names them
    features      the nodes that a constraint allows
    reservations  the reservations that attract a job, and the licences that others keep from it
    parameters    the parameters of the backfill scheduler
    needs         the resources that a job needs on nodes
    builder       builds the arrays of the machine and its running jobs
    records       the queue as arrays
    state         the complete state at the beginning of a cycle
    node_sets     sets of nodes as 64-bit words
    rows          the arrays of a cycle: records, reservations, parameters, plans
    machine       the machine as arrays, and what is allocated of it
    fitting       how much of each node a job can use
    choosing      which of these nodes a job gets; `task_distribution` is how many CPUs it gets on each
    taking        what a job still lacks while its nodes are chosen, and the working memory for it
    switches      the choice of nodes by switches (topology/tree)
    linear        the choice of whole nodes by select/linear
    owners        nodes that a job cannot get because of other users' jobs (ExclusiveUser)
    closures      nodes and licences that a record cannot get because of reservations
    will_run      the first end of a running job at which a waiting one fits
    table         the time table: which resources are planned in which span
    search        the search for the start of one record
    bench         the working memory of a cycle
    startable     the records that might start now
    cycle         one cycle of the backfill scheduler
    observed_depth
                  how many jobs a cycle plans, inferred from the queue if the setting is not published
    depth_by_trial
                  how many jobs per user or partition it plans, assumed if nothing else explains the published plans
    unpublished   other settings that are not published, derived from plans, partitions and QOS
    node_weights  node weights that jobs with GPUs change for later jobs, in old releases
    main_pass     one pass of the main scheduler
    out_of_turn   jobs that the main scheduler starts at submission, regardless of plans
    sooner        changes that would make a waiting job start sooner
    at_start      checks limits again, with the nodes that a job would get
    why           why a job has no plan
    passes        runs one pass of a cycle over a state, and returns its plans
    beyond        plans the jobs that the cycle leaves unplanned, around its plans
    outlook       the expected start of a job that is not submitted yet
    forecast      runs both passes: the plans of the next cycle, and the outlooks of jobs

Simulation of later cycles, with known run times::

    dependencies  the jobs that a job waits for
    ageing        priorities that change with time
    together      nodes that a job prefers because jobs under the same limit already use them
    restraints    applies limits to the queue as jobs start and end
    waiting       the queue as time passes
    holders       the jobs that occupy the machine
    placement     where a record fits, without regard to plans
    clock         the times at which both schedulers run
    starts        starts in the simulation, and starts known in advance
    beginning     the prepared cluster and queue from which simulations begin
    forward       runs both schedulers from event to event, until the queue is empty

The same in one kernel, for hundreds of samples of a queue, if it supports everything that affects this queue::

    flow          the parts of the state that change, and those that do not
    turns         the order of the queue
    runs          the running jobs, and their ends
    drain         runs both schedulers from event to event
    sampler       prepares a queue for `drain`
"""
