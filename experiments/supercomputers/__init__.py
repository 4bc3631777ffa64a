"""Moldable jobs on several supercomputers (Cirne & Berman 1999, 6.2): ``gas experiment supercomputers``.

run       simulates applications and other jobs, with and without submission to several machines
results   the list of runs, break-even charges, and equilibria
tables    the results as tables, with a dictionary of their columns
pictures  pictures of the report
claims    claims, with verdicts
charge    the section of the report about a charge per submission
report    the report
study     the study as the command line finds it
"""
