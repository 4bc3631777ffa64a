"""How wrong users' estimates are, and what that does (Mu'alem & Feitelson 2001, 4): ``gas experiment estimates``.

use       how much of what they were given jobs used
history   estimates from history, in every reading of the paper
easy      EASY in every reading of the paper's algorithm
run       what is asked of a log
results   which runs there are, and what came out
cells     our figures beside those of its tables, and why they differ
claims    which of the paper's statements hold
pictures  its pictures
tables    its results as rows
easy_report  the part of its report on readings of EASY
beyond    the part of its report that goes beyond the paper
report    its report
own       means of logs of which the paper has no figures
study     the study as the command line finds it
"""
