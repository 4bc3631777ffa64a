"""How long an application runs on n processors, and which n it accepts.

===================  ===================================================================================
`model`              what every model answers, t(p) in whole seconds, and sizes laid out over nodes
`registry`           which model a [speedup] table means, plug-ins included
`constraints`        which processor counts are allowed, reading [processors]
`downey`             Downey's model: sequential time, average parallelism A, variance sigma
`amdahl`             Amdahl's law: sequential time and serial fraction
`table`              measured times, as they stand or interpolated
`layouts`            measured times by layout: nodes, GPUs on each, and their type
`goodput`            AdaptDL's model of training a network (Pollux), by layout and batch
`nas`                the NAS Parallel Benchmarks, from the packaged ``data/npb.csv``
`fitting`            Downey's model and Amdahl's law fitted to timings, and which of them to believe
`goodput_fit`        the goodput model's parameters fitted to times of a step
`estimates`          fitted parameters with their intervals
`families`           both of those as a least-squares search sees them
`layout_fit`         from steps on nodes to the model of a run, or the measured times where none fits
`proposal`           the application file that a fit proposes
`sizes`              the constraint that measured sizes meet
`front`              which sizes are worth asking for: time against cost
`timings`            measured sizes and seconds, from CSV
`columns`            what the columns of such a file are called
===================  ===================================================================================

Everything here is a pure function of its arguments, save reading a CSV file. Nothing knows of schedulers or logs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
