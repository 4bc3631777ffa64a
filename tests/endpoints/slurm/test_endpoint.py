"""A Slurm takes jobs, each once, whatever becomes of what is sent to it."""

from dataclasses import replace

import pytest

from documents.fields import FieldError, Fields
from gas.agent.schedulers import ArrayEndpoint
from gas.endpoints import InDoubt, JobDescription, JobEndpoint, Request
from gas.endpoints.sending import NotSent, RefusedAs
from gas.endpoints.slurm import endpoint as module
from gas.endpoints.slurm.choices import Choice
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint, narrowed
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.submission import options_from
from gas.errors import BadInput, Conflict, Forbidden, Infeasible, NotFound, Unreachable
from gas.planner import Limits
from gas.resources import Resources
from gas.slurm.accounting import Accounting, Qos
from gas.slurm.cluster import Gres, Node, Partition, Tasks

JOB = JobDescription("ocean", ("./ocean",))
AWAY = "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


@pytest.fixture
def endpoint(slurm, monkeypatch):
    monkeypatch.setattr(module, "SETTLING_SECONDS", 0.1)
    return SlurmEndpoint("fake", CommandTransport("fake", timeout=0.5, folder=str(slurm.folder)), patience=3)


def test_it_takes_jobs(endpoint):
    assert isinstance(endpoint, JobEndpoint)
    job = endpoint.submit(Request(16, 90), JOB, "key")
    assert (job["name"], job["state"], job["processors"], job["walltime"]) == ("ocean", "queued", 16, 120)
    assert (job["promise"], job["expected"], job["mine"]) == (None, None, True)
    assert endpoint.job_by_key("key") == endpoint.job(job["id"]) == job
    assert endpoint.job_by_key("another") is None
    assert endpoint.jobs(0) == [job]


TIMED_OUT = "echo 'Socket timed out on send/recv operation' >&2; exit 1"
LOST = {
    "the answer never comes": "submit; sleep 60",
    "sbatch is killed after it has submitted": "submit; kill -9 $$",
    "a timeout is reported after it has submitted": f"submit; {TIMED_OUT}",
    "the answer is no number": "submit; echo '?'; exit 0",
    "an error is reported after it has submitted": "submit; echo 'Insane message length' >&2; exit 1",
    "slurmctld is away": AWAY,
}


@pytest.mark.parametrize("what", LOST)
def test_one_submission_makes_one_job_whatever_becomes_of_the_answer(slurm, endpoint, what):
    """The faults come where a program first runs: `before` keeps the fake from submitting by itself."""
    slurm.does("sbatch", f'rm "{slurm.folder}/sbatch.does"\nbefore=none\nthen="{LOST[what]}"')
    job = endpoint.submit(Request(16, 90), JOB, "key")
    assert slurm.lines("submitted") == [str(job["id"])]
    assert not endpoint.in_doubt("key")


@pytest.mark.parametrize("how", ["kill -9 $$", TIMED_OUT, "echo '(receive failure)' >&2; exit 137"])
def test_what_is_not_known_and_not_found_is_left_to_the_next_call_with_the_key(slurm, endpoint, how):
    slurm.once("sbatch", how)
    with pytest.raises(InDoubt, match="may have arrived .key key"):
        endpoint.submit(Request(16, 90), JOB, "key")
    assert endpoint.in_doubt("key")
    assert slurm.lines("submitted") == []
    endpoint.suspect("key")
    assert endpoint.submit(Request(16, 90), JOB, "key")["id"] == 100
    assert not endpoint.in_doubt("key")


def test_what_comes_to_light_while_it_is_searched_for_is_the_job(slurm, endpoint):
    slurm.once("sbatch", "kill -9 $$")
    with pytest.raises(InDoubt):
        endpoint.submit(Request(16, 90), JOB, "key")
    slurm.does("squeue", f"echo >> {slurm.folder}/asked; [ $(wc -l < {slurm.folder}/asked) -lt 4 ] && listed=none")
    endpoint.transport.submit(endpoint.batch(Request(16, 90), JOB, "key"))  # the first request, at last
    assert endpoint.submit(Request(16, 90), JOB, "key")["id"] == 100
    assert slurm.lines("submitted") == ["100"]


