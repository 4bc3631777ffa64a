"""Classes of jobs in S³, the gain of urgent jobs and the loss of the others: ``gas experiment priorities``.

run      simulates a month of a log under S³, with one class of jobs and with two
report   claims, the report, and the table of results
study    the study as the command line finds it
"""
