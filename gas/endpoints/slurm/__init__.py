"""Slurm: what it publishes, read from either of its transports, and what that says about when which nodes are free.

Reading and interpreting are pure: text in, `Cluster` and `NodeAvailability` out.

    cluster         what Slurm publishes, whatever the transport
    notation        its notations: node lists, tasks of arrays, durations, instants
    command_line    the answers of scontrol, squeue and sdiag
    json_answers    the answers of slurmrestd and of --json, from v0.0.36 on
    interpretation  from what is published to an availability with node identity, and to the jobs that have no plan
"""
