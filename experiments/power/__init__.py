"""One moldable job at a time in a log, beside a static request (Cirne & Berman 1999, 5.2): ``gas experiment power``.

    run       one month of a log: the outcomes of all replaced jobs
    claims    the paper's statements, with verdicts
    pictures  picture of regret
    report    the report
    study     the command

Runs and their outcomes are in `experiments.moldable.months`.
"""
