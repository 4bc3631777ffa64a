"""Endpoints of schedulers: they supply the availability lists of the planner and accept its requests.

Its modules:

    endpoint        the interface of every endpoint, and of those that accept jobs
    s3              S³ over HTTP: queries and changes
    s3_calls        requests to an S³, each carried out at most once
    s3_queue        the running and waiting jobs of an S³
    s3_requests     the documents that are sent to an S³
    s3_answers      the answers of an S³, with every value checked
    connection      one exchange over HTTP: an answer, a refusal, or neither
    exchange        a request and its whole answer, within a deadline and a limit of bytes; sockets keeps the deadline
    access          tokens, certificates and addresses
    events          the reader of server-sent events
    programs        the scheduler's programs, run one at a time
    pipes           the output of such a program, up to a deadline and a limit of bytes
    sending         sending jobs to a scheduler without idempotency keys, and finding out what became of them
    tagging         endpoints of such schedulers: a tag in the name of each job prevents a second submission
    wording         jobs in the terms of these schedulers: names with tags, options, commands
    records         their jobs in Gas's own form
    journal         a record of where each key was sent
    ledger_file     predictions for a scheduler with their outcomes, kept in a file
    file            an availability list on disk or standard input
    slurm           what Slurm publishes, and the free nodes over time that follow from it
    oar             what OAR publishes, and its moldable jobs
    trust           the owner of a configuration file, and the folders that the user has trusted
    configuration   gas.toml: named endpoints and their limits
    asking          querying several endpoints at once; one that does not answer is reported and left out
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
