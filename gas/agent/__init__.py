"""The agent: an application-level scheduler for one application (AppLeS).

It queries the schedulers for free processors, chooses the request that finishes first, submits it exactly once, and
reshapes and watches the waiting job. All user interfaces use `gas.endpoints` through the agent, which reports remarks
through callbacks.

Its modules:

    agent           `Agent`: an application and its schedulers; plan, submit, reshape, watch
    calls           `plan` and `submit` in one call, with ordinary Python values
    values          these Python values: applications, schedulers, instants, durations, shares
    options         options of a plan, of predictions and of reshaping; the command to run
    schedulers      finds schedulers and jobs by name, in the configuration or the local Slurm; queries all schedulers,
                    with their accounts and QOS; refuses stale lists
    scripts         Slurm job scripts, and requests of a job besides size and walltime
    choice          plans with the answers of schedulers, with probes and predictions if requested
    probing         submits real jobs, reads the starts that a scheduler plans for them, and cancels them at once
    prediction      predicted starts of the candidates of a plan, learned from the machine's past
    compiling       has missing machine code for predictions made by other processes
    ledgers         keeps predictions for submitted jobs, with their outcomes
    submission      submits a job to one of several schedulers, exactly once
    reshaping       changes the shape of a waiting job if it then finishes sooner
    offering        shows offers of earlier starts to waiting jobs, and answers them
    cancelling      cancels jobs and reservations
    watching        replans a waiting job at every change of its queue
    following       waits for the end of a job, and follows the changes of a schedule
    futures         jobs as futures, with the interface of `concurrent.futures`
    coallocating    one application on several machines that start together
    spreading       plans an application over several machines
    redundant       one job in the queues of several machines, which runs where it starts first
    claims          the claim that only one of these jobs takes
    holdings        records the reservations of such an application on disk
    reserving       reserves processors for a fixed time, exactly once
    polling         repeats queries, and retries if a scheduler does not answer for a while
    states          describes jobs in words
"""
