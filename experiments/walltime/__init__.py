"""Walltimes adjusted by history (Tang et al. 2013): ``gas experiment walltime``.

accuracy         how good adjusted walltimes are, by the record alone
run              what is asked of a log
results          which runs there are, and what came out
cells            the paper's figures beside ours, and why they differ
claims           which of the paper's statements hold
pictures         its pictures
tables           its results as rows
account          the part of its report that accounts for selective against regular adjustment
accuracy_report  the part that needs no simulation
report           its report
study            the study as the command line finds it
"""
