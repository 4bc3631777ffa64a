from .agent.agent import Agent as Agent
from .agent.options import PlanOptions as PlanOptions, ReshapeOptions as ReshapeOptions
from .application import Application as Application
from .availability import AvailabilityList as AvailabilityList, Frame as Frame
from .errors import (
    BadInput as BadInput,
    GasError as GasError,
    Infeasible as Infeasible,
    StalePlan as StalePlan,
    Unreachable as Unreachable,
)
from .planner import Candidate as Candidate, Limits as Limits, Plan as Plan, plan as plan
from .reading import read_application as read_application, read_availability as read_availability
