"""Hundreds of clusters, and applications that choose among few or many of them: ``gas experiment clusters``.

run      clusters drawn from a model, and what becomes of the applications in front of some of them
results  which runs there are, and what came out by how many clusters one can choose among
report   the report, its statements and tables
study    the study as the command line finds it
"""
