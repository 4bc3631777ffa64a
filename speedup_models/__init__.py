"""Execution time of an application on n processors, and the n that it accepts.

===================  ===================================================================================
`model`              the interface of all models; t(p) in whole seconds; sizes with their layouts over nodes
`registry`           finds the model that a [speedup] table names, also among plug-ins
`constraints`        the allowed processor counts, read from [processors]
`downey`             Downey's model: sequential time, average parallelism A, variance sigma
`amdahl`             Amdahl's law: sequential time and serial fraction
`table`              measured times, used as they are or interpolated
`layouts`            measured times by layout: nodes, GPUs on each, and their type
`goodput`            AdaptDL's model of training a network (Pollux), by layout and batch
`nas`                the NAS Parallel Benchmarks, from the packaged ``data/npb.csv``
`fitting`            fits Downey's model and Amdahl's law to timings, and judges the fits
`goodput_fit`        fits the parameters of the goodput model to step times
`estimates`          fitted parameters with their intervals
`families`           Downey's model and Amdahl's law in the form of a least-squares search
`layout_fit`         turns step times on nodes into a model of a run, or into measured layouts if no model fits
`proposal`           the application file that a fit proposes
`sizes`              the constraint that all measured sizes satisfy
`front`              the sizes worth requesting: time against cost
`timings`            reads measured sizes and times from CSV
`columns`            the names of the columns of such a file
===================  ===================================================================================

Everything here is a pure function of its arguments, except reading CSV files. No module knows schedulers or logs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
