"""The simulator: logs and models through the scheduling policies, exactly and fast.

::

    from gas.simulation import simulate
    from gas.simulation.metrics import metrics
    from workloads import read_swf, rigid_jobs

    metrics(simulate(rigid_jobs(read_swf("log.swf")), "s3")).mean_wait

The main path is `simulate.simulate`, which calls `engine.run`. The modules, from the bottom:

    schedule    the result of a simulation: `Schedule`; the names of policies and orders
    inputs      the jobs and options that a simulation accepts, and the limits of their numbers
    state       the whole state of a simulation at an instant, as arrays
    planning    policies that plan every job, with the kernels of S³
    ranking     priorities, and a queue ordered by them
    queueing    `fcfs` and `easy`
    engine      the event loop, in both orders
    withdrawal  withdrawing jobs while a simulation runs
    reshaping   changing the size and walltime of a waiting job
    branching   the outcome of each of several requests in place of one arriving job
    answers     checks of such requests: the request takes part, or the reason why it cannot
    standing    the running and waiting jobs of a simulation that has stopped at an instant
    simulate    simulating a log whole, or up to an instant or an arrival, from which to branch and go on
    conditional S³ with conditional backfilling: some jobs are asked before they move to earlier starts
    adjusting   EASY with walltimes that the scheduler adjusts by the jobs that have ended so far
    timeline    a schedule as step functions: free processors, queue, queued work
    metrics     mean wait, response time, slowdown, utilization, … of a schedule
    months      the same metrics by month of submission
    batches     batch means: confidence intervals for simulations of a model
    allocation  the processors on which each job ran
    recorded    a schedule as read from a file, before it is checked
    guarantee   checks of EASY's guarantee to the head of the queue, and of priorities, from starts and ends
    classes     classes of a log's jobs, and the metrics of each
    checks      the rules that a schedule can break, one by one
    audit       an audit: whether a schedule keeps the rules of its policy
    job_names   how tables name jobs
    tables      reading schedules from tables of text
    files       reading and writing schedules: SWF, and CSV as in Batsim and evalys
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
