"""Slurm's scheduling, pure: what a cluster publishes, and what its schedulers make of it.

cluster         what Slurm publishes, whatever the transport
settings        how it is configured: priority, enforcement, preemption, defaults
accounting      accounts, users and qualities of service, their limits and what is in use
demand          how much of each trackable resource a job counts for
fair_share      who has used less than their part comes first
priority        the priority that a job would get, with its parts
standing        a job with all that its limits depend on
levels          the QOS, association and accounts whose limits hold for it, and what they use
    access          who may use a partition, and what it allows
limits          what limits say to a job; verdict is the answer, reasons are Slurm's names of them,
                release is how much of a limit is in use, and when running jobs give it back
blocked         the waiting jobs that limits hold back
explanation     why a job waits
"""
