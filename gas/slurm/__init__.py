"""Slurm's scheduling, pure: what a cluster publishes, and what its schedulers make of it.

cluster         what Slurm publishes, whatever the transport
settings        how it is configured: priority, enforcement, preemption, defaults
accounting      accounts, users and qualities of service, their limits and what is in use
versions        what its schedulers do otherwise from one release to the next
order           the queue: a record for each waiting job and partition, in the order in which they are considered
preemption      whose place a waiting job may take
features        which nodes a constraint allows
state           a cluster and its queue as arrays
rows            the arrays of a cycle: records, reservations, parameters, plans
fitting         whether a job fits on some nodes, and which of them it gets
will_run        at which end of running jobs
table           what is planned for whom in which span
search          the start of one record
cycle           one cycle of the backfill scheduler
outlook         what the next cycle will plan, and what becomes of jobs that are not submitted yet
"""