def test_a_job_that_comes_to_light_after_the_search_is_the_one_that_stays(slurm, endpoint):
    """The first request stood in a queue while it was searched for, and arrives with the second."""
    slurm.once("sbatch", "kill -9 $$")
    with pytest.raises(InDoubt):
        endpoint.submit(Request(16, 90), JOB, "key")
    slurm.once("sbatch", "before=none\nthen='submit; number=101; submit'")
    told = []
    endpoint.tell = told.append
    job = endpoint.submit(Request(16, 90), JOB, "key")
    assert slurm.lines("submitted") == ["100", "101"]
    assert (job["id"], slurm.lines("cancelled")) == (100, ["101"])
    assert "job 101 is a second job with the key key, and is cancelled" in told


def test_a_job_is_noted_before_anything_else_is_asked(slurm, endpoint):
    noted = []
    endpoint.noted = noted.append
    slurm.does("squeue", f"[ -s {slurm.folder}/submitted ] && exit 1")
    job = endpoint.submit(Request(16, 90), JOB, "key")
    assert (noted, job["id"], job["processors"]) == ([100], 100, 16)


def test_two_calls_with_one_key_make_one_job(slurm, endpoint):
    first = endpoint.submit(Request(16, 90), JOB, "key")
    assert endpoint.submit(Request(4, 900), JOB, "key") == first
    assert slurm.lines("submitted") == ["100"]


def given(*words):
    return options_from(words, "here")


def test_options_that_are_not_planned_with_are_named_when_planning_and_before_submitting(slurm):
    transport = CommandTransport("fake", folder=str(slurm.folder))
    endpoint = SlurmEndpoint("fake", transport, options=given("--switches=1", "--account=abc"))
    endpoint.availability()
    assert "--switches: ignored, so jobs may start later than shown" in endpoint.remarks
    told = []
    endpoint.tell = told.append
    endpoint.submit(Request(1, 60), JobDescription("x", ("true",), native=("--tmp=4G", "--comment=x")))
    assert told == ["--switches, --tmp: ignored, so jobs may start later than shown"]


def test_somebody_elses_job_is_not_reshaped(slurm, endpoint, monkeypatch):
    made = endpoint.submit(Request(16, 90), JOB)["id"]
    monkeypatch.setattr(endpoint.transport, "user", "somebody")
    with pytest.raises(Forbidden, match="only its owner may change it"):
        endpoint.reshape(made, 4, 60)


@pytest.mark.thorough
def test_while_the_search_fails_nothing_is_sent_again(slurm, endpoint):
    slurm.does("sbatch", "touch sent; kill -9 $$".replace("sent", f"{slurm.folder}/sent"))
    slurm.does("squeue", f"[ -e {slurm.folder}/sent ] && exit 1")
    with pytest.raises(InDoubt, match="key k1"):
        endpoint.submit(Request(16, 90), JOB, "k1")
    assert endpoint.in_doubt("k1")
    assert sum(line.startswith("sbatch") for line in slurm.lines("calls")) == 1


def test_a_slurmctld_that_stays_away_has_got_nothing(slurm, endpoint):
    slurm.does("sbatch", AWAY)
    with pytest.raises(Unreachable, match="nothing was submitted") as raised:
        endpoint.submit(Request(16, 90), JOB, "key")
    assert not isinstance(raised.value, InDoubt)
    assert not endpoint.in_doubt("key")
    assert sum(line.startswith("sbatch") for line in slurm.lines("calls")) > 2  # it was tried again


def test_a_refusal_is_told_and_leaves_no_doubt(slurm, endpoint):
    slurm.does("sbatch", "echo 'sbatch: error: invalid partition specified: nope' >&2; exit 1")
    with pytest.raises(BadInput, match="invalid partition specified: nope"):
        endpoint.submit(Request(16, 90), JOB, "key")
    assert not endpoint.in_doubt("key")


def test_a_job_that_comes_with_an_error_is_cancelled(slurm, endpoint, monkeypatch):
    def submit(batch):
        raise RefusedAs("error 2015: more than there is", made)

    made = endpoint.submit(Request(1, 60), JOB, "first")["id"]
    monkeypatch.setattr(endpoint.transport, "submit", submit)
    with pytest.raises(BadInput, match=f"more than there is; it created job {made} nevertheless, which was cancelled"):
        endpoint.submit(Request(16, 90), JOB, "key")
    assert slurm.lines("cancelled") == [str(made)]


