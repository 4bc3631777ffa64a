"""One moldable job at a time in a log, beside a static request (Cirne & Berman 1999, 5.2): ``gas experiment power``.

    run       what is asked of a month of a log
    claims    which of the paper's statements hold
    pictures  its pictures
    report    its report
    study     the study as the command line finds it

Which runs there are and what came out is in `experiments.moldable.months`.
"""
