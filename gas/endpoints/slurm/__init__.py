"""Slurm: reads its published state, computes which nodes are free when, and submits each job exactly once.

Reading and interpreting are pure: they turn text into a `Cluster` and a `NodeAvailability`. The two transports, by
commands and by slurmrestd, return the same `gas.slurm.cluster.Cluster`.

    notation        Slurm's notations: node lists, tasks of job arrays, durations, instants
    command_line    reads scontrol, squeue and sdiag; `answer_records` reads one record of them, `scontrol_records` the
                    records of scontrol, `details` its details of jobs, which may contain arbitrary text from users
    json_answers    reads slurmrestd and --json, from v0.0.36 on; `json_entries` reads one object, `json_jobs` jobs,
                    `json_machine` everything else
    resources       notations of GPUs and other generic resources, memory and licences
    configuration   the settings that Gas reads from slurm.conf, independent of the transport
    conf_file       reads a slurm.conf file, if slurmrestd does not publish the configuration
    stand_ins       replaces nodes and partitions that a site hides
    kept_answers    caches answers that change slowly
    setting_answers reads scontrol show config, or conf from slurmrestd
    accounting_answers
                    reads accounts, QOS, limits and usage from scontrol show assoc_mgr (`limit_records`), sacctmgr and
                    sshare
    json_accounting turns slurmrestd's jobs from slurmdbd into sacct's output
    json_associations
                    reads accounts, QOS and shares from slurmrestd
    json_requests   builds requests to slurmrestd: batch jobs, and new shapes for waiting jobs
    rest            the transport by slurmrestd; `rest_client` talks to one slurmrestd, `rest_connection` is HTTP over a
                    port or a socket, with tokens, `rest_refusals` reads its error messages
    interpretation  turns the published state into the availability of each node, and the jobs without a plan
    topology        reads the switches of a cluster
    caveats         where Slurm may deviate from the plan
    availability    free nodes of a partition, and the starts that Slurm would find
    transport       the interface of transports
    refusals        classifies Slurm's error messages, from commands and slurmrestd
    commands        the transport by Slurm's commands
    directives      finds sbatch options in #SBATCH lines, on the command line and in variables
    options         the meaning of these options, and which of them Gas cannot plan
    sizing          turns a size and a walltime into tasks, nodes and GPUs
    requested       the job that Slurm would create for a size, a walltime and options
    submission      builds a batch job
    reasons         why a job waits, as a record
    records         Slurm's jobs as Gas's job records
    probing         submits real jobs, and cancels them as soon as Slurm has planned them
    choices         the partitions, accounts and QOS that accept a user's jobs
    generation      generates a configuration with Slurm's partitions
    discovery       finds the local Slurm without a configuration
    reading         shares one query among all endpoints of a Slurm
    endpoint        a partition as an endpoint: plans, submits jobs and reshapes them
"""
