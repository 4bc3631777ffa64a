from .schedule import NOT_CANCELLED as NOT_CANCELLED, Reservation as Reservation, Schedule as Schedule
from .simulate import Simulation as Simulation, simulate as simulate
