"""Compiling the simulator once, in the process that begins a study, so that its workers find it compiled."""

from __future__ import annotations

from gas.cli.tables import note

__all__ = ["compile_simulator"]


def compile_simulator() -> None:
    """Compile the simulator if it is not, and say so."""
    from gas.compiled import available, is_ready
    from gas.simulation.engine import run
    from gas.simulation.simulate import simulate
    from workloads import rigid_jobs

    if not available():
        note('gas: without numba this takes a hundred times as long: pip install "apples-gas[sim]"')
    elif not is_ready(run):
        from experiments.models import generate

        note("gas: compiling the simulator, once; this takes about half a minute")
        simulate(rigid_jobs(generate("F", 10, 0.5, 0)), "easy")
