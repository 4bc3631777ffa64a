from .agent.agent import Agent as Agent
from .agent.options import PlanOptions as PlanOptions, ReshapeOptions as ReshapeOptions
from .agent.calls import plan as plan, submit as submit
from .agent.futures import JobFuture as JobFuture, JobResult as JobResult
from .application import Application as Application
from .availability import AvailabilityList as AvailabilityList, Frame as Frame
from .errors import (
    BadInput as BadInput,
    GasError as GasError,
    Infeasible as Infeasible,
    JobFailed as JobFailed,
    StalePlan as StalePlan,
    Unreachable as Unreachable,
)
from .planner import Candidate as Candidate, Limits as Limits, Plan as Plan
from .reading import read_application as read_application, read_availability as read_availability
from .workflows.functions import Executor as Executor
