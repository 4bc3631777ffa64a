"""The paper's walk over the availability list against the exact planner: ``gas experiment walk``.

run      what both choose in a month of a log
report   its report
study    the study as the command line finds it
"""
