"""Predicted waits, and requests chosen by them: ``gas experiment prediction``.

methods   predicts a wait from the waits of other jobs, in several ways
learners  two more methods, from scikit-learn
waits     predicts the waits of jobs of a log by each method
bakeoff   scores of all methods, the months they are tested on, and which method is best
bakeoff_report  the section of the report about the comparison of methods
watching  jobs that Gas watches while they wait
run       predicted and true starts of jobs of a log, and the results of choosing by predictions
results   the list of runs, and their results
claims    claims, with verdicts: are predictions right and sharp, and do they help?
pictures  pictures of the report
choice    the section of the report about choosing by predictions
report    the report
study     the study as the command line finds it
"""
