"""How much of what changing a job's size while it runs promises, choosing it before it starts reaches.

``gas experiment malleate``.

rules      the ways to run jobs that are compared
state      what a simulation of jobs of several sizes is at an instant
sizes      starting, ending and changing the sizes of jobs
forecast   what will be free when by walltimes, and the size that ends first by it
samples    the size that ends first over simulations of the queue with drawn run times
passes     EASY backfilling with jobs of several sizes, and planning the whole queue again
engine     the event loop
recipes    how jobs of a log come to have several sizes
fairness   who bears what a strategy changes: classes of jobs, and users
run        a log with one share of adopters, under all strategies
results    which runs there are, and what came out
claims     statements, and whether they hold
tables     its results as rows
pictures   pictures
report     the report
study      the study as the command line finds it
"""
