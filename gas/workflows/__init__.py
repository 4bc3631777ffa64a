"""Gas inside workflow managers and Python programs: converts requests, runs jobs, and runs functions as jobs.

Its modules:

    conversions   a request as arguments of sbatch, PSI/J, submitit, dask-jobqueue, Snakemake or Parsl
    shapes        the same for jobs on nodes and GPUs: MPI ranks, or one launcher on each node
    functions     an executor that runs Python functions as moldable jobs
    call          the program that runs in the job of a function
    scheduling    finds the schedulers of a workflow, plans with them, and submits exactly once, with retries
    memory        one plan per job of a workflow, even if several processes request it
    snakemake     resources of a Snakemake rule that Gas plans, and the commands that submit to S³
    psij          the PSI/J executor `s3`: submitting, following and cancelling

The folder `psij-descriptors` is no package: the wheel installs it at the top level, where PSI/J looks for executors.

Workflow managers are imported only inside the functions that use them; the extra ``workflows`` installs them.
"""
