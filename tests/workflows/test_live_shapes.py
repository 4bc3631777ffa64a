"""The lines of `gas plan --as`, and the scripts that managers make of them, are accepted by sbatch of three releases.

Each manager makes its script itself, without submitting it. A manager that is not installed is skipped with a message.
"""

import json
import subprocess
from io import StringIO

import pytest
from private_slurm import RELEASES, Nodes, PrivateSlurm

from gas import read_application
from gas.agent.agent import Agent
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.workflows.conversions import converted

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

GPUS = 'unit = "gpus"\n[speedup]\nmodel = "table"\ntimes = { 8 = 1000 }\n[resources]\n'
SHAPES = {
    "MPI": '[speedup]\nmodel = "table"\ntimes = { 8 = 1000 }\n',
    "MPI with memory": '[speedup]\nmodel = "table"\ntimes = { 8 = 1000 }\n[resources]\ncpus_per_task = 2\n'
    'tasks_per_node = 2\nmemory_per_processor = "200M"\n',
    "torchrun": f'{GPUS}gpus_per_node = 4\ntasks_per_node = 1\ncpus_per_gpu = 2\nmemory_per_gpu = "900M"\n',
    "torchrun, typed": f'{GPUS}gpus_per_node = 4\ntasks_per_node = 1\ngpu_type = "a100"\nmemory_per_node = "6G"\n',
    "a rank a GPU": f'{GPUS}gpus_per_node = 4\ngpu_type = "a100"\ncpus_per_gpu = 1\n',
    "whole nodes": 'unit = "nodes"\n[speedup]\nmodel = "table"\ntimes = { 2 = 1000 }\n[resources]\n'
    "gpus_per_node = 2\ntasks_per_node = 1\n",
}


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    groups = [Nodes(3, 8, 8000, gpus=(("a100", 4),)), Nodes(1, 8, 8000, gpus=(("h100", 2),))]
    with PrivateSlurm(groups, 0, "SelectTypeParameters=CR_CPU_Memory", release=request.param) as up:
        yield up


@pytest.fixture(params=SHAPES)
def planned(slurm, request, tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(SHAPES[request.param])
    transport = CommandTransport("private", str(slurm.folder / "slurm.conf"), folder=str(slurm.programs()))
    endpoint = SlurmEndpoint("private", transport, unit="tasks" if request.param == "MPI" else "cpus")
    return Agent(read_application(str(path)), [endpoint]).plan()


def submission(slurm, *words, script=None):
    """Return sbatch's output on a script in test mode."""
    command = [str(slurm.programs() / "sbatch"), "--test-only", *words]
    done = subprocess.run(
        command, input=script, env=slurm.environment, capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert done.returncode == 0, f"{words} {script}: {done.stderr}"
    return done.stderr


def words_of(planned, form):
    return converted(planned.plan, form, resources=planned.resources)


def nodes_said(planned):
    layout = planned.best.layout
    return "" if layout is None or layout.nodes == 1 else "nodes n["


def test_sbatch(slurm, planned):
    words = words_of(planned, "sbatch").split()[1:]
    assert nodes_said(planned) in submission(slurm, *words, "--wrap=true")


def test_psij(slurm, planned):
    pytest.importorskip("psij", reason="needs psij-python")
    from psij import Job, JobExecutor
    from psij.serialize import JSONSerializer

    spec = JSONSerializer().loads(json.dumps(words_of(planned, "psij")))
    spec.executable = "true"
    executor, text = JobExecutor.get_instance("slurm"), StringIO()
    job = Job(spec)
    executor.generate_submit_script(job, executor._create_script_context(job), text)
    assert nodes_said(planned) in submission(slurm, script=text.getvalue())


def test_submitit(slurm, planned, tmp_path, monkeypatch):
    submitit = pytest.importorskip("submitit", reason="needs submitit")
    monkeypatch.setenv("PATH", f"{slurm.programs()}:/usr/bin:/bin")
    executor = submitit.AutoExecutor(folder=tmp_path, cluster="slurm")
    executor.update_parameters(**words_of(planned, "submitit"))
    text = executor._executor._make_submission_file_text("true", "uid")
    assert nodes_said(planned) in submission(slurm, script=text)


def test_dask(slurm, planned):
    jobqueue = pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue")
    found = words_of(planned, "dask")
    arguments = {"memory": "1 GiB", **found["arguments"]}
    script = jobqueue.SLURMCluster.job_cls("tcp://127.0.0.1:1", name="w", **arguments).job_script()
    submission(slurm, script=script)
    assert found["jobs"] == (planned.best.layout.nodes if planned.best.layout else 1)


def test_snakemake(slurm, planned):
    plugin = pytest.importorskip("snakemake_executor_plugin_slurm.submit_string", reason="needs the plugin slurm")
    from types import SimpleNamespace

    class Resources(dict):
        __getattr__ = dict.get

    job = SimpleNamespace(resources=Resources(words_of(planned, "snakemake")), threads=1)
    params = dict.fromkeys(("run_uuid", "slurm_logfile", "comment_str"), "x") | {
        "account": "", "partition": "", "workdir": "/",
    }  # fmt: skip
    line = plugin.get_submit_command(job, params)
    submission(slurm, *line.split()[1:], "--wrap=true")


def test_parsl(slurm, planned, tmp_path, monkeypatch):
    providers = pytest.importorskip("parsl.providers", reason="needs parsl")
    from parsl.providers.slurm.template import template_string

    monkeypatch.setenv("PATH", f"{slurm.programs()}:/usr/bin:/bin")
    provider = providers.SlurmProvider(**words_of(planned, "parsl"))
    provider.script_dir = str(tmp_path)
    kept = []
    monkeypatch.setattr(provider, "_write_submit_script", lambda text, *more: kept.append((text, *more)))
    monkeypatch.setattr(provider, "execute_wait", lambda *_, **__: (0, "Submitted batch job 1", ""))
    provider.submit("true", tasks_per_node=1, job_name="block")
    (_, _, name, config), *_ = kept
    from string import Template

    script = Template(template_string).substitute(jobname=name, **config)
    assert nodes_said(planned) in submission(slurm, script=script)
