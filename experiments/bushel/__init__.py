"""Many moldable jobs at once, and their effect on other jobs (Cirne & Berman 1999, 5.3): ``gas experiment bushel``.

run       simulates a log with a share of moldable jobs
results   the list of runs, and their results
claims    the paper's claims, with verdicts
pictures  pictures of the report
beyond    the sections of the report that go beyond the paper
report    the report
study     the study as the command line finds it
"""
