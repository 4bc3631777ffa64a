"""Requests in the terms of others: processors are kept, walltimes are never rounded down, and all terms are real."""

import json
import re
import shlex
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas import Application, AvailabilityList, BadInput, Infeasible, plan
from gas.endpoints import JobDescription, Request
from gas.resources import Resources
from gas.workflows.conversions import (
    converted,
    dask_jobs,
    parsl_arguments,
    psij_job_spec,
    sbatch_arguments,
    snakemake_resources,
)
from speedup_models import Layout

REQUESTS = st.builds(Request, st.integers(1, 10**6), st.integers(1, 2**32))
CORES = st.none() | st.integers(1, 1000)
JOB = JobDescription("lu", ("./lu", "-n", "{processors}", "it's; $HOME"), {"A": "b c"}, "/some where")
LISTED = {
    "schema": "gas.availability/1", "scheduler": "x", "kind": "promise", "now": 0, "processors": 16,
    "version": "1", "frames": [{"start": 0, "end": None, "free": 16}],
}  # fmt: skip


def seconds(text):
    """The seconds of D-HH:MM:SS, HH:MM:SS or HH:MM."""
    days, _, rest = text.rpartition("-")
    hours, minutes, *second = (int(part) for part in rest.split(":"))
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + sum(second)


def option(arguments, name):
    (value,) = (a.removeprefix(f"--{name}=") for a in arguments if a.startswith(f"--{name}="))
    return value


@pytest.mark.parametrize("form", ["sbatch", "psij", "submitit", "dask", "snakemake", "parsl"])
def test_gpus_are_gpus_in_each_form(found, form):
    if form == "psij":
        pytest.importorskip("psij", reason="needs psij-python")
    best = replace(found.best, processors=8, unit="gpus", layout=Layout(2, 4, "a100"))
    text = json.dumps(converted(replace(found, best=best), form, resources=Resources("gpus", tasks_per_node=1)))
    assert "a100:4" in text
    assert "ntasks=8" not in text


@pytest.mark.parametrize("form", ["sbatch", "dask", "snakemake", "parsl"])
def test_processors_alone_are_worded_whatever_says_so(found, form):
    assert converted(found, form, resources=Resources()) == converted(found, form)


@pytest.fixture
def found():
    model = {"speedup": {"model": "amdahl", "sequential_time": 90000, "serial_fraction": 0.01}}
    return plan(Application.from_tables(model, "here", name="lu"), AvailabilityList.from_wire(LISTED, "here"))


class TestSbatch:
    @given(REQUESTS)
    def test_the_time_is_the_walltime_in_whole_minutes_as_slurm_counts(self, request):
        text = option(sbatch_arguments(request), "time")
        assert re.fullmatch(r"\d+-[0-2]\d:[0-5]\d:00", text)
        assert 0 <= seconds(text) - request.walltime < 60

    @given(REQUESTS)
    def test_a_processor_is_a_task_a_cpu_or_a_node(self, request):
        assert f"--ntasks={request.processors}" in sbatch_arguments(request)
        assert {"--ntasks=1", f"--cpus-per-task={request.processors}"} <= set(sbatch_arguments(request, unit="cpus"))
        nodes = sbatch_arguments(request, unit="nodes")
        assert f"--nodes={request.processors}" in nodes
        assert not any(a.startswith("--ntasks") for a in nodes)

    def test_the_wrapped_command_runs_as_it_was_given(self, tmp_path):
        shown = JobDescription(
            "x", ("sh", "-c", 'echo "$A" "$GAS_PROCESSORS" "$GAS_WALLTIME" "$@"', "sh", *JOB.command)
        )
        job = JobDescription("x", shown.command, JOB.environment, str(tmp_path))
        arguments = sbatch_arguments(Request(4, 90), job)
        done = subprocess.run(["sh", "-c", option(arguments, "wrap")], capture_output=True, text=True, check=True)
        assert done.stdout == "b c 4 90 ./lu -n 4 it's; $HOME\n"
        assert option(arguments, "chdir") == str(tmp_path)

    def test_a_start_is_the_same_in_all_time_zones(self):
        assert option(sbatch_arguments(Request(1, 60, not_before=1_800_000_000)), "begin") == "uts1800000000"

    def test_without_a_job_a_script_may_follow(self):
        assert sbatch_arguments(Request(2, 60), parsable=False) == ["--ntasks=2", "--time=0-00:01:00"]

    def test_another_unit_is_refused(self):
        with pytest.raises(BadInput, match=r"unit 'cores': a processor is one of tasks, cpus, nodes"):
            sbatch_arguments(Request(2, 60), unit="cores")


