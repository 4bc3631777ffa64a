"""Walltimes adjusted by history (Tang et al. 2013): ``gas experiment walltime``.

accuracy         how accurate adjusted walltimes are, without a simulation
run              simulates a log with adjusted walltimes
results          the list of runs, and their results
cells            compares each of the paper's figures with ours, with reasons for differences
claims           the paper's claims, with verdicts
pictures         pictures of the report
tables           the results as tables
example          the paper's example of backfilling with adjusted walltimes, simulated
account          the section of the report that explains the difference between selective and regular adjustment
accuracy_report  the section of the report that needs no simulation
report           the report
study            the study as the command line finds it
"""