def test_a_job_that_comes_with_an_error_and_cannot_be_cancelled_is_in_doubt_and_not_sent_again(endpoint, monkeypatch):
    sent = []

    def submit(batch):
        sent.append(batch)
        raise RefusedAs("error 2015: more than there is", 100)

    def cancel(id):
        raise NotSent("slurmctld is away")

    monkeypatch.setattr(endpoint.transport, "submit", submit)
    monkeypatch.setattr(endpoint.transport, "cancel", cancel)
    with pytest.raises(InDoubt, match="it created job 100 nevertheless, which could not be cancelled"):
        endpoint.submit(Request(16, 90), JOB, "key")
    assert len(sent) == 1
    assert endpoint.in_doubt("key")


def searches(slurm):
    """Return how often the user's jobs were searched before anything was sent."""
    calls = slurm.lines("calls")
    first = next(place for place, line in enumerate(calls) if line.startswith("sbatch"))
    return sum(" -t all -u " in line for line in calls[:first])


def test_a_key_is_searched_for_once_and_one_of_gas_s_own_not_at_all(slurm, endpoint, gas, tmp_path):
    config, app = tmp_path / "gas.toml", tmp_path / "app.toml"
    config.write_text(f'[endpoints.fake]\ntype = "slurm"\nfolder = "{slurm.folder}"\n')
    app.write_text('name = "ocean"\n[speedup]\nmodel = "table"\ntimes = { 2 = 600 }\n')
    words = ("submit", str(app), "--config", str(config), "--stale-ok", "--json")
    for key, expected in (("--key=mine", 1), (None, 0)):
        (slurm.folder / "calls").write_text("")
        found = gas(*words, *([] if key is None else [key]), "--", "./ocean")
        assert found.code == 0, found.err
        assert searches(slurm) == expected
    again = gas(*words, "--key=mine", "--", "./ocean")
    assert (again.json["already"], len(slurm.lines("submitted"))) == (True, 2)
    other = gas(*words, "--key=mine", "--name=lake", "--", "./ocean")
    assert (other.code, "--key mine: belongs to job 100 (ocean) on fake" in other.err) == (1, True), other.err
    assert len(slurm.lines("submitted")) == 2


def test_that_a_key_is_unused_is_good_for_one_submission(slurm, endpoint):
    endpoint.unused("key")
    first = endpoint.submit(Request(16, 90), JOB, "key")
    assert searches(slurm) == 0
    assert endpoint.submit(Request(16, 90), JOB, "key") == first
    assert slurm.lines("submitted") == ["100"]


def test_a_job_that_slurm_has_forgotten_is_not_found(slurm, endpoint):
    slurm.does("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    with pytest.raises(NotFound, match="there is no job 7; some minutes after a job has ended"):
        endpoint.job(7)


def test_reservations_are_not_a_users(endpoint):
    with pytest.raises(BadInput, match="only administrators can create reservations"):
        endpoint.reserve("x", 4, 0, 60)


def test_a_partitions_limits_narrow_those_of_the_configuration(cluster):
    partition = Partition("main", tuple(node.name for node in cluster.nodes), longest=3600, most_nodes=4)
    assert narrowed(Limits(), [partition], Options("nodes"), cluster) == Limits(4, 3600)
    assert narrowed(Limits(2, 600, 1.5), [partition], Options("nodes"), cluster) == Limits(2, 600, 1.5)
    assert narrowed(Limits(100, 7200), [partition], Options(), cluster) == Limits(32, 3600)  # of nodes of 8
    assert narrowed(Limits(), [partition], Options("tasks", cpus_per_task=3), cluster) == Limits(8, 3600)
    wide = Partition("wide", partition.nodes, longest=7200)
    assert narrowed(Limits(), [partition, wide], Options(), cluster) == Limits(None, 7200)


SCRIPT = Script.of(
    "#!/bin/sh\n#SBATCH -J ocean -c 2 -n 8 -p main --mem=2G\n#SBATCH --tmp=1G -t 90\n./ocean\n", "job.sh"
)  # fmt: skip


def test_a_script_is_planned_and_submitted_with_its_own_options(slurm):
    endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)), unit="nodes")
    asking = endpoint.requesting(script=SCRIPT, native=("--account=sea",))
    assert (asking.unit, asking.partition, endpoint.script) == ("tasks", "main", None)
    asked = asking.job_options()
    assert (asked.cpus_per_task, asked.memory_per_node, asked.account, asked.whole) == (2, 2048, "sea", False)
    batch = asking.batch(Request(16, 600), JobDescription("ocean"), "key")
    assert (batch.script, batch.shape.tasks, batch.options) == (
        SCRIPT.text,
        16,
        {"partition": "main", "account": "sea"},
    )
    shown = asking.preview(Request(16, 600), JobDescription("ocean"))
    assert shown.endswith(" --time=10 --ntasks=16 --partition=main --account=sea job.sh\n")