class TestPsij:
    @pytest.fixture(autouse=True)
    def real(self):
        pytest.importorskip("psij", reason="needs psij-python")

    @given(st.builds(Request, st.integers(1, 10**6), st.integers(1, 2**32), *[st.none() | st.integers(0, 2**53)] * 2))
    def test_what_s3_reads_of_a_job_spec_is_the_request(self, request):
        from gas.workflows.psij import request_of

        assert request_of(psij_job_spec(request, JOB)) == request
        assert request_of(psij_job_spec(request, JOB, threads=True)) == request

    def test_processes_or_threads(self):
        processes = psij_job_spec(Request(6, 60), JOB).resources
        assert (processes.computed_process_count, processes.cpu_cores_per_process) == (6, None)
        threads = psij_job_spec(Request(6, 60), JOB, threads=True).resources
        assert (threads.computed_process_count, threads.cpu_cores_per_process) == (1, 6)

    def test_everything_that_is_to_run_is_there(self):
        spec = psij_job_spec(Request(4, 90), JOB, stdout="/o", stderr="/e", launcher="mpirun")
        assert (spec.executable, spec.arguments) == ("./lu", ["-n", "4", "it's; $HOME"])
        size = {"GAS_PROCESSORS": "4", "GAS_TASKS": "4", "GAS_CPUS_PER_TASK": "1", "GAS_WALLTIME": "90"}
        assert spec.environment == {"A": "b c", **size}
        assert (spec.name, str(spec.directory), spec.launcher) == ("lu", "/some where", "mpirun")
        assert (str(spec.stdout_path), str(spec.stderr_path)) == ("/o", "/e")

    @given(REQUESTS)
    @examples(30)
    def test_psij_reads_the_json_back(self, request):
        from contextlib import redirect_stdout

        from psij.serialize import JSONSerializer

        from gas.workflows.conversions import _psij_json

        with redirect_stdout(None):  # PSI/J prints the names of what it reads
            spec = JSONSerializer().loads(json.dumps(_psij_json(request, JOB)))
        assert spec.attributes.duration == timedelta(seconds=request.walltime)
        assert spec.resources.process_count == request.processors


WALLTIME = {
    "slurm": ("SLURMCluster", r"#SBATCH -t (\S+)", 60),
    "oar": ("OARCluster", r"walltime=(\S+)", 1),
    "pbs": ("PBSCluster", r"#PBS -l walltime=(\S+)", 1),
    "moab": ("MoabCluster", r"#PBS -l walltime=(\S+)", 1),
    "sge": ("SGECluster", r"#\$ -l h_rt=(\S+)", 1),
    "lsf": ("LSFCluster", r"#BSUB -W (\S+)", 60),
}


class TestDask:
    @given(REQUESTS, CORES)
    def test_the_jobs_hold_all_processors_and_no_more_than_they_must(self, request, cores):
        arguments, jobs = dask_jobs(request, cores=cores)
        assert arguments["cores"] <= (cores or request.processors)
        assert 0 <= jobs * arguments["cores"] - request.processors < jobs

    @pytest.mark.parametrize("system", WALLTIME)
    def test_dask_jobqueue_writes_a_script_with_the_whole_walltime(self, system, monkeypatch):
        jobqueue = pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue")
        name, pattern, step = WALLTIME[system]
        more = {"memory_per_core_property_name": "not_applicable"} if system == "oar" else {}
        more |= {"use_stdin": True, "lsf_units": "MB"} if system == "lsf" else {}
        for walltime in (1, 59, 61, 3600, 90_061, 2**32):
            arguments, _ = dask_jobs(Request(10, walltime), JOB, memory="2 GB", cores=8, processes=1, system=system)
            script = getattr(jobqueue, name).job_cls("tcp://127.0.0.1:1", name="w", **arguments, **more).job_script()
            (written,) = re.findall(pattern, script)
            assert 0 <= seconds(written) - walltime < step
            assert "--nthreads 5" in script
            assert "cd '/some where'\nexport A='b c'\nexport GAS_PROCESSORS=10\n" in script

    def test_memory_is_the_callers_or_left_to_the_configuration(self):
        assert dask_jobs(Request(1, 60), memory="1 GB").arguments["memory"] == "1 GB"
        assert "memory" not in dask_jobs(Request(1, 60)).arguments

    def test_what_is_no_size_or_system_is_refused(self):
        with pytest.raises(BadInput, match="cores 0: must be at least 1"):
            dask_jobs(Request(1, 60), cores=0)
        with pytest.raises(BadInput, match="system 'cray': is not one of slurm, oar"):
            dask_jobs(Request(1, 60), system="cray")


