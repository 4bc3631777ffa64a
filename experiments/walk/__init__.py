"""The paper's walk over the availability list, compared with the exact planner: ``gas experiment walk``.

run      the choices of both searches in a month of a log
report   the report
study    the study as the command line finds it
"""
