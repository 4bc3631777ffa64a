"""Classes of jobs in S³: what urgent jobs gain, and what it costs the others: ``gas experiment priorities``.

run      a month of a log under S³, with one class of jobs and with two
report   statements, the report, and the table of results
study    the study as the command line finds it
"""
