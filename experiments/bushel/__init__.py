"""Many moldable jobs in a log, and what becomes of all others (Cirne & Berman 1999, 5.3): ``gas experiment bushel``.

run       what is asked of a log
results   which runs there are, and what came out
claims    which of the paper's statements hold
pictures  its pictures
beyond    the part of its report that goes beyond the paper
report    its report
study     the study as the command line finds it
"""
