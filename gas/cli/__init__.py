"""The command line: thin, one module a group of commands.

Its modules:

    main            the program `gas`: entry point, and how errors become exit codes
    commands        its commands, and plug-ins
    options         options of several commands: endpoints, job references, idempotency keys
    planning        the options of a plan, and the agent that commands drive
    scripts         what is planned and submitted: an application, or a Slurm job script
    plan            plan
    coallocation    what plan and submit do with several machines at once
    candidates      tables of a plan's candidates: trade-offs, others, what is impossible
    submit          submit
    jobs            status, wait, reserve
    job_output      logs
    completion      what the shell completes
    job_selection   which jobs status lists
    cancel          cancel
    why             why: why a job of a Slurm waits
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
    fit_report      what fit prints: tables, JSON
    workload        workload
    workload_estimates  workload estimates
    generators      the models of workload and their options
    simulate        simulate
    simulation_table  its tables, and the meaning of policies and columns
    policy_options  options that apply to some policies only
    audit           audit
    backtest        backtest
    convert         convert
    traces          traces list, get
    selection       options that select jobs of a log and scale its load
    logs            reading the logs that a command names
    log_files       the files in folders of logs, and the names of files written for each log
    progress        a progress bar on standard error
    backtest_report  what backtest shows: tables, a page, JSON
    backtest_words  what it says: how good predictions were, for whom not, what was cut
    savings_report  what it says of choosing by predictions
    partial_file    what an interrupted backtest has simulated
    tables          all output: lines, tables and JSON on standard output, notes on standard error
"""
