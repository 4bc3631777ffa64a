"""The command line: thin, one module a group of commands.

Its modules:

    main            the program `gas`: how it begins, and how errors end it
    commands        its commands, and plug-ins
    options         what several commands share: endpoints, job references
    planning        the options of a plan, and the agent that commands drive
    scripts         what is planned and submitted: an application, or a Slurm job script
    plan            plan
    submit          submit
    jobs            status, wait, logs, cancel, reserve
    why             why: why a job of a Slurm waits
    follow          status --follow
    states          jobs in tables, and how the end of one becomes an exit code
    reshape         reshape, watch
    schedulers      availability, endpoints
    serve           serve
    token           token add, list, revoke
    backup          backup, restore, check
    machine         machine
    guide           guide
    demo            demo
    fit             fit
    workload        workload
    workload_estimates  workload estimates
    generators      the models that workload knows, and what each can be told
    simulate        simulate
    simulation_table  its tables, and what their policies and columns mean
    audit           audit
    traces          traces list, get
    selection       which jobs of a log take part, and how densely they arrive
    logs            reading a log that the user named
    progress        a progress bar on standard error
    tables          all that is written: lines, tables and JSON on standard output, notes on standard error
"""
