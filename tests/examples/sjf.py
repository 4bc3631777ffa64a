"""Shortest job first, for ``gas simulate LOG --policy easy,tests/examples/sjf.py:SJF``."""


class SJF:
    """The waiting job with the shortest walltime starts next; while it does not fit, nothing else starts."""

    def start(self, machine):
        free = machine.free
        chosen = []
        for job in sorted(machine.waiting, key=lambda job: job.walltime):  # equal ones stay in submission order
            if job.processors > free:
                break
            chosen.append(job)
            free -= job.processors
        return chosen
