"""Endpoints: connections to schedulers, which read availability lists and submit jobs.

Its modules:

    endpoint        the interface of every endpoint, and of those that accept jobs
    s3              S³ over HTTP: queries and changes
    s3_calls        requests to an S³, each carried out at most once
    s3_queue        the running and waiting jobs of an S³
    s3_requests     the documents that are sent to an S³
    s3_answers      the answers of an S³, with every value checked
    connection      one exchange over HTTP: an answer, a refusal, or neither
    exchange        a request and its whole answer, with a deadline and a limit on bytes; `sockets` enforces the
                    deadline
    access          tokens, certificates and addresses
    events          the reader of server-sent events
    programs        runs the scheduler's programs, one at a time
    pipes           reads the output of such a program, with a deadline and a limit on bytes
    sending         sends jobs to a scheduler without idempotency keys, and finds out whether it accepted them
    tagging         prevents a second submission on such a scheduler by a tag in the name of each job
    wording         jobs in the terms of these schedulers: names with tags, options, commands
    records         their jobs in Gas's own form
    journal         a record of where each key was sent
    ledger_file     predictions for a scheduler with their outcomes, kept in a file
    file            an availability list on disk or standard input
    slurm           Slurm: its published state, and free nodes over time
    oar             OAR: its published state, and its moldable jobs
    trust           the owner of a configuration file, and the folders that the user has trusted
    configuration   gas.toml: named endpoints and their limits
    asking          queries several endpoints in parallel; reports an endpoint that does not answer, and leaves it out
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