def test_a_partition_that_the_script_does_not_name_is_none_for_it(slurm):
    transport = CommandTransport("fake", folder=str(slurm.folder))
    with pytest.raises(Infeasible, match="fake: is partition debug, but job.sh names main"):
        SlurmEndpoint("fake", transport, partition="debug").requesting(script=SCRIPT)


def test_several_partitions_that_a_script_names_are_all_submitted_to(slurm):
    transport = CommandTransport("fake", folder=str(slurm.folder))
    script = Script.of("#!/bin/sh\n#SBATCH -p main,debug\n", "job.sh")
    asking = SlurmEndpoint("fake", transport, partition="debug").requesting(script=script)
    assert (asking.partition, asking.address) == ("main,debug", f"{transport.address}#main,debug")
    assert asking.options() == {"partition": "main,debug"}
    assert asking.availability().processors == 120


def test_the_options_of_a_script_that_is_run_as_a_command_count_but_for_its_size(slurm):
    endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)))
    asking = endpoint.requesting(command=SCRIPT, native=("--mem=4G",))
    batch = asking.batch(Request(16, 600), JobDescription("ocean", ("./job.sh",)), "key")
    assert batch.options == {"cpus-per-task": "2", "partition": "main", "mem": "4G", "tmp": "1G"}
    elsewhere = SlurmEndpoint("fake", endpoint.transport, partition="debug").requesting(command=SCRIPT)
    assert (elsewhere.partition, elsewhere.options()["partition"]) == ("debug", "debug")
    assert (batch.shape.tasks, asking.unit) == (8, "cpus")


def test_variables_that_are_left_to_sbatch_are_planned_with(slurm, monkeypatch):
    monkeypatch.setenv("SBATCH_QOS", "long")
    endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)))
    assert endpoint.job_options().qos == "long"
    assert endpoint.requesting(native=("--qos=short",)).job_options().qos == "short"
    monkeypatch.setenv("SBATCH_GPUS", "2")
    monkeypatch.setenv("SBATCH_ARRAY_INX", "1-3")
    script = Script.of("#!/bin/sh\n#SBATCH -G 1 --qos=short\n", "job.sh")
    asked = endpoint.requesting(script=script).job_options()
    assert (asked.qos, asked.gpus[0].count, len(asked.tasks_of_array)) == ("long", 2, 3)
    with pytest.raises(BadInput, match=r"\$SBATCH_ARRAY_INX: makes job arrays"):
        endpoint.job_options()


def test_accounts_and_qos_are_endpoints_of_their_own_once_they_are_known(slurm, monkeypatch):
    endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)))
    assert endpoint.choices() == []  # it has not been asked yet
    endpoint.availability()
    monkeypatch.setattr(module, "choices", lambda *_, **__: [Choice(), Choice("sea", "high")])
    [other] = endpoint.choices()
    assert (other.name, other.configured_as) == ("fake+account=sea+qos=high", "fake")
    assert (other.job_options().account, other.options()) == ("sea", {"account": "sea", "qos": "high"})
    other.availability()
    assert other.choices() == []
    many = [Choice(qos=f"q{k}") for k in range(20)]
    monkeypatch.setattr(module, "choices", lambda *_, **__: many)
    others = endpoint.choices()
    assert len(others) == 16
    others[0].availability()
    assert "4 of 20 accounts and QOS are ignored: name one of them" in others[0].remarks


