"""Slurm by slurmrestd: what is asked, and what becomes of each answer there may be."""

import json
import socket
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_answers import recorded, renewed
from slurm_rest import CUT, JOB, JOB_7, SECRET, SILENCE, SUBMIT, Answer, error_of, refused, slurmrestd, transport
from thorough import examples

from documents.fields import FieldError, Fields
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.endpoints.slurm.json_answers import read_cluster
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, OverLimit, Unauthorized, Unreachable

SUBMITTED = {"errors": [], "job_id": 7, "step_id": "BATCH"}


# -------------------------------------------------------------------------------------------------------- reading


def test_it_reads_what_is_published(server):
    assert transport(server).cluster("x") == read_cluster(recorded("v0.0.38"), name="x")


@pytest.mark.parametrize("version", ["v0.0.36", "v0.0.37"])
def test_early_versions_are_read(server, version):
    server.publishes(version, recorded(version))
    assert transport(server).cluster("x") == read_cluster(recorded(version), name="x")


def test_late_versions_are_read(server):
    answers = renewed(recorded("v0.0.38"), {5: "n[07-15]"})
    server.publishes("v0.0.43", answers)
    assert transport(server).cluster("x") == read_cluster(answers, name="x")


def test_a_named_slurm_conf_completes_a_published_configuration(server, tmp_path):
    """Slurm 26.05 publishes its configuration, but not PreemptMode of partitions."""
    answers = renewed(recorded("v0.0.38"), {5: "n[07-15]"})
    server.publishes("v0.0.43", answers | {"conf": json.dumps({"slurm_conf": {"PreemptMode": "REQUEUE"}})})
    paths = {f"/slurm/v0.0.43/{endpoint}": {} for endpoint in ("jobs", "conf")}
    server.answers["GET", "/openapi/v3"] = Answer({"openapi": "3.0.2", "paths": paths})
    plain, with_file = transport(server), transport(server)
    with_file.conf = tmp_path / "slurm.conf"
    with_file.conf.write_text("PartitionName=debug Nodes=n[01-02] PreemptMode=OFF")
    modes = [[one.preempt_mode for one in rest.cluster("x").partitions] for rest in (plain, with_file)]
    assert modes == [["", ""], ["", "OFF"]]


def test_the_user_and_the_token_go_out_in_slurms_own_headers(server):
    transport(server).jobs()
    headers = server.headers()
    assert (headers["X-SLURM-USER-NAME"], headers["X-SLURM-USER-TOKEN"]) == ("ann", SECRET)
    assert "Authorization" not in headers


def test_jobs_of_a_user_and_of_numbers(server):
    rest = transport(server)
    jobs = {job.id: job for job in rest.jobs()}
    assert {job.id for job in rest.jobs(user="nobody-known")} == set()
    assert {job.id for job in rest.jobs(user=jobs[1].user)} == {j for j in jobs if jobs[j].user == jobs[1].user}
    assert {job.id for job in rest.jobs(ids=[1, 2, 999])} == {1, 2}


def test_a_job_of_which_it_is_not_said_whose_it_is_may_be_the_users(server):
    """v0.0.36 does not say it; one that is looked for before it is submitted again must not be overlooked."""
    server.publishes("v0.0.36", recorded("v0.0.36"))
    document = json.loads(recorded("v0.0.36")["jobs"])
    for job in document["jobs"]:
        job["user_name"] = "bob"
    document["jobs"][0]["user_name"] = ""
    server.answers["GET", "/slurm/v0.0.36/jobs"] = Answer(document)
    assert [job.id for job in transport(server).jobs(user="ann")] == [document["jobs"][0]["job_id"]]


def test_one_job_is_asked_for_alone_and_none_is_none(server):
    document = json.loads(recorded("v0.0.38")["jobs"])
    server.answers["GET", JOB_7] = Answer(document | {"jobs": [one for one in document["jobs"] if one["job_id"] == 7]})
    server.answers["GET", "/slurm/v0.0.38/job/8"] = refused("Invalid job id specified")
    rest = transport(server)
    assert [job.id for job in rest.jobs(ids=[7])] == [7]
    assert rest.jobs(ids=[8]) == ()
    assert "/slurm/v0.0.38/jobs" not in [path for path, _ in server.asked("GET")]


