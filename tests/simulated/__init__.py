"""A deterministic simulation of the S³ service: the real code on a machine, with users and faults, made from one seed.

Its modules, from the bottom:

    descriptors  what file descriptors stand for
    disk         files that are seen at once, and survive a power cut only if synced
    kernel       simulated time, tasks, processes, signals
    commands     what the jobs do
    filesystem   what os does with files
    system       what os does with processes
    paths        open and pathlib.Path
    timing       time, signal and select
    threads      threading
    database     sqlite3: SQLite's own library on the simulated disk
    calls        how the service's modules get all that
    asked        one submission, and all that became of it
    sizes        which sizes the machine may have, while operators change it
    oracle       what was answered and what ran, and what must hold of both
    service      the service's lives on the machine
    users        what users and operators ask
    faults       what goes wrong
    world        one seed
    runs         many seeds, on all cores, with progress; interrupted, they go on

A seed is shown again by ``PYTHONPATH=tests python -m simulated SEED --operations N``.

Not simulated: HTTP (`gas.service.app` and what is above it), the token file, predictions, compiled kernels (the same
source runs as plain Python), SQLite's locks between processes, users of the machine and control groups.
"""
