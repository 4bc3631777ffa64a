"""OAR: what it publishes, read from either of its transports, and jobs that it may shape by itself.

OAR plans all waiting jobs ahead and publishes that plan, its Gantt chart, resource by resource. So nothing has to be
guessed: what is free is what the chart leaves. Reading, interpreting and writing requests are pure.

    machine         what OAR publishes, whatever the transport
    answers         the JSON of oarnodes, oarstat and of the REST API
    interpretation  from the Gantt chart to an availability in which each resource is known
    records         jobs in the form in which Gas speaks of them
    submission      from what is to run to a request of oarsub's or the REST API's, of one shape or of several
    transport       what can be asked of an OAR
    commands        the transport of oarnodes, oarstat, oarsub and oardel
    rest            the transport of the REST API
    endpoint        an OAR as an endpoint
"""
