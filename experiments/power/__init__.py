"""One moldable job at a time, compared with a static request (Cirne & Berman 1999, 5.2): ``gas experiment power``.

    run       simulates a month of a log
    claims    the paper's claims, with verdicts
    pictures  pictures of the report
    report    the report
    study     the study as the command line finds it

`experiments.moldable.months` has the list of runs and their results.
"""
