import errno
import io
import shlex

import pytest

from gas.endpoints import S3Endpoint


def test_submit_plans_sends_and_tells_the_application_its_size(gas, tmp_path, s3):
    (tmp_path / "app.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 4 = 20, 8 = 12 }\n')
    script = "echo $GAS_PROCESSORS {processors} {walltime} $GREETING; pwd"
    result = gas(
        "submit", str(tmp_path / "app.toml"), "-e", s3.url, "--json", "--env", "GREETING=hi",
        "--directory", str(tmp_path), "--", "sh", "-c", script,
    )  # fmt: skip
    assert result.code == 0, result.err
    submission = result.json
    assert submission["schema"] == "gas.submission/1"
    assert submission["job"]["processors"] == submission["plan"]["best"]["processors"] == 8
    reference = [str(submission["job"]["id"]), "-e", s3.url]
    assert gas("wait", *reference).code == 0
    assert gas("logs", *reference).out == f"8 8 14 hi\n{tmp_path}\n"


def test_submit_runs_where_it_was_called_if_the_scheduler_is_on_this_machine(gas, lu, s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = gas("submit", lu, "-e", s3.url, "--json", "--", "pwd").json["job"]
    gas("wait", str(job["id"]), "-e", s3.url)
    assert gas("logs", str(job["id"]), "-e", s3.url).out.strip() == str(tmp_path)


def test_simulate_holds_the_processors_for_the_expected_time(gas, lu, s3):
    job = gas("submit", lu, "-e", s3.url, "--simulate", "--json").json["job"]
    assert (job["actuator"], job["processors"], job["run_time"], job["walltime"]) == ("simulated", 8, 115, 127)


def test_dry_run_sends_nothing(gas, lu, s3):
    result = gas("submit", lu, "-e", s3.url, "--dry-run", "--", "mpirun", "-n", "{processors}", "./lu")
    assert "would run mpirun -n 8 ./lu (nothing was submitted)" in result.out
    as_json = gas("submit", lu, "-e", s3.url, "--dry-run", "--json", "--", "x", "{walltime}").json
    assert as_json["command"] == ["x", "127"]
    assert s3.get("/v1/jobs?ended=9").json()["jobs"] == []


def test_a_job_that_waits_is_offered_to_be_watched_by_a_command_that_works(gas, lu, s3, tmp_path):
    at_once = gas("submit", lu, "-e", s3.url, "--simulate")
    assert "follow it: gas wait 1" in at_once.out
    assert "gas watch" not in at_once.out
    s3.simulated(10, 1000)
    waits = gas("submit", lu, "-e", s3.url, "--simulate")
    (offered,) = [line for line in waits.out.splitlines() if "gas watch" in line]
    gas_, watch, *command = shlex.split(offered.partition("finish sooner: ")[2])
    assert (gas_, watch, command) == ("gas", "watch", ["3", "-e", s3.url, lu])
    assert gas("reshape", *command, "--dry-run").code == 0  # which takes the same job and application
    rigid = tmp_path / "rigid.toml"
    rigid.write_text('[speedup]\nmodel = "table"\ntimes = { 4 = 20 }\n')
    assert "gas watch" not in gas("submit", str(rigid), "-e", s3.url, "--simulate").out


def test_a_stale_plan_is_made_again_and_then_sent(gas, lu, s3, monkeypatch):
    original = S3Endpoint.submit
    seen = []

    def crowd_first(self, request, job, key):
        if not seen:
            s3.simulated(10, 1000)  # another user takes the machine between planning and submitting
        seen.append(request)
        return original(self, request, job, key)

    monkeypatch.setattr(S3Endpoint, "submit", crowd_first)
    result = gas("submit", lu, "-e", s3.url, "--simulate", "--json")
    assert (result.code, result.json["attempts"]) == (0, 2)
    assert "went stale" in result.err
    assert result.json["job"]["promise"] >= result.json["plan"]["now"] + 990


def test_a_plan_that_is_stale_again_and_again_is_given_up_with_exit_5(gas, lu, s3, monkeypatch):
    original = S3Endpoint.submit

    def crowd(self, request, job, key):
        s3.simulated(10, 1000)
        return original(self, request, job, key)

    monkeypatch.setattr(S3Endpoint, "submit", crowd)
    result = gas("submit", lu, "-e", s3.url, "--simulate")
    assert result.code == 5
    assert "nothing was submitted" in result.err
    assert {j["name"] for j in s3.get("/v1/jobs?ended=9").json()["jobs"]} == {"job"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["submit", "LU", "-e", "URL"], "no command: write it after --"),
        (
            ["submit", "LU", "-e", "URL", "--", "./lu -n {processors}"],
            "no program is called './lu -n {processors}': give its words separately, without quotation marks",
        ),
        (["submit", "LU", "-e", "URL", "--simulate", "--", "x"], "leave one of the two out"),
        (["submit", "LU", "-e", "URL", "--env", "x", "--", "x"], "write NAME=VALUE"),
        (["submit", "LU", "--", "x"], "no scheduler given: use -e NAME or URL"),
        (["submit", "LU", "-e", "URL", "--nmae", "x", "--", "x"], "No such option"),
    ],
)
def test_bad_submissions_send_nothing(gas, lu, s3, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gas(*[{"LU": lu, "URL": s3.url}.get(a, a) for a in arguments])
    assert result.code == 2
    assert message in result.err
    assert s3.get("/v1/jobs?ended=9").json()["jobs"] == []


def test_a_list_that_takes_no_jobs_is_said_so(gas, example, paper, tmp_path):
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.disk]\ntype = "file"\npath = "{paper}"\n')
    result = gas("submit", example, "--config", str(config), "--stale-ok", "--", "x")
    assert result.code == 2
    assert "accepts no jobs" in result.err


