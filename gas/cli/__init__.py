"""The command line: thin, one module a group of commands.

Its modules:

    main            the program `gas`: entry point, and how errors become exit codes
    commands        its commands, and plug-ins
    options         options of several commands: endpoints, job references, idempotency keys
    predicting      --predict: what is likely to become of the candidates of a plan
    planning        the options of a plan; asking and planning with whoever answers
    scripts         what is planned and submitted: an application, or a Slurm job script
    plan            plan
    submit          submit
    submitting      a job sent to one of several schedulers, once
    jobs            status, wait, logs, cancel, reserve
    why             why: why a job of a Slurm waits
    follow          status --follow
    polling         polling a scheduler, also one that does not answer for a while
    states          jobs in words, and the exit code for the end of a job
    probing         asking a scheduler by real jobs when it would start them
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
    generators      the models of workload and their options
    simulate        simulate
    simulation_table  its tables, and the meaning of policies and columns
    audit           audit
    traces          traces list, get
    selection       options that select jobs of a log and scale its load
    logs            reading the logs that a command names
    progress        a progress bar on standard error
    tables          all output: lines, tables and JSON on standard output, notes on standard error
"""