class TestSnakemake:
    @given(REQUESTS, st.booleans())
    def test_snakemake_takes_them_and_gas_reads_the_request_back(self, request, threads):
        resources = pytest.importorskip("snakemake.resources", reason="needs snakemake")
        from gas.workflows.snakemake import request_of

        taken = {n: resources.Resource(n, v).value for n, v in snakemake_resources(request, threads=threads).items()}
        assert request_of({"resources": taken}) == request
        assert 0 <= taken["runtime"] * 60 - request.walltime < 60
        assert taken["tasks"] * taken["cpus_per_task"] == request.processors


PROVIDERS = {
    "slurm": ("SlurmProvider", "cores_per_node"),
    "pbspro": ("PBSProProvider", "cpus_per_node"),
    "lsf": ("LSFProvider", "cores_per_node"),
    "torque": ("TorqueProvider", None),
    "gridengine": ("GridEngineProvider", None),
    "local": ("LocalProvider", None),
}


class TestParsl:
    @given(REQUESTS, CORES)
    def test_the_block_holds_all_processors_and_no_more_than_it_must(self, request, cores):
        arguments = parsl_arguments(request, cores_per_node=cores)
        assert arguments["cores_per_node"] <= (cores or request.processors)
        excess = arguments["nodes_per_block"] * arguments["cores_per_node"] - request.processors
        assert 0 <= excess < arguments["nodes_per_block"]

    @pytest.mark.thorough
    @pytest.mark.parametrize("provider", PROVIDERS)
    def test_parsl_takes_them_and_reads_the_whole_walltime(self, provider):
        providers = pytest.importorskip("parsl.providers", reason="needs parsl")
        from parsl.utils import wtime_to_minutes

        name, cores = PROVIDERS[provider]
        for walltime in (1, 59, 61, 3600, 90_061):
            real = getattr(providers, name)(
                **parsl_arguments(Request(10, walltime), JOB, cores_per_node=8, provider=provider)
            )
            assert (real.nodes_per_block, real.init_blocks, real.max_blocks) == (2, 1, 1)
            assert cores is None or getattr(real, cores) == 5
            if provider != "local":
                assert 0 <= wtime_to_minutes(real.walltime) * 60 - walltime < 60
            assert "export GAS_PROCESSORS=10" in real.worker_init

    def test_what_is_no_provider_is_refused(self):
        with pytest.raises(BadInput, match="provider 'cobalt': is not one of slurm"):
            parsl_arguments(Request(1, 60), provider="cobalt")


class TestConverted:
    def test_sbatch_is_a_command_line(self, found):
        words = shlex.split(converted(found, "sbatch"))
        assert words[:3] == ["sbatch", "--parsable", "--ntasks=16"]
        assert seconds(option(words, "time")) >= found.best.walltime

    @pytest.mark.parametrize("form", ["psij", "dask", "snakemake", "parsl"])
    def test_the_others_are_json(self, form, found):
        if form == "psij":
            pytest.importorskip("psij", reason="needs psij-python")
        text = json.dumps(converted(found, form))
        assert "16" in text

    @pytest.mark.parametrize("resources", [None, Resources("processors", tasks_per_node=1)])
    def test_an_earliest_start_stays(self, found, resources):
        words = shlex.split(converted(found, "sbatch", resources=resources, not_before=1_800_000_000))
        assert option(words, "begin") == "uts1800000000"

    def test_an_earliest_start_is_an_attribute_of_psij(self, found):
        pytest.importorskip("psij", reason="needs psij-python")
        spec = converted(found, "psij", not_before=1_800_000_000)
        kept = spec["attributes"]["custom_attributes"]
        assert (kept["s3.not_before"], kept["slurm.begin"]) == (1_800_000_000, "uts1800000000")

    @pytest.mark.parametrize("form", ["dask", "snakemake", "parsl", "submitit"])
    def test_who_knows_no_earliest_start_gets_no_request_with_one(self, found, form):
        with pytest.raises(BadInput, match=f"--as {form}: has no earliest start, so the job could start before 2027"):
            converted(found, form, not_before=1_800_000_000)

    def test_a_plan_that_found_nothing_cannot_be_converted(self, found):
        nothing = type(found)("lu", "exact", 0, None, [])
        with pytest.raises(Infeasible, match="lu: no request is possible"):
            converted(nothing, "sbatch")
