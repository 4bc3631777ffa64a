"""Slurm's scheduling, pure: what a cluster publishes, and what its schedulers make of it.

cluster         what Slurm publishes, whatever the transport
settings        how it is configured: priority, enforcement, preemption, defaults
accounting      accounts, users and qualities of service, their limits and what is in use
"""
