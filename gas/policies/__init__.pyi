from .deciding import simulate_by as simulate_by
from .view import Job as Job, Machine as Machine
