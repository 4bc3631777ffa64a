"""Largest area first, for ``gas simulate LOG --policy easy,tests/examples/laf.py:LAF``."""


class LAF:
    """Waiting jobs start by area, processors times walltime, the largest first; what does not fit is passed over."""

    def __init__(self):
        self.queue = []

    def arrive(self, job, machine):
        """Keep the queue sorted, so that `start` need not sort it each time."""
        self.queue.append(job)
        self.queue.sort(key=lambda job: -job.processors * job.walltime)

    def start(self, machine):
        free = machine.free
        chosen = []
        for job in self.queue:
            if job.processors <= free:
                chosen.append(job)
                free -= job.processors
        self.queue = [job for job in self.queue if job not in chosen]
        return chosen
