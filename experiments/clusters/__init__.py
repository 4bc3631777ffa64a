"""Applications that choose among few or many of hundreds of clusters: ``gas experiment clusters``.

run      draws clusters from a model, and simulates applications that choose among some of them
results  the list of runs, and results by the number of clusters to choose among
report   the report, its claims and tables
study    the study as the command line finds it
"""
