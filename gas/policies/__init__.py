"""Users' own policies: Python classes that see the machine and the queue, simulated by the same event loop as Gas's.

::

    from gas.policies import simulate_by
    from gas.simulation.metrics import metrics
    from workloads import read_swf, rigid_jobs

    class InOrder:
        def start(self, machine):
            first = machine.waiting[0]
            return [first] if first.processors <= machine.free else []

    metrics(simulate_by(rigid_jobs(read_swf("log.swf")), InOrder())).mean_wait

`gas guide policies` is the tutorial. Modules, from the bottom:

    view       the read-only view of jobs and machine that a policy gets
    wording    messages about policies: which one, and where its error happened
    deciding   `simulate_by`: simulates a policy, after a check that it can be simulated
    finding    finds policies by name: plug-ins (entry points ``gas.policies``) and files
    apart      runs a policy in its own process, which may fail without harm
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
