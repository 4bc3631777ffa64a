"""Predictions made from how much of their walltimes jobs use: ``gas experiment prediction``.

methods   ways to predict waits from what others waited
learners  two more, by scikit-learn
waits     waits of jobs of a log as each method predicts them
bakeoff   what the methods score, in which months, and which is first
bakeoff_report  the part of the report on that
watching  jobs that are watched while they wait
run       predicted and true starts of jobs of a log, and what comes of choosing by predictions
results   which runs there are, and what came out
claims    whether predictions are right and sharp, and whether they help
pictures  its pictures
choice    the part of its report on choosing by predictions
report    its report
study     the study as the command line finds it
"""
