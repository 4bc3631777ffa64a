from .header import Epoch as Epoch, Header as Header
from .jobs import (
    Overrun as Overrun,
    RigidJobs as RigidJobs,
    apply_overrun as apply_overrun,
    machine_size as machine_size,
    rigid_jobs as rigid_jobs,
)
from .load import (
    offered_load as offered_load,
    scale_interarrivals as scale_interarrivals,
    scale_to_load as scale_to_load,
)
from .log import Log as Log, LogError as LogError
from .selection import months_of as months_of
from .swf import (
    format_swf as format_swf,
    parse_swf as parse_swf,
    read_header as read_header,
    read_swf as read_swf,
    write_swf as write_swf,
)
