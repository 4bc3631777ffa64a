"""The PSI/J executor `s3`, from the wheel: PSI/J finds it, and its jobs are submitted, followed and cancelled."""

import json
import subprocess
import time
from datetime import timedelta
from importlib.util import find_spec

import pytest

from gas import BadInput

if find_spec("psij") is None:  # imported where it is used only: each process that collects would spend half a second
    pytest.skip("needs psij-python", allow_module_level=True)


@pytest.fixture
def program(installed, surroundings, tmp_path):
    """Run a PSI/J program in the wheel's environment; it prints with `tell`."""
    head = (
        "import json, sys, time\nfrom datetime import timedelta\nfrom pathlib import Path\nimport psij\n"
        "from psij import Job, JobAttributes, JobExecutor, JobSpec, JobState, ResourceSpecV1, InvalidJobException\n"
        "url = sys.argv[1]\n"
        "def tell(*what): print(json.dumps(what), flush=True)\n"
        "def job(*command, n=1, t=60, **more):\n"
        "    resources = ResourceSpecV1(process_count=n)\n"
        "    more.setdefault('attributes', JobAttributes(duration=timedelta(seconds=t)))\n"
        "    return Job(JobSpec(command[0], list(command[1:]), resources=resources, **more))\n"
        "def end(job): status = job.wait(timedelta(seconds=30)); return [status.state.name, status.exit_code]\n"
        "executor = JobExecutor.get_instance('s3', url=url)\n"
    )

    def start(text, url):
        (tmp_path / "program.py").write_text(head + text)
        command = [str(installed / "python"), "-W", "error", "program.py", url]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    def run(text, url):
        process = start(text, url)
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]

    started = []
    run.start = start
    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.thorough
def test_psij_finds_it_in_the_wheel(program, installed, recorder):
    said = program(
        "import gas, importlib.metadata\n"
        "[entry] = JobExecutor._executors['s3']\n"
        "tell(entry.plugin_path, gas.__file__, executor.name, str(executor.version))\n",
        recorder.url,
    )
    ((plugin, package, name, version),) = said
    environment = str(installed.parent)
    assert plugin.startswith(environment)
    assert package.startswith(environment)
    assert plugin.endswith("psij-descriptors/gas_descriptors.py")
    assert (name, version) == ("s3", "1.0.0")


def test_a_job_runs_as_psij_describes_it(program, recorder, service, tmp_path):
    (tmp_path / "in").write_text("from stdin\n")
    (tmp_path / "before.sh").write_text("export BEFORE=sourced\n")
    said = program(
        "seen = []\n"
        "executor.set_job_status_callback(lambda job, status: seen.append([job.native_id, status.state.name]))\n"
        "here = Path.cwd()\n"
        "script = 'pwd; cat; echo $A $BEFORE $GAS_PROCESSORS $GAS_WALLTIME; echo oops >&2; sleep 1'\n"
        "one = job('/bin/sh', '-c', script, n=3, t=45, directory=here, environment={'A': 'a b'}, name='one',\n"
        "    stdin_path=here / 'in', stdout_path=here / 'out', stderr_path=here / 'err',\n"
        "    pre_launch=here / 'before.sh')\n"
        "executor.submit(one)\n"
        "tell(one.native_id, executor.list())\n"
        "tell(end(one), seen)\n",
        recorder.url,
    )
    assert said == [["1", ["1"]], [["COMPLETED", 0], [["1", "QUEUED"], ["1", "ACTIVE"], ["1", "COMPLETED"]]]]
    assert (tmp_path / "out").read_text() == f"{tmp_path}\nfrom stdin\na b sourced 3 45\n"
    assert (tmp_path / "err").read_text() == "oops\n"
    (job,) = service.jobs()
    assert (job["name"], job["processors"], job["walltime"]) == ("one", 3, 45)


def test_each_end_has_its_state(program, recorder):
    said = program(
        "jobs = [job('/bin/true'), job('/bin/sh', '-c', 'exit 7'), job('/no/such/program')]\n"
        "late = job('/bin/sleep', '99', t=1)\n"
        "for each in [*jobs, late]: executor.submit(each)\n"
        "for each in jobs: tell(*end(each))\n"
        "tell(end(late)[0], late.status.message)\n"
        "long = job('/bin/sleep', '99'); executor.submit(long); long.wait(timedelta(seconds=30), JobState.ACTIVE)\n"
        "active = long.status.state.name; long.cancel(); tell(active, end(long)[0]); long.cancel()\n"
        "waiting = job('/bin/true', n=8, attributes=JobAttributes(timedelta(seconds=60), custom_attributes={\n"
        "    's3.not_before': int(time.time()) + 1000}))\n"
        "executor.submit(waiting); queued = waiting.status.state.name; waiting.cancel()\n"
        "tell(queued, end(waiting)[0])\n",
        recorder.url,
    )
    good, bad, gone, late, cancelled, unstarted = said
    assert [good, bad, gone] == [["COMPLETED", 0], ["FAILED", 7], ["FAILED", 127]]
    assert late[0] == "FAILED"
    assert "timeout" in late[1]
    assert cancelled == ["ACTIVE", "CANCELED"]
    assert unstarted == ["QUEUED", "CANCELED"]


