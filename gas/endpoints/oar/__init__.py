"""OAR: what it publishes, read from either of its transports, and jobs that it may shape by itself.

OAR plans all waiting jobs ahead and publishes that plan, its Gantt chart, resource by resource. What is free for a new
job is what those leave that its schedulers plan before it. Reading, interpreting and writing requests are pure.

    machine         what OAR publishes, whatever the transport
    answers         the JSON of oarnodes, oarstat and of the REST API
    conditions      conditions on resources, where the REST API needs them read here
    hierarchy       what a processor is in requests: a level of the hierarchy of resources
    chart           from when to when jobs have resources, and which holes are none
    ties            in which order users of the same karma come, as the plan shows
    order           which waiting jobs its schedulers plan before a new one
    quotas          how much jobs of a user, project, queue or type may hold at a time
    interpretation  from the Gantt chart to an availability in which each resource is known
    availability    what is free, with starts as OAR's scheduler finds them
    records         jobs in the form in which Gas speaks of them
    submission      from what is to run to a request of oarsub's or the REST API's, of one shape or of several
    transport       what can be asked of an OAR
    commands        the transport of oarnodes, oarstat, oarsub and oardel
    rest            the transport of the REST API
    endpoint        an OAR as an endpoint
"""
