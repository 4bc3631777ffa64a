"""The simulator: logs and models through the scheduling policies, exactly and fast.

::

    from gas.simulation import simulate
    from gas.simulation.metrics import metrics
    from workloads import read_swf, rigid_jobs

    metrics(simulate(rigid_jobs(read_swf("log.swf")), "s3")).mean_wait

The main path is `simulate.simulate`, with `engine.run` under it. Its modules, from the bottom:

    schedule    what a simulation did with jobs: `Schedule`; the names of policies and orders
    inputs      what a simulation can be given, and how far that may lead
    state       everything that a simulation is at an instant, as arrays
    planning    the policies that plan every job, with the kernels of S³
    ranking     priorities, and a queue in their order
    queueing    `fcfs` and `easy`
    engine      the event loop, in both orders
    withdrawal  who is withdrawn, decided on the way
    reshaping   another shape for a job that waits
    branching   what each of several answers would lead to for a job that arrives
    answers     what takes part in place of a job that arrives, or why that cannot be
    standing    what a simulation shows of where it stands
    simulate    a log simulated whole, or up to an instant or an arrival, to ask, branch and go on
    conditional some jobs asked before they are moved to earlier starts, as S³ does it
    adjusting   EASY with walltimes that the scheduler adjusts by what has ended so far
    timeline    a schedule as step functions: free processors, queue, queued work
    metrics     mean wait, response, slowdown, utilization … of a schedule
    months      the same by the month of submission
    batches     batch means: confidence intervals of runs driven by a model
    allocation  which processors each job ran on
    recorded    a schedule as any file states it, before anything is checked
    guarantee   EASY's promise to the head of the queue, and that of priorities, checked from starts and ends
    classes     classes of a log's jobs, and what became of each
    checks      the rules that a schedule can break, one by one
    audit       whether a schedule keeps the rules that it claims
    job_names   what a table calls its jobs
    tables      schedules as tables of text, reading
    files       schedules on disk: SWF, and CSV as Batsim and evalys have it
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
