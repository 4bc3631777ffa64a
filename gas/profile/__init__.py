"""The profile: free processors over time. One contract, several forms.

A profile says for every instant from its beginning on how many processors are free. Times are integer seconds, spans
half-open, the last frame lasts for ever. It answers few questions and changes in few ways:

    earliest fit   the first start, not before an instant, from which so many processors are free for so long
    free during    how many processors stay free throughout a span
    take           so many processors out of a span; they must be free
    give back      so many processors into a span
    forget         what is past

The forms differ in what they cost (`gas guide profile` has a drawing of each, its invariants and its costs):

    flat       two sorted arrays: the reference, and what the planner reads
    blocks     the same frames in blocks of some dozens, for schedules that are searched and changed millions of times
    changes    take, give back and forget in blocks
    staircase  how long the holes of each block are, and the staircases that find the first long one
    holes      earliest fit in blocks, and whether a job can start earlier by now
    gaps       of nodes, where a job cannot move between them: for how long how much of each stays free

Property tests ask all of them the same questions and compare (`tests/profile/test_forms.py`). The time table of Slurm's
backfill scheduler (`gas.slurm.table`) is no form of it: it holds sets of nodes and not numbers, merges fewer slots than
it could, and its search finds Slurm's start, which is not always the earliest.
"""
