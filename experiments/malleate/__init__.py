"""Sizes chosen before jobs start, compared with sizes changed while jobs run: ``gas experiment malleate``.

rules      the strategies that are compared
state      the state of a simulation with jobs of several sizes
sizes      starts and ends jobs, and changes their sizes
forecast   free processors over time by walltimes, and the size that ends first in them
samples    the size that ends first on average, over simulations of the queue with drawn run times
passes     EASY backfilling with jobs of several sizes, and replanning of the whole queue
engine     the event loop
recipes    gives jobs of a log several sizes
fairness   how gains and losses are distributed over classes of jobs and users
run        simulates a log with one share of adopters, under all strategies
results    the list of runs, and their results
claims     claims, with verdicts
tables     the results as tables
pictures   pictures
report     the report
study      the study as the command line finds it
"""
