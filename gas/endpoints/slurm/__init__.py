"""Slurm: what it publishes and what that says about when which nodes are free; and jobs for it, each made once.

Reading and interpreting are pure: text in, `Cluster` and `NodeAvailability` out. Two transports do the same over
programs and over HTTP; what they publish is a `gas.slurm.cluster.Cluster`.

    notation        its notations: node lists, tasks of arrays, durations, instants
    command_line    the answers of scontrol, squeue and sdiag; answer_records is one record of them,
                    scontrol_records those of scontrol, details what it says of each job, into which users write
    json_answers    the answers of slurmrestd and of --json, from v0.0.36 on; json_entries is one object of them,
                    json_jobs its jobs, json_machine all else
    resources       notations of GPUs and the like, of memory and of licences
    configuration   what is read of slurm.conf, by whatever transport
    conf_file       what slurm.conf says, where slurmrestd does not publish it
    stand_ins       nodes and partitions in place of those that a site hides
    kept_answers    what is not asked again at once, by how fast it changes
    setting_answers what scontrol show config, or slurmrestd's conf, says
    accounting_answers
                    accounts, QOS, limits and use, as scontrol show assoc_mgr (limit_records), sacctmgr and sshare
                    print them
    json_accounting what slurmrestd knows of slurmdbd's jobs, as sacct prints it
    json_associations
                    accounts, QOS and shares, as slurmrestd publishes them
    json_requests   what slurmrestd is sent: batch jobs, and other shapes for those that wait
    rest            Slurm by slurmrestd; rest_client is one spoken to, rest_connection is HTTP over a port
                    or a socket, and tokens, rest_refusals is what slurmrestd says when something went wrong
    interpretation  from what is published to an availability with node identity, and to the jobs that have no plan
    caveats         what Slurm does otherwise than it is planned with
    availability    what is free of a partition's nodes, with starts as Slurm would find them
    transport       what is sent, and what a transport can do
    refusals        what kind of error Slurm's words are, from commands and slurmrestd
    commands        Slurm by its commands
    directives      the options of sbatch where they are written: #SBATCH lines, words, variables
    options         what they mean, and which of them are not planned with
    sizing          from a size and a walltime to tasks, nodes and GPUs
    asked           the job that Slurm would have of a size, a walltime and options
    submission      from what is to run to a batch job
    reasons         why a job waits, as a record
    records         its jobs as the commands of Gas show them
    probing         real jobs that are cancelled as soon as Slurm has planned them
    choices         which partitions, accounts and QOS take a user's jobs at all
    generation      the configuration of its partitions
    discovery       the Slurm that is here, without a configuration
    reading         one reading for all endpoints of one Slurm
    endpoint        a partition as an endpoint: planned with, submitted to, jobs reshaped
"""
