"""The simulator: logs and models through the scheduling policies, exactly and fast.

The main path is `simulate.simulate`, with `engine.run` under it. Its modules, from the bottom:

    schedule    what a simulation did with jobs: `Schedule`; the names of policies and orders
    inputs      what a simulation can be given, and how far that may lead
    heap        what happens first
    state       everything that a simulation is at an instant, as arrays
    planning    the policies that plan every job, with the kernels of S³
    queueing    `fcfs` and `easy`
    engine      the event loop, in both orders
    simulate    a log simulated whole, or up to an instant or an arrival, to ask, branch and go on
    timeline    a schedule as step functions: free processors, queue, queued work
    metrics     mean wait, response, slowdown, utilization … of a schedule
    months      the same by the month of submission
    batches     batch means: confidence intervals of runs driven by a model
    allocation  which processors each job ran on
    recorded    a schedule as any file states it, before anything is checked
    guarantee   EASY's promise to the head of the queue, told from starts and ends
    checks      the rules that a schedule can break, one by one
    audit       whether a schedule keeps the rules that it claims
    tables      schedules as tables of text, reading
    files       schedules on disk: SWF, and CSV as Batsim and evalys have it
"""
