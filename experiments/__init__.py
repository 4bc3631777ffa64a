"""Studies on logs and models; found by the command line through the `gas.commands` entry points, imported by nothing.

What studies share, from the bottom:

    published   figures of the literature, as data files
    logs        which logs there are in a folder, and on which machine and terms they are simulated
    models      the workload models of the literature, by seed and load
    ledger      results of runs, kept: interrupted studies go on, and nothing is computed twice
    dependencies  what computing a result depends on: modules reached by imports, data, libraries
    report      the same report as self-contained HTML and as Markdown
    records     results as CSV and Parquet

The study of backfilling (Mu'alem & Feitelson 2001):

    runs                 EASY and conservative backfilling on a log, and on a model at a load
    comparison           a cell of the paper's table beside ours: does its sign agree, and if not, why
    backfilling          which runs there are, and what came out
    claims               which of the paper's statements hold
    pictures             its pictures
    backfilling_tables   its results as rows
    backfilling_report   its report
    backfilling_method   how it was done, and in what form
    models_report        the parts of it that tell of the models

One moldable job, or many of them, in a log (Cirne & Berman's Gas):

    benchmarks     the NAS benchmarks as moldable applications, and how likely each is
    substitution   jobs of a log that give way to benchmarks
    moldability    every job of a log made moldable, its load unchanged
    power          what becomes of one of them, for every request that it could make
    losses         why a static request was sooner
    bushel         what becomes of many of them, and of all others
    improvement    how many times sooner Gas is, in classes
    statistics     means over seeds, and how sure they are

    power_study      which runs of it there are, and what came out
    power_claims     which of the paper's statements hold
    power_pictures   its pictures
    power_report     its report
    power_command    ``gas experiment power``

    bushel_study      which runs with many of them there are, and what came out
    bushel_claims     which of the paper's statements hold
    bushel_pictures   its pictures
    bushel_beyond     the part of its report that goes beyond the paper
    bushel_report     its report
    bushel_command    ``gas experiment bushel``

    walk           the paper's walk against the exact planner
    walk_report    its report
    walk_command   ``gas experiment walk``

    month_command   what these commands share
    cost            what a study took in time and memory
    simulated       what they simulate, in words, for their reports

How wrong users' estimates are, and what that does (Mu'alem & Feitelson's section 4):

    estimates_use        how much of what they were given jobs used
    estimates_history    estimates from history, in every reading of the paper
    estimates_run        what is asked of a log
    estimates_study      which runs there are, and what came out
    estimates_cells      our figures beside those of its tables, and why they differ
    estimates_claims     which of the paper's statements hold
    estimates_pictures   its pictures
    estimates_tables     its results as rows
    estimates_beyond     the part of its report that goes beyond the paper
    estimates_method     how it was done
    estimates_report     its report
    estimates_command    ``gas experiment estimates``

Predictions made from how much of their walltimes jobs use:

    prediction_run        predicted and true starts of jobs of a log, and what comes of choosing by predictions
    prediction_study      which runs there are, and what came out
    prediction_claims     whether predictions are right and sharp, and whether they help
    prediction_pictures   its pictures
    prediction_choice     the part of its report that tells of choosing by predictions
    prediction_report     its report
    prediction_command    ``gas experiment prediction``

Several supercomputers (Cirne & Berman's section 6.2):

    supercomputers            applications in front of machines that go on in step, and what they can submit
    supercomputers_run        what becomes of them and of everybody else, followed both ways
    supercomputers_study      which runs there are; break-even charges and equilibria
    supercomputers_pictures   its pictures
    supercomputers_charge     the part of its report that tells of charging for submissions
    supercomputers_report     its report
    supercomputers_command    ``gas experiment supercomputers``

Walltimes adjusted by history (Tang et al. 2013):

    walltime_accuracy          how good adjusted walltimes are, by the record alone
    walltime_run               what is asked of a log
    walltime_study             which runs there are, and what came out
    walltime_cells             the paper's figures beside ours, and why they differ
    walltime_claims            which of the paper's statements hold
    walltime_pictures          its pictures
    walltime_tables            its results as rows
    walltime_account           the part of its report that accounts for selective against regular adjustment
    walltime_accuracy_report   the part that needs no simulation
    walltime_method            how it was done, and what stands in for the paper's log
    walltime_report            its report
    walltime_command           ``gas experiment walltime``

    cluster           Dask workers in place of processes
    telling           what they say on the terminal: how far they are, and which statements hold
    compiling         the simulator is compiled once, before worker processes start
    command_options   options that commands share
    cli               the commands ``gas experiment …``
"""
