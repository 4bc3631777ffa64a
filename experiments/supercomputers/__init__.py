"""Several supercomputers (Cirne & Berman 1999, 6.2): ``gas experiment supercomputers``.

run       what becomes of them and of all others, followed both ways
results   which runs there are; break-even charges and equilibria
tables    tables of results, and what their columns mean
pictures  its pictures
claims    its statements, with verdicts
charge    the part of its report on charging for submissions
report    its report
study     the study as the command line finds it
"""
