"""The agent: an application-level scheduler for one application (AppLeS).

It gathers what the schedulers have free, chooses the request that finishes first, and acts: submits it exactly once,
gives a waiting job another shape, watches it. It stands between `gas.endpoints` and everything that faces people,
and says what should be known through callbacks.

Its modules:

    agent           `Agent`: an application and its schedulers; plan, submit, reshape, watch
    calls           `plan` and `submit` in one call, of what people write in Python
    values          what they write there for an application, a scheduler, an instant, a share
    options         what a user asks of a plan, of predictions, of another shape; what is to run
    schedulers      schedulers and jobs by name, from the configuration or the local Slurm; all of them
                    asked, with the accounts and QOS that they offer, and lists of other times left out
    scripts         Slurm job scripts, and what else a job asks for beside a size and a walltime
    choice          planning with the answers, by probes and predictions where these are asked for
    probing         asking a scheduler by real jobs when it would start them
    prediction      what is likely to become of the candidates of a plan, by the past of the machine
    ledgers         what was predicted for jobs that were submitted, and what came of it
    submission      a job sent to one of several schedulers, once
    reshaping       another shape for a job that waits, if it then finishes sooner
    offering        earlier starts that waiting jobs are offered, and answers to them
    watching        a waiting job looked at again at every change of its queue
    following       waiting for the end of a job, and the changes of a schedule as they happen
    futures         jobs as futures, as those of `concurrent.futures`
    coallocating    one application on several machines that start together
    holdings        what that has taken, on disk
    reserving       processors reserved for a fixed time, once
    polling         asking again and again, also one that does not answer for a while
    states          jobs in words
"""
