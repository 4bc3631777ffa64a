from .amdahl import Amdahl as Amdahl
from .constraints import (
    Constraint as Constraint,
    ConstraintError as ConstraintError,
    constraint_from_table as constraint_from_table,
)
from .downey import Downey as Downey
from .model import (
    Layout as Layout,
    LayoutModel as LayoutModel,
    ModelError as ModelError,
    SpeedupModel as SpeedupModel,
    execution_times as execution_times,
)
from .nas import Nas as Nas
from .registry import model_from_table as model_from_table
from .table import Table as Table
