"""A log replayed under other policies, machines and walltimes: ``gas replay``.

run         simulates one scenario, and compares it with the record and with EASY
scenarios   the list of scenarios
results     the results of all scenarios, also as tables
pictures    waits, queues and machine sizes
report      the report
study       the study as the command line finds it
"""
