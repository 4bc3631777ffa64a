"""EASY and conservative backfilling (Mu'alem & Feitelson 2001): ``gas experiment backfilling``.

models         the workload models of the literature, by seed and load
run            both policies on a log, and on a model at a load
run_times      run times by the size of jobs in a log and in models
distances      how far those are apart
results        which runs there are, and what came out
comparison     a cell of the paper's table beside ours: does its sign agree, and if not, why
claims         which of the paper's statements hold
pictures       its pictures
tables         its results as rows
own            what is found on logs of which the paper has no figures
models_report  the parts of its report on the models
own_report     the part of its report on such logs
report         its report
study          the study as the command line finds it
"""
