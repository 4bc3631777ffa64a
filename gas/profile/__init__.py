"""The profile: free processors over time. One contract, several forms.

A profile gives the number of free processors at every instant from its beginning on. Times are integer seconds, spans
are half-open, and the last frame lasts forever. There are few operations:

    earliest fit   the first start, at or after a given instant, from which n processors are free for a given duration
    free during    how many processors stay free throughout a span
    take           removes n processors from a span; they must be free
    give back      returns n processors to a span
    forget         drops the part before a given instant

The forms differ in their costs (`gas guide profile` shows a drawing, the invariants and the costs of each):

    flat       two sorted arrays: the reference, and the form that the planner uses
    blocks     the same frames in blocks of some dozens, for schedules that are searched and changed millions of times
    changes    take, give back and forget in blocks
    staircase  the lengths of the holes of each block, and the staircases that find the first long hole
    holes      earliest fit in blocks, and a check whether a job can now start earlier
    gaps       free spans of each node, since jobs cannot move between nodes

Property tests compare the answers of all forms (`tests/profile/test_forms.py`). The time table of Slurm's backfill
scheduler (`gas.slurm.table`) is not a form of the profile: it holds sets of nodes instead of numbers, merges fewer
slots than it could, and its search finds Slurm's start, which is not always the earliest.
"""
