"""The command line: thin, one module a group of commands.

Its modules:

    main            the program `gas`: its commands, plug-ins, and how errors end it
    options         what several commands share: endpoints, planning options, job references
    planning        the options of a plan; asking and planning with whoever answers
    plan            plan
    submit          submit
    jobs            status, wait, logs, cancel, reserve
    follow          status --follow
    states          jobs in words, and how the end of one becomes an exit code
    schedulers      availability, endpoints
    serve           serve
    token           token add, list, revoke
    machine         machine
    demo            demo
    fit             fit
    workload        workload
    generators      the models that workload knows, and what each can be told
    simulate        simulate
    audit           audit
    traces          traces list, get
    logs            reading a log that the user named
    progress        a progress bar on standard error
    tables          tables and JSON on standard output, notes on standard error
"""