def test_how_long_ended_jobs_are_remembered_is_not_published(server):
    assert transport(server).retention() is None


ACCOUNTED = "/slurmdb/v0.0.38/jobs?start_time=now-90days&partition=main&skip_steps=true"
NONE_FOUND = {"description": "Nothing found", "error_number": 9003, "error": "Nothing found with query"}
HEADER = b"JobID|User|Timelimit|ElapsedRaw|Submit|Eligible|Start|End|AllocCPUS|AllocNodes|State|JobName\n"


def test_the_accounting_of_a_partition_is_told_as_sacct_tells_it(server):
    times = {"elapsed": 1, "end": 1795335776, "start": 1795335775, "submission": 1795335773, "limit": 5}
    times["eligible"] = 1795335774
    job = {"job_id": 4, "user": "ann", "time": times, "allocation_nodes": 1, "state": {"current": "COMPLETED"}}
    job["tres"] = {"allocated": [{"type": "cpu", "count": 3}]}
    server.answers["GET", ACCOUNTED] = Answer({"errors": [], "jobs": [job]})
    line = b"4|ann|00:05:00|1|1795335773|1795335774|1795335775|1795335776|3|1|COMPLETED|\n"
    assert transport(server).accounting("main", 90) == HEADER + line
    del job["time"]
    server.answers["GET", ACCOUNTED] = Answer({"errors": [], "jobs": [job]})
    error = error_of(lambda: transport(server).accounting("main", 90))
    assert isinstance(error, Unreachable)
    assert f"{server.url}: jobs[0] of the accounting (4) has no key time/submission" in str(error)


def test_the_accounting_of_a_partition_without_jobs_is_empty_though_slurm_calls_that_an_error(server):
    server.answers["GET", ACCOUNTED] = Answer({"errors": [NONE_FOUND], "jobs": []})
    assert transport(server).accounting("main", 90) == HEADER


def test_an_accounting_with_names_that_are_no_utf_8_is_read(server):
    server.answers["GET", ACCOUNTED] = Answer(b'{"jobs": [], "warnings": ["caf\xe9 \x01"]}')
    assert transport(server).accounting("main", 90) == HEADER


def ended(cluster):
    times = {"start": 5, "end": 9, "elapsed": 4, "submission": 1, "limit": 10}
    return {"cluster": cluster, "job_id": 7, "allocation_nodes": 1, "state": {"current": "COMPLETED"}, "time": times}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer("Unable find requested URL.", 404, "text/plain"), "offers no /slurmdb/v0.0.38/jobs: there is no slurm"),
        (
            Answer({"errors": [{"description": "Failed connecting to slurmdbd", "error": "Unable to connect"}]}),
            "Failed connecting to slurmdbd: Unable to connect)",
        ),
        (refused("Protocol authentication error"), "error; does slurmdbd.conf have AuthAltTypes=auth/jwt?)"),
        (Answer({"jobs": [ended("ada"), ended("bob")]}), "the jobs of several clusters (ada, bob) and"),
    ],
)
def test_an_accounting_that_cannot_be_asked_says_why(server, answer, told):
    server.answers["GET", ACCOUNTED] = answer
    error = error_of(lambda: transport(server).accounting("main", 90))
    assert isinstance(error, BadInput)
    assert str(error).startswith("deep: its accounting is not available (slurmrestd")
    assert told in str(error)


def test_an_accounting_that_does_not_answer_or_not_in_json(server):
    server.answers["GET", ACCOUNTED] = SILENCE
    assert "did not answer within 0.2 s" in str(error_of(lambda: transport(server, timeout=0.2).accounting("main", 90)))
    server.answers["GET", ACCOUNTED] = Answer("<html>", 502, "text/html")
    error = error_of(lambda: transport(server).accounting("main", 90))
    assert isinstance(error, Unreachable)
    assert "is it slurmrestd?" in str(error)
    server.answers["GET", ACCOUNTED] = Answer("Authentication failure", 401, "text/plain")
    assert isinstance(error_of(lambda: transport(server).accounting("main", 90)), Unauthorized)


# ------------------------------------------------------------------------------------------------------- versions


# --------------------------------------------------------------------------------------------------------- acting


