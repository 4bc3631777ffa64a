"""Schedulers that can be asked: what the planner's lists come from, and where its requests go.

Its modules:

    endpoint        what every endpoint answers, and what those that take jobs answer besides
    s3              S³ over HTTP: what can be asked of one, and done there
    s3_calls        how it is asked, and why nothing is submitted twice
    s3_queue        who runs and who waits on an S³
    s3_requests     what an S³ is sent of a job
    s3_answers      what an S³ says, every value of the kind that it must be
    connection      one exchange over HTTP: an answer, a refusal, or neither
    exchange        a request and its whole answer, within a deadline and a number of bytes; sockets keeps the deadline
    access          tokens, certificates and addresses
    events          the reader of server-sent events
    programs        the programs of a scheduler, run one at a time
    pipes           what one of them says, until a deadline and up to a number of bytes
    sending         what is sent to a scheduler that knows no keys goes through, and what may become of it
    tagging         endpoints of such schedulers: jobs bear tags, and why none is submitted twice
    wording         how jobs are worded for them: names with tags, options, commands
    records         their jobs in the form in which Gas speaks of jobs
    journal         where each key was sent
    ledger_file     predictions of a scheduler with their outcomes, kept in a file
    file            an availability list on disk or standard input
    slurm           what Slurm publishes, and what that says about when which nodes are free
    oar             what OAR publishes, and jobs that it may shape by itself
    trust           whose a configuration is, and which of other folders the user has allowed
    configuration   gas.toml: named endpoints and their limits
    asking          several endpoints at once; one that does not answer is reported, not fatal
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
