"""Conditional backfilling, the cost of asking before a job is moved: ``gas experiment conditional``.

run       simulates a month of a log under S³, without notices and with a notice for some jobs
results   the shares of jobs and the notices that are simulated
claims    claims, with verdicts
report    the report, and the table of results
study     the study as the command line finds it
"""
