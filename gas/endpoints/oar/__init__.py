"""OAR: reads its published state by either of two transports, and submits jobs, whose shape OAR may choose.

OAR plans all waiting jobs ahead and publishes this plan, its Gantt chart, resource by resource. A new job can use the
resources that are left by the jobs planned before it. Reading, interpreting and writing requests are pure.

    machine         the published state of an OAR, independent of the transport
    answers         reads the JSON of oarnodes, oarstat and the REST API
    conditions      evaluates conditions on resources, if the REST API does not
    hierarchy       the unit of a request: a level of the hierarchy of resources
    chart           the Gantt chart: when jobs hold resources, and which gaps are not usable
    ties            the order of users with equal karma, derived from the plan
    order           the waiting jobs that OAR plans before a new job
    quotas          limits on what the jobs of a user, project, queue or type may hold at a time
    interpretation  turns the Gantt chart into an availability in which each resource is known
    availability    free resources, and the starts that OAR's scheduler would find
    records         jobs of OAR in Gas's own form
    submission      builds a request of oarsub or of the REST API, with one shape or several
    transport       the interface of transports
    commands        the transport by oarnodes, oarstat, oarsub and oardel
    rest            the transport by the REST API
    endpoint        the endpoint
"""
