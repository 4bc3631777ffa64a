"""Policies of others: written in Python over a view of machine and queue, run by the event loop of all others.

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

    view       what a policy sees: jobs and the machine, to read only
    wording    what messages say of policies: where they were, and what they raised
    deciding   who decides, and whether that can be done: `simulate_by`
    finding    policies by what a user names: plug-ins (entry points ``gas.policies``), files
    apart      the same in a process of its own, which may end as it likes
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
