"""The command line: a thin layer, with one module for each group of commands.

Its modules:

    main            the program `gas`: entry point, and how errors become exit codes
    commands        the list of commands, and plug-ins
    options         options that several commands share: endpoints, job references, idempotency keys
    planning        the options of a plan, and the agent that carries commands out
    scripts         reads the APP argument: an application file, or a Slurm job script
    plan            plan
    coallocation    the parts of plan and submit for several machines at once
    redundant       the part of submit for one job in several queues
    candidates      tables of a plan's candidates: trade-offs, other requests, impossible requests
    submit          submit
    jobs            status, wait, reserve
    job_output      logs
    completion      completion in the shell
    job_selection   selects the jobs that status lists
    cancel          cancel
    why             why
    follow          status --follow
    states          jobs in tables, and the exit code for the end of a job
    reshape         reshape, watch
    offer           offer
    schedulers      availability, endpoints
    serve           serve
    token           token add, list, revoke
    backup          backup, restore, check
    machine         machine
    guide           guide
    pager           pages of Markdown on the terminal
    demo            demo
    fit             fit
    fit_report      the output of fit: tables, JSON
    workload        workload
    workload_estimates  workload estimates
    generators      the models of workload and their options
    simulate        simulate
    simulation_table  the table of simulate, and the meaning of policies and columns
    policy_options  options that apply to some policies only
    audit           audit
    backtest        backtest
    convert         convert
    traces          traces list, get
    selection       options that select jobs of a log and scale its load
    logs            reading the logs that a command names
    log_files       the files in folders of logs, and the names of files written for each log and policy
    progress        a progress bar on standard error
    backtest_report  the output of backtest: tables, a page, JSON
    backtest_words  the sentences of this output: how accurate predictions were, for which jobs they were poor, where
                    the work was reduced
    savings_report  the sentences about choosing by predictions
    partial_file    the partial results of an interrupted backtest
    tables          all output: lines, tables and JSON on standard output, notes on standard error

A command declares its options where it uses them, unless several commands share an option: two declarations of one
shape are different options.
"""
