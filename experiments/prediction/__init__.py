"""Predictions made from how much of their walltimes jobs use: ``gas experiment prediction``.

run       predicted and true starts of jobs of a log, and what comes of choosing by predictions
results   which runs there are, and what came out
claims    whether predictions are right and sharp, and whether they help
pictures  its pictures
choice    the part of its report on choosing by predictions
report    its report
study     the study as the command line finds it
"""
