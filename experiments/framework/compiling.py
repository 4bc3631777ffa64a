"""Compiles the simulator once, in the process that begins a study, so that its workers find it compiled."""

from __future__ import annotations

import numpy as np

from documents.extras import way_to_install
from gas.cli.tables import note

__all__ = ["compile_simulator"]


def compile_simulator() -> None:
    """Compile the simulator if necessary, and report it."""
    from gas.compiled import available, compiled, is_ready, tell_of_compiling
    from gas.planner import Requests, soonest
    from gas.profile.flat import earliest_fits
    from gas.simulation.branching import follow
    from gas.simulation.engine import run
    from gas.simulation.simulate import Simulation
    from workloads import rigid_jobs

    if not available():
        note(f"gas: without numba this takes about 100 times as long: {way_to_install('sim')}")
    elif not all(is_ready(kernel) for kernel in (run, follow, earliest_fits)):
        from workloads.lublin import generate

        tell_of_compiling(lambda text: None)  # the message above covers all of them
        note("gas: first use: compiling the simulator (about half a minute)")
        simulation = Simulation(rigid_jobs(generate(10, 16, generator=np.random.default_rng(0))), "easy", ask=[0])
        simulation.run()
        simulation.outcomes([1], [1], [1])
        compiled(earliest_fits)
        one = np.ones(1, np.int64)
        soonest(Requests(one, one, one), simulation.availability())
