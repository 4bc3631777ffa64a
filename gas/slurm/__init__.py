"""Slurm's scheduling, pure: what a cluster publishes, and what its schedulers make of it.

cluster         what Slurm publishes, whatever the transport
"""
