"""Gas inside workflow managers and Python programs: requests in their words, their jobs, and functions as jobs.

Its modules:

    conversions   a request as sbatch arguments, PSI/J JobSpec, submitit, dask-jobqueue, Snakemake or Parsl arguments
    shapes        the same of a job on nodes and GPUs: ranks of MPI, or one launcher on each node
    functions     an executor that runs Python functions as moldable jobs
    call          what the job of a function runs
    scheduling    which schedulers are meant, planning with them, and submitting exactly once, with patience
    memory        one plan per job of a workflow, whichever process asks, and however often
    snakemake     resources of a Snakemake rule that Gas plans, and the commands that submit to S³
    psij          the PSI/J executor `s3`: submitting, following and cancelling

`psij-descriptors` beside them is no package: the wheel installs it at the top, where PSI/J looks for executors.

The managers themselves are imported only inside the functions that use them; the extra ``workflows`` brings them.
"""
