"""Conditional backfilling: what asking jobs before they are moved costs: ``gas experiment conditional``.

run       a month of a log under S³, with no job that is asked and with some
results   which shares and notices there are
claims    statements, and whether they hold
report    the report, and the table of results
study     the study as the command line finds it
"""
