"""The agent: an application-level scheduler for one application (AppLeS).

It queries the schedulers for free processors, chooses the request that finishes first, and acts: submits it exactly
once, reshapes a waiting job, watches it. It stands between `gas.endpoints` and all user interfaces, and reports remarks
through callbacks.

Its modules:

    agent           `Agent`: an application and its schedulers; plan, submit, reshape, watch
    calls           `plan` and `submit` in one call, with ordinary Python values
    values          those values: applications, schedulers, instants, shares
    options         options of a plan, of predictions and of reshaping; the command to run
    schedulers      schedulers and jobs by name, from the configuration or the local Slurm; all of them
                    queried, with their accounts and QOS, and without stale lists
    scripts         Slurm job scripts, and requests of a job besides size and walltime
    choice          planning with the answers, with probes and predictions if requested
    probing         starts that a scheduler plans for real jobs, cancelled at once
    prediction      predicted starts of the candidates of a plan, learned from the machine's past
    ledgers         predictions for submitted jobs, and their outcomes
    submission      a job sent to one of several schedulers, once
    reshaping       another shape for a waiting job, if that makes it finish sooner
    offering        offers of earlier starts to waiting jobs, and their answers
    watching        replanning a waiting job at every change of its queue
    following       waiting for the end of a job, and the changes of a schedule as they happen
    futures         jobs as futures, as those of `concurrent.futures`
    coallocating    one application on several machines that start together
    spreading       the plans of that
    holdings        its reservations, on disk
    reserving       processors reserved for a fixed time, once
    polling         repeated queries, also of a scheduler that does not answer for a while
    states          jobs in words
"""