def test_a_task_of_an_array_has_the_number_of_its_job_or_of_the_array_while_it_waits(endpoint, cluster, monkeypatch):
    some = cluster.jobs[0]
    waiting = replace(some, id=7, array=7, tasks=Tasks((range(3, 6), range(8, 9)), 2))
    started = replace(some, id=9, array=7, tasks=Tasks((range(1, 2),)))
    monkeypatch.setattr(endpoint.transport, "jobs", lambda ids: [replace(some, id=6), waiting, started])
    assert isinstance(endpoint, ArrayEndpoint)
    assert [endpoint.task(7, task) for task in (1, 3, 5, 8)] == [9, 7, 7, 7]
    for array, task in ((7, 6), (7, 2), (6, 1)):
        with pytest.raises(NotFound, match=f"job {array} has no task {task}"):
            endpoint.task(array, task)


def test_gpus_that_jobs_do_not_ask_for_are_not_chosen_unasked(slurm, cluster):
    def unasked(*options, named=False, **more):
        transport = CommandTransport("fake", folder=str(slurm.folder))
        endpoint = SlurmEndpoint("fake", transport, partition="gpu", options=given(*options), **more)
        endpoint.named = named
        nodes = (Node("g0", 4, partitions=("gpu",), gres=(Gres("gpu", "", 2),)),)
        endpoint.read(replace(cluster, nodes=nodes, partitions=(Partition("gpu", ("g0",)),), jobs=()))
        return endpoint.unasked

    assert unasked() == unasked("--gres=nvme") == "all of its nodes have GPUs, but the job requests none"
    for words in ("--gpus=1", "--gres=gpu:1", "--gpus-per-node=1", "--tres-per-task=gres/gpu:1", "--cpus-per-gpu=2"):
        assert unasked(words) == ""
    assert unasked(named=True) == unasked("--gpus-per-node=1", unit="gpus") == ""
    assert unasked(unit="gpus") == "sizes are numbers of GPUs there, but the job requests none"
    assert unasked(unit="gpus", named=True) == ""


def test_where_a_configuration_counts_gpus_jobs_that_count_processors_are_told_so(slurm, cluster):
    def has_remark(asking, named=True):
        endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)), unit="gpus").requesting(
            **asking
        )
        endpoint.named = named
        nodes = tuple(replace(node, gres=(Gres("gpu", "", 2),)) for node in cluster.nodes)
        endpoint.read(replace(cluster, nodes=nodes, jobs=()))
        return any("is a number of GPUs here" in remark for remark in endpoint.remarks)

    assert has_remark({})
    assert not has_remark({"resources": Resources("gpus")})
    assert not has_remark({}, named=False)


def test_a_qos_that_takes_the_places_of_others_is_not_chosen_unasked(slurm, cluster, monkeypatch):
    endpoint = SlurmEndpoint("fake", CommandTransport("fake", folder=str(slurm.folder)))
    qos = {"urgent": Qos("urgent", preempts=("normal",)), "normal": Qos("normal")}
    made = replace(cluster, accounting=Accounting("me", qos=qos), settings=None)
    endpoint.read(made)
    monkeypatch.setattr(module, "choices", lambda *_, **__: [Choice(), Choice(qos="urgent")])
    (other,) = endpoint.choices()
    other.read(made)
    asked_for = endpoint.chosen(["qos=urgent"])
    asked_for.read(made)
    found = [one.unasked for one in (endpoint, other, asked_for)]
    assert found == ["", "its jobs preempt running jobs of QOS normal", ""]


def test_gpus_are_a_unit(slurm):
    transport = CommandTransport("fake", folder=str(slurm.folder))
    endpoint = SlurmEndpoint(
        "fake", transport, unit="gpus", options=given("--gpus-per-node=a100:4", "--mem-per-gpu=8G")
    )
    line = endpoint.line(Request(8, 60), "ocean")
    assert line == (
        "sbatch --parsable --job-name=ocean --time=1 --nodes=2-2 --gpus-per-node=a100:4 --mem-per-gpu=8G"
    )  # fmt: skip