def test_a_batch_job_is_submitted_and_its_number_returned(server):
    server.answers["POST", SUBMIT] = Answer(SUBMITTED)
    assert transport(server).submit(JOB) == 7
    ((path, body),) = server.asked("POST")
    assert path == SUBMIT
    assert body["script"] == JOB.script
    assert body["job"]["account"] == "sea"


@pytest.mark.parametrize(
    "answer",
    [
        {"job_id": {"set": True, "infinite": False, "number": 7}},
        {"job_id": "7"},
        {"result": {"job_id": 7}, "errors": []},
        {"errors": None, "job_id": 7, "warnings": [{"description": "something"}]},
        {"errors": [{"error_code": 2042, "error": "Job is in held state, pending scheduler release"}], "job_id": 7},
    ],
)
def test_the_number_in_each_form(server, answer):
    server.answers["POST", SUBMIT] = Answer(answer)
    assert transport(server).submit(JOB) == 7


def test_an_error_that_comes_together_with_a_job_names_it(server):
    words = "Requested partition configuration not available now"
    server.answers["POST", SUBMIT] = Answer({"errors": [{"error_code": 2015, "error": words}], "job_id": 4})
    error = error_of(lambda: transport(server).submit(JOB))
    assert isinstance(error, RefusedAs)
    assert error.id == 4
    assert words in str(error)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Invalid partition name specified", BadInput),
        ("Access/permission denied", Forbidden),
        ("Invalid account or account/partition combination specified", Forbidden),
        ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", OverLimit),
        ("Unable to contact slurm controller (connect failure)", NotSent),
        ("Socket timed out on send/recv operation", Unclear),
        ("Protocol authentication error", Unauthorized),
    ],
)
def test_what_slurm_says_to_a_submission_is_shown_and_its_kind_told(server, words, kind):
    server.answers["POST", SUBMIT] = refused(words)
    error = error_of(lambda: transport(server).submit(JOB))
    assert type(error) is kind
    assert words in str(error)
    assert f"deep: {server.url}" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        CUT,
        SILENCE,
        Answer("<html><h1>Bad Gateway</h1>", 502, "text/html"),
        Answer('{"job_id": 7, "err'),
        Answer('{"job_id": 7}', missing=100),
        Answer("<html>Log in first</html>", 200, "text/html"),
        Answer("{}"),
        Answer({"job_id": None}),
        Answer({"job_id": 0}),
        Answer("[]"),
        Answer("", 500),
    ],
    ids=["cut", "silence", "gateway", "half", "short", "page", "empty", "null", "zero", "list", "nothing"],
)
def test_a_submission_without_a_definite_answer_is_unclear(server, answer):
    server.answers["POST", SUBMIT] = answer
    error = error_of(lambda: transport(server, timeout=0.5).submit(JOB))
    assert type(error) is Unclear
    assert server.url in str(error)
    assert len(server.asked("POST")) == 1


def test_a_submission_that_found_nobody_was_not_sent():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        rest = RestTransport("deep", url, user="ann", tokens=Tokens(url, environment={}), version="v0.0.38")
        error = error_of(lambda: rest.submit(JOB))
    assert type(error) is NotSent
    assert str(error) == f"deep: {url} cannot be reached (Connection refused)"


def test_an_option_that_slurmrestd_does_not_take_is_refused_before_anything_is_sent(server):
    job = Batch("x", "#!/bin/sh\n", Shape(1, None, 1), {"licences": "x"})
    assert "--licences" in str(error_of(lambda: transport(server).submit(job)))
    assert not server.asked("POST")


def test_cancelling(server):
    server.answers["DELETE", JOB_7] = Answer({"errors": []})
    server.answers["DELETE", "/slurm/v0.0.38/job/8"] = refused("Job/step already completing or completed")
    server.answers["DELETE", "/slurm/v0.0.38/job/9"] = refused("Invalid job id specified")
    rest = transport(server)
    rest.cancel(7)
    rest.cancel(8)
    assert type(error_of(lambda: rest.cancel(9))) is NotFound


