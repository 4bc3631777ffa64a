from gas import Application, AvailabilityList, plan
from speedup_models.table import Table

PAPER = AvailabilityList.of([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40])


def application(times, safety=1.0):
    return Application(Table(times), safety=safety)
