"""What a log would have looked like under other policies, machines and walltimes: ``gas replay``.

run         one simulation, or the record, beside the record and beside EASY
scenarios   what is asked: which of them there are
results     what came of all, and tables of it
pictures    waits, queues and machine sizes
report      its report
study       the study as the command line finds it
"""