@pytest.mark.thorough
def test_many_jobs_are_followed_and_launched_in_several_processes(program, recorder, service, tmp_path):
    said = program(
        "jobs = [job('/bin/sh', '-c', 'echo x', n=2, launcher='multiple', stdout_path=Path.cwd() / f'out{i}')\n"
        "    for i in range(20)]\n"
        "for each in jobs: executor.submit(each)\n"
        "tell(*[end(each) for each in jobs])\n",
        recorder.url,
    )
    assert said == [[["COMPLETED", 0]] * 20]
    assert {(tmp_path / f"out{i}").read_text() for i in range(20)} == {"x\nx\n"}
    assert len(service.jobs()) == 20


@pytest.mark.thorough
def test_another_program_attaches_by_native_id(program, recorder, service):
    id = service.submit(
        {"processors": 2, "walltime": 60, "actuator": {"kind": "process", "command": ["sh", "-c", "sleep 2; exit 5"]}}
    ).json()["id"]
    said = program(
        f"again = Job(); executor.attach(again, '{id}'); tell(again.native_id, end(again))\n"
        f"over = Job(); executor.attach(over, '{id}'); tell(end(over))\n"
        "for id in ('99', 'x'):\n"
        "    try: executor.attach(Job(), id)\n"
        "    except InvalidJobException as error: tell(error.message)\n"
        "try: executor.attach(over, '1')\n"
        "except InvalidJobException as error: tell(error.message)\n",
        recorder.url,
    )
    assert said[:2] == [[str(id), ["FAILED", 5]], [["FAILED", 5]]]
    assert [line[0].split(":")[0] for line in said[2:4]] == ["99", "x"]
    assert "only a new one can be attached" in said[4][0]


@pytest.mark.thorough
def test_what_s3_cannot_do_is_refused_and_what_it_cannot_do_now_may_be_tried_again(program, recorder, service):
    service.simulated(8, 1000)
    said = program(
        "def refused(job):\n"
        "    try: executor.submit(job)\n"
        "    except Exception as error:\n"
        "        tell(type(error).__name__, error.message, getattr(error, 'transient', None), job.status.state.name)\n"
        "refused(job('/bin/true', n=9))\n"
        "gpu = job('/bin/true'); gpu.spec.resources = ResourceSpecV1(gpu_cores_per_process=1); refused(gpu)\n"
        "refused(Job(JobSpec()))\n"
        "now = job('/bin/true'); now.spec.attributes.set_custom_attribute('s3.start_by', int(time.time()) + 5)\n"
        "refused(now)\n"
        "tell(executor.list())\n",
        recorder.url,
    )
    large, gpu, nothing, stale, jobs = said
    assert (large[0], large[3], "9" in large[1]) == ("InvalidJobException", "NEW", True)
    assert (gpu[0], "S³ has processors only" in gpu[1]) == ("InvalidJobException", True)
    assert (nothing[0], "executable" in nothing[1]) == ("InvalidJobException", True)
    assert (stale[0], stale[2], stale[3]) == ("SubmitException", True, "NEW")
    assert jobs == [["1"]]


@pytest.mark.thorough
def test_lost_answers_make_no_second_job_and_an_outage_loses_none(program, recorder, service):
    recorder.lose = 1
    running = program.start(
        "one = job('/bin/sleep', '2'); executor.submit(one); tell(one.native_id); tell(end(one))\n", recorder.url
    )
    assert running.stdout.readline() == '["1"]\n'
    assert recorder.count("POST", "/v1/jobs") == 2
    recorder.away = True
    service.until(lambda: service.jobs()[0]["state"] == "completed")
    time.sleep(1)
    recorder.away = False
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, '[["COMPLETED", 0]]\n'), err
    assert len(service.jobs()) == 1


class TestRequests:
    def request_of(self, **more):
        import psij

        from gas.workflows.psij import request_of

        spec = psij.JobSpec("/bin/true", **more)
        return request_of(spec)

    def test_processors_are_processes_times_their_cores(self):
        import psij

        for resources, processors in (
            ({"process_count": 6}, 6),
            ({"process_count": 6, "cpu_cores_per_process": 4}, 24),
            ({"node_count": 3, "processes_per_node": 2}, 6),
            ({}, 1),
        ):
            assert self.request_of(resources=psij.ResourceSpecV1(**resources)).processors == processors
        assert self.request_of().processors == 1

    def test_a_part_of_a_second_is_one_more(self):
        import psij

        duration = timedelta(days=2, seconds=3, microseconds=1)
        assert self.request_of(attributes=psij.JobAttributes(duration)).walltime == 2 * 86400 + 4

    def test_an_instant_is_a_whole_number(self):
        import psij

        for value in ("now", 1.5, True):
            with pytest.raises(BadInput, match=r"s3.start_by .*: write epoch seconds"):
                self.request_of(attributes=psij.JobAttributes(custom_attributes={"s3.start_by": value}))