def test_new_versions_tell_of_each_job_what_went_wrong_with_it(server):
    server.offers("v0.0.43")
    told = {"error": {"code": 2017, "string": "Invalid job id specified", "message": ""}, "job_id": {"number": 7}}
    server.answers["DELETE", "/slurm/v0.0.43/job/7"] = Answer({"errors": [], "status": [told]})
    told = {"error": "Job is no longer pending execution", "error_code": 2073, "why": "it runs", "job_id": 7}
    server.answers["POST", "/slurm/v0.0.43/job/7"] = Answer({"errors": [], "results": [told]})
    assert type(error_of(lambda: transport(server).cancel(7))) is NotFound
    error = error_of(lambda: transport(server).reshape(7, Shape(4, None, 5)))
    assert type(error) is Conflict
    assert "it runs: Job is no longer pending execution" in str(error)


def test_reshaping_sends_all_counts_and_the_limit(server):
    server.answers["POST", JOB_7] = Answer({"errors": []})
    transport(server).reshape(7, Shape(4, None, 5))
    assert server.asked("POST") == [(JOB_7, {"tasks": 4, "cpus_per_task": 1, "time_limit": 5})]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Job is no longer pending execution", Conflict),
        ("Job has already finished", Conflict),
        ("Invalid job id specified", NotFound),
        ("Invalid user id", Forbidden),
        ("Requested time limit is invalid (missing or exceeds some limit)", BadInput),
    ],
)
def test_a_job_that_cannot_be_reshaped(server, words, kind):
    server.answers["POST", JOB_7] = refused(words)
    assert type(error_of(lambda: transport(server).reshape(7, Shape(4, None, 5)))) is kind


def test_slurm_23_02_wants_the_new_shape_of_a_job_in_a_table(server):
    server.offers("v0.0.39")
    path = "/slurm/v0.0.39/job/7"
    server.answers["POST", path] = refused('Specifing either "job" or "jobs" fields are required to job submission')
    error_of(lambda: transport(server).reshape(7, Shape(4, None, 5)))
    (_, first), (_, second) = server.asked("POST")
    assert second == {"job": first}


# ------------------------------------------------------------------------------------------------- who is it, faults


def test_all_that_says_how_things_stand_shares_the_time_for_it(server):
    server.answers["GET", "/slurm/v0.0.38/nodes"] = SILENCE
    error = error_of(lambda: transport(server, timeout=2.5).cluster("x"))
    assert type(error) is Unreachable
    assert str(error).endswith("did not answer within 2.5 s")


@pytest.mark.thorough
def test_no_answer_however_odd_ends_in_a_traceback():
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    values = st.recursive(
        scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v), max_leaves=6
    )
    words = st.dictionaries(st.sampled_from(["error", "description", "code", "error_code", "why", "job_id"]), values)
    keys = st.sampled_from(["errors", "job_id", "result", "results", "status", "jobs", "paths"])
    documents = values | st.dictionaries(keys, values | words | st.lists(words, max_size=2))

    with slurmrestd() as server:

        @examples(150)
        @given(documents, st.sampled_from([200, 200, 204, 400, 404, 500]))
        def check(document, status):
            server.answers = {"*": Answer(document, status)}
            rest = transport(server, version="v0.0.38")
            for action in (
                lambda: rest.submit(JOB),
                lambda: rest.cancel(1),
                lambda: rest.reshape(1, JOB.shape),
                lambda: rest.jobs(ids=[1]),
                lambda: rest.cluster("x"),
                transport(server).version,
            ):
                with suppress(GasError):
                    action()

        check()


# -------------------------------------------------------------------------------------------------------- sockets


def test_over_a_unix_socket_no_header_says_who_asks(tmp_path):
    with slurmrestd(tmp_path / "s") as server:
        server.publishes("v0.0.38", recorded("v0.0.38"))
        server.answers["POST", SUBMIT] = Answer(SUBMITTED)
        tokens = Tokens(server.url, environment={"SLURM_JWT": SECRET})
        rest = RestTransport("deep", server.url, tokens=tokens)
        assert rest.cluster("x") == read_cluster(recorded("v0.0.38"), name="x")
        assert rest.submit(JOB) == 7
        assert not [name for _, _, headers, _ in server.requests for name in headers if "SLURM" in name.upper()]
        assert rest.address == f"unix:{tmp_path}/s"


