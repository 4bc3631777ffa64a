"""Errors in users' estimates, and their effects (Mu'alem & Feitelson 2001, section 4): ``gas experiment estimates``.

use       the share of their estimates that jobs use
history   estimates from the history of a user's jobs, in each reading of the paper
easy      EASY backfilling, in each reading of the paper's algorithm
run       simulates a log under several estimates
results   the list of runs, and their results
cells     compares each figure of the paper's tables with ours, with reasons for differences
claims    the paper's claims, with verdicts
pictures  pictures of the report
tables    the results as tables
easy_report  the section of the report about readings of EASY
beyond    the section of the report that goes beyond the paper
report    the report
own       means of logs that the paper did not use
study     the study as the command line finds it
"""