def test_the_tasks_of_an_array_are_one_job(slurm, endpoint, monkeypatch):
    [made] = [endpoint.submit(Request(1, 60), JOB, "key")]
    listed = endpoint.transport.jobs

    def of_array(**more):
        jobs = listed(**more)
        tasks = [replace(job, id=job.id + n, array=job.id) for job in jobs for n in (0, 1, 2)]
        return tuple(replace(job, state="RUNNING" if job.id != job.array else "PENDING") for job in tasks)

    monkeypatch.setattr(endpoint.transport, "jobs", of_array)
    assert endpoint.submit(Request(1, 60), JOB, "key")["id"] == made["id"]
    assert slurm.lines("cancelled") == []


def test_a_line_for_ones_own_script_names_partition_and_unit(slurm):
    transport = CommandTransport("fake", folder=str(slurm.folder))
    endpoint = SlurmEndpoint("fake", transport, partition="gpu", unit="nodes", options=given("--account=abc"))
    line = endpoint.line(Request(2, 100), "ocean")
    assert line == ("sbatch --parsable --job-name=ocean --time=2 --nodes=2-2 --exclusive --partition=gpu --account=abc")


def test_what_would_be_submitted_is_shown_as_one_would_type_it(endpoint):
    shown = endpoint.preview(Request(16, 90), JobDescription("ocean", ("./ocean",), native=("--mem=4G",)))
    assert shown.startswith("sbatch --parsable --job-name=ocean.gas-")
    assert " --time=2 --ntasks=16 --mem=4G << 'END'\n#!/bin/sh\n" in shown
    assert shown.endswith("\nexec ./ocean\nEND\n")


def test_it_is_configured_by_a_table(tmp_path):
    (tmp_path / "slurm.conf").touch()
    table = {
        "partition": "gpu", "unit": "nodes", "account": "abc", "qos": "long", "options": ["--mem=4G"], "speed": 1.5,
        "slurm_conf": f"{tmp_path}/slurm.conf", "timeout": 3, "patience": 5, "max_processors": 4, "max_walltime": "2h",
    }  # fmt: skip
    endpoint = SlurmEndpoint.configured("mine", Fields(table, "gas.toml, [endpoints.mine]"))
    assert (endpoint.partition, endpoint.unit, endpoint.limits) == ("gpu", "nodes", Limits(4, 7200, 1.5))
    assert endpoint.address == f"slurm:{tmp_path}/slurm.conf#gpu"
    options = endpoint.batch(Request(2, 60), JOB, "key").options
    assert options == {"partition": "gpu", "mem": "4G", "account": "abc", "qos": "long"}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("unit", "sockets", '"sockets"'),
        ("options", "--mem=4G", "must be a list"),
        ("options", ["-m"], "not a long option"),
        ("partitions", "x", 'did you mean "partition"'),
        ("timeout", 0, "timeout"),
        ("slurm_conf", "/nowhere/slurm.conf", "there is no file /nowhere/slurm.conf"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_the_place(key, value, said):
    with pytest.raises((FieldError, BadInput), match=said):
        SlurmEndpoint.configured("mine", Fields({key: value}, "gas.toml"))


def test_output_is_read_from_the_end_of_its_file(endpoint, tmp_path, monkeypatch):
    job = endpoint.submit(Request(1, 60), JOB, "key")
    with pytest.raises(Conflict, match="is waiting and has no output yet"):
        endpoint.output(job["id"], "stdout", 4)
    path = tmp_path / "slurm-1.out"

    def published(ids):
        [found] = whole(ids=ids)
        return (replace(found, state="RUNNING", stdout=str(path)),)

    whole = endpoint.transport.jobs
    monkeypatch.setattr(endpoint.transport, "jobs", published)
    with pytest.raises(NotFound, match="is not on this machine .job 100 is running.; look for it on the nodes"):
        endpoint.output(job["id"], "stdout", 4)
    path.write_text("abcdefgh")
    assert endpoint.output(job["id"], "stdout", 4) == b"efgh"
    with pytest.raises(NotFound, match="does not show where"):
        endpoint.output(job["id"], "stderr", 4)
    path.unlink()
    path.mkdir()
    with pytest.raises(Forbidden, match="cannot be read"):
        endpoint.output(job["id"], "stdout", 4)
