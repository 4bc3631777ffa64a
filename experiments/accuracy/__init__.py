"""How accurate a performance model must be (Cirne & Berman 1999, section 6.1): ``gas experiment accuracy``.

beliefs   the execution times that a wrong performance model gives
rounds    killed requests, resubmitted with longer walltimes until none is killed
run       turn-around times in a month of a log
results   results of all runs, and the gain over the users' own requests
claims    claims about this gain, with verdicts
pictures  the picture of the report
report    the report
study     the study as the command line finds it
"""
