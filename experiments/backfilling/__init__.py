"""EASY and conservative backfilling (Mu'alem & Feitelson 2001): ``gas experiment backfilling``.

models         the workload models of the literature, by seed and load
run            simulates both policies on a log, or on a model at a given load
run_times      run times by the size of jobs in a log and in models
distances      how far the run times of models and of a log are apart
results        the list of runs, and their results
comparison     compares each cell of the paper's Table 1 with ours: sign, and reasons for differences
claims         the paper's claims, with verdicts
pictures       pictures of the report
tables         the results as tables
own            results for logs that the paper did not use
models_report  the sections of the report about models
own_report     the section of the report about logs that the paper did not use
report         the report
study          the study as the command line finds it
"""