def test_submit_waits_for_the_end_if_told_to(gas, tmp_path, s3):
    (tmp_path / "app.toml").write_text('name = "app"\n[speedup]\nmodel = "table"\ntimes = { 4 = 20 }\n')
    call = ["submit", str(tmp_path / "app.toml"), "-e", s3.url, "--wait"]
    good = gas(*call, "--", "true")
    assert good.code == 0
    assert "promised to start" in good.out
    assert ": completed with exit status 0" in good.out
    bad = gas(*call, "--json", "--", "sh", "-c", "exit 3")
    assert (bad.code, bad.json["job"]["state"], bad.json["job"]["exit_status"]) == (1, "failed", 3)
    assert "failed with exit status 3" in bad.err


class Full(io.StringIO):
    """A standard output that accepts some lines, and then no more."""

    def __init__(self, lines, error):
        super().__init__()
        self.lines, self.error = lines, error

    def write(self, text):
        if self.getvalue().count("\n") >= self.lines:
            raise self.error
        return super().write(text)


FULL, CLOSED = OSError(errno.ENOSPC, "No space left on device"), BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize("more", [(), ("--json",), ("--explain",), ("--wait",)])
@pytest.mark.parametrize("error", [FULL, CLOSED])
def test_nothing_is_submitted_if_its_number_could_not_be_said(gas, lu, s3, monkeypatch, error, more):
    monkeypatch.setattr("sys.stdout", Full(0, error))
    result = gas("submit", lu, "-e", s3.url, "--simulate", *more)
    assert (result.code, result.err) == (
        1, f"gas: standard output cannot be written ({error.strerror}); nothing was submitted\n"
    )  # fmt: skip
    assert s3.get("/v1/jobs?ended=9").json()["jobs"] == []


@pytest.mark.parametrize("error", [FULL, CLOSED])
def test_a_job_whose_number_cannot_be_said_any_more_is_named_on_standard_error(gas, lu, s3, monkeypatch, error):
    submit = ("submit", lu, "-e", s3.url, "--simulate", "--key", f"k{error.errno}")
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", Full(1, error))
        result = gas(*submit)
    (job,) = s3.get("/v1/jobs").json()["jobs"]
    assert (result.code, result.err) == (
        1,
        f"gas: standard output cannot be written ({error.strerror}); job {job['id']} was submitted to s3: "
        f"gas status {job['id']} -e {s3.url} shows it\n",
    )
    assert f"submitted already, as job {job['id']}" in gas(*submit).out
    assert len(s3.get("/v1/jobs").json()["jobs"]) == 1
