"""WFP with EASY backfilling, for ``gas simulate LOG --policy easy,tests/examples/wfp.py:WFP``.

The priority of Argonne's Intrepid in the form of Tang et al. (2013, equation 5), elsewhere called WFP3: (wait /
walltime) cubed, times processors.
"""


class WFP:
    """The job of the highest priority cannot be delayed by others; those start if they fit beside it."""

    def start(self, machine):
        now, free = machine.now, machine.free
        queue = sorted(machine.waiting, key=lambda job: -(((now - job.submit) / job.walltime) ** 3) * job.processors)
        chosen = []
        while queue and queue[0].processors <= free:
            chosen.append(queue.pop(0))
            free -= chosen[-1].processors
        if not queue:
            return chosen
        head, *others = queue
        ends = [(job.end_by, job.processors) for job in machine.running]
        ends += [(now + job.walltime, job.processors) for job in chosen]
        ends.sort()
        shadow, extra = now, free - head.processors  # when the head can start, and what is free beside it then
        for end, processors in ends:
            if extra >= 0 and end > shadow:
                break
            shadow, extra = end, extra + processors
        for job in others:
            by_then = now + job.walltime <= shadow
            if job.processors <= free and (by_then or job.processors <= extra):
                chosen.append(job)
                free -= job.processors
                extra -= 0 if by_then else job.processors
        return chosen