def test_faults_over_a_unix_socket(tmp_path):
    with slurmrestd(tmp_path / "s") as server:
        rest = RestTransport("deep", server.url, version="v0.0.38", timeout=0.5)
        for answer in (CUT, SILENCE):
            server.answers["*"] = answer
            assert type(error_of(lambda: rest.submit(JOB))) is Unclear
    assert type(error_of(lambda: rest.submit(JOB))) is NotSent
    (tmp_path / "s").unlink()
    error = error_of(lambda: rest.submit(JOB))
    assert type(error) is NotSent
    assert str(error) == f"deep: unix:{tmp_path}/s cannot be reached (No such file or directory)"


# --------------------------------------------------------------------------------------------------- configuration


def configured(monkeypatch, **table):
    monkeypatch.setenv("SLURM_JWT", SECRET)
    fields = Fields({"url": "http://127.0.0.1:6820", **table}, "gas.toml, [endpoints.deep]")
    rest = RestTransport.configured("deep", fields)
    fields.done()
    return rest


def test_a_table_with_everything(monkeypatch, tmp_path):
    secret = tmp_path / "token"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    authority = tmp_path / "ca.pem"
    authority.touch()
    rest = configured(
        monkeypatch, url="https://deep.example:6820/", user="ann", token_file=str(secret), version="v0.0.40",
        ca_file=str(authority), insecure=False, timeout=3,
    )  # fmt: skip
    assert (rest.address, rest.user, rest.version()) == ("https://deep.example:6820", "ann", 40)


def test_what_slurmrestd_does_not_publish_may_be_stated(monkeypatch, tmp_path):
    stated = configured(monkeypatch, configuration={"SchedulerParameters": "bf_max_job_test=6"}).stated
    assert (stated.values, stated.whole) == ({"SchedulerParameters": "bf_max_job_test=6"}, False)
    conf = tmp_path / "slurm.conf"
    conf.write_text("KillWait=7")
    assert configured(monkeypatch, slurm_conf=str(conf)).conf == conf


def test_keys_of_others_are_left_to_them():
    fields = Fields({"url": "unix:/run/s", "partition": "main"}, "x")
    RestTransport.configured("deep", fields)
    with pytest.raises(FieldError, match="partition"):
        fields.done()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"url": "ftp://x"}, "url: 'ftp://x': is not the address of a service"),
        ({"url": "unix:run"}, 'url: "unix:run": is not a socket; write it like unix:/run/slurmrestd.socket'),
        ({"url": "unix:/" + "x" * 107}, "url: .*107 bytes at most"),
        ({"version": "38"}, 'version: "38" is not a version that Gas supports'),
        ({"token_command": "scontrol token"}, "token_command: must be a list of words"),
        ({"token_command": ["a"], "token_file": "/b"}, "token_command: and token_file cannot be used together"),
        ({"token_file": "/nonexistent"}, "token_file: /nonexistent: cannot be read: No such file"),
        ({"ca_file": "/nonexistent"}, "ca_file: /nonexistent: cannot be read"),
        ({"slurm_conf": "/nonexistent/slurm.conf"}, "slurm_conf: /nonexistent/slurm.conf cannot be read"),
        ({"configuration": {"KillWiat": 5}}, 'configuration: "KillWiat" is not a key of slurm.conf.*KillWait'),
        ({"configuration": "KillWait=5"}, "configuration: must be a table"),
        (
            {"configuration": {"KillWait": 5}, "slurm_conf": "/x"},
            "configuration: and slurm_conf cannot be used together",
        ),
        ({"user": "a b"}, 'user: "a b" is not the name of a user'),
        ({"timeout": 0}, "timeout: 0 must be more than 0"),
        ({"insecure": "yes"}, "insecure: 'yes' is neither true nor false"),
        ({"url": "http://deep.example:6820"}, "the token would be sent unencrypted; use https://"),
    ],
)
def test_a_table_that_cannot_be_used(monkeypatch, table, told):
    with pytest.raises((FieldError, BadInput), match=told) as caught:
        configured(monkeypatch, **table)
    assert SECRET not in str(caught.value)


def test_a_token_goes_in_the_clear_where_that_is_meant(monkeypatch):
    assert configured(monkeypatch, url="http://deep.example:6820", insecure=True).address == "http://deep.example:6820"
