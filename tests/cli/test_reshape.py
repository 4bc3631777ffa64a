"""`gas reshape` and `gas watch`: a waiting job is changed if the gain suffices, and actions are reported."""

import json
import os
import pwd
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import made_reshaping
import pytest
from fake_slurm import FakeSlurm
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made_endpoints import Queue
from thorough import examples

from gas.agent import reshaping, watching
from gas.errors import BadInput, Conflict, Forbidden, Infeasible, Unreachable
from gas.guide.contents import pages

TIMES = {2: 240, 4: 125, 8: 68, 16: 40}
LU = f"""
name = "lu"
[speedup]
model = "table"
times = {{ {", ".join(f"{n} = {t}" for n, t in TIMES.items())} }}
"""
FOUR_FREE = ((0, 0), (60, 4), (660, 16))
ALL_FREE = ((0, 0), (60, 16))


@pytest.fixture
def app(tmp_path):
    path = tmp_path / "lu.toml"
    path.write_text(LU)
    return str(path)


@pytest.fixture
def config(tmp_path, monkeypatch):
    made_reshaping.install(tmp_path / "site", monkeypatch)
    path = tmp_path / "gas.toml"
    path.write_text('[endpoints.kth]\ntype = "molding"\n')
    return str(path)


@pytest.fixture
def story(monkeypatch):
    """Return a job of 4 processors that starts in a minute, in a queue where nothing finishes sooner."""
    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    for module in (reshaping, watching):
        monkeypatch.setattr(module, "time", story)
    return story


@pytest.fixture
def reshape(gas, config, app):
    def reshape(*options, job="7"):
        return gas("reshape", job, app, "--config", config, "--least", "5s", *options)

    return reshape


@pytest.fixture
def watch(gas, config, app):
    """Return the program and its output: lines without their instants, or with --json objects."""

    def watch(*options, job="7", code=0):
        found = gas("watch", job, app, "--config", config, "--least", "5s", "--every", "5s", *options)
        assert found.code == code, found.err
        if "--json" in options:
            return [json.loads(line) for line in found.out.splitlines()]
        lines = found.out.splitlines()
        assert all(re.match(r"2024-11-07T\d\d:\d\d:\d\dZ  job 7 ", line) for line in lines), lines
        return [line.split("  ", 1)[1] for line in lines] + ([found.err] if found.err else [])

    return watch


def starts(story, at):
    """Let the job start."""
    story.at(at, lambda: story.becomes("running", start=at))


# ------------------------------------------------------------------------------------------------ gas reshape


def test_a_job_that_has_the_best_shape_is_left_as_it_is(story, reshape):
    found = reshape()
    assert (found.code, story.asked) == (0, [])
    assert found.out == (
        "job 7 stays unchanged (nothing finishes sooner): waits for 4 processors, planned to start in 1m00s and to "
        "finish in 3m05s\n"
    )


def test_a_job_that_would_finish_sooner_is_changed(story, reshape):
    story.change(*ALL_FREE)
    found = reshape()
    assert (found.code, story.asked) == (0, [(0, 16, 44)])
    assert found.out == (
        "job 7 requests 16 processors instead of 4, walltime 44s, to start in 1m00s and to finish in 1m40s; 16 "
        "processors would finish 1m25s sooner\n"
    )


def test_a_gain_below_the_threshold_changes_nothing(story, reshape):
    """The gain is 85 s of 185 s."""
    story.change(*ALL_FREE)
    for options in (("--threshold", "50%"), ("--least", "86s")):
        found = reshape(*options)
        assert "the minimum for a change is " in found.out
    assert story.asked == []


def test_a_dry_run_changes_nothing(story, reshape):
    story.change(*ALL_FREE)
    found = reshape("--dry-run")
    assert found.out.startswith("job 7 would request 16 processors")
    found = reshape("--dry-run", "--json").json
    assert (found["changed"], found["chosen"]["processors"], found["job"]["processors"]) == (False, 16, 4)
    assert story.asked == []


def test_json_tells_what_was_done_and_why(story, reshape):
    story.change(*ALL_FREE)
    found = reshape("--json").json
    assert (found["schema"], found["changed"], found["gain"]) == ("gas.reshaping/1", True, 85)
    assert (found["current"]["processors"], found["best"]["processors"], found["job"]["processors"]) == (4, 16, 16)
    assert found["best"]["finish"] == found["current"]["finish"] - found["gain"]
    again = reshape("--json").json
    assert (again["changed"], again["chosen"], again["why"]) == (False, None, "nothing finishes sooner")


def test_a_size_of_ones_own_choice_is_given_whatever_it_gains(story, reshape):
    found = reshape("--processors", "8")
    assert (found.code, story.asked) == (0, [(0, 8, 75)])
    assert found.out.endswith("; as asked\n")


@pytest.mark.parametrize(
    ("size", "why"),
    [
        ("5", "lu cannot run on that number"),
        ("64", "lu cannot run on that number, or the machine is smaller"),
    ],
)
def test_a_size_that_is_impossible_is_refused_with_the_reason(story, reshape, size, why):
    found = reshape("-p", size)
    assert (found.code, story.asked) == (2, [])
    assert f"--processors {size}: is not possible ({why}" in found.err


def test_a_size_that_is_never_free_is_refused_with_the_reason(story, reshape):
    story.change((0, 0), (60, 4))
    assert "(never free for 44s in this list)" in reshape("-p", "16").err


def test_only_a_job_that_waits_is_changed(story, reshape):
    story.becomes("running", start=0)
    found = reshape()
    assert (found.code, story.asked) == (1, [])
    assert "running since 2024-11-07T17:20:00Z; only waiting jobs can be reshaped" in found.err
    story.becomes("completed", finished=10)
    assert "completed" in reshape().err


def test_a_job_that_starts_in_this_moment_is_told_of(story, reshape):
    story.change(*ALL_FREE)
    story.refusals[16] = Conflict("kth: job 7 is no longer waiting (running)")
    found = reshape()
    assert (found.code, found.err) == (1, "gas: kth: job 7 is no longer waiting (running)\n")


def test_a_job_that_is_held_is_left_alone_but_for_what_one_asks_for(story, reshape):
    story.record |= {"held": True, "message": "waits because of Dependency", "expected": None}
    story.frames = list(ALL_FREE)
    assert reshape().out == "job 7 stays unchanged (it waits because of Dependency): waits\n"
    assert reshape("-p", "16").out.startswith("job 7 requests 16 processors")


def test_another_shape_may_use_up_no_more_than_one_wants(story, reshape):
    """16 processors for 40 s are 0.178 processor hours, 8 for 68 s 0.151."""
    story.change(*ALL_FREE)
    reshape("--max-processor-hours", "0.16")
    assert story.asked == [(0, 8, 75)]


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [("8", 1, "there is no job 8"), ("x", 2, "is not a job"), ("kth:8", 1, "there is no job 8")],
)
def test_an_unknown_job(story, reshape, job, code, words):
    found = reshape(job=job)
    assert found.code == code
    assert words in found.err


def test_the_file_of_another_application_is_noticed(story, gas, config, tmp_path):
    (tmp_path / "other.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 3 = 10 }\n')
    found = gas("reshape", "7", str(tmp_path / "other.toml"), "--config", config)
    assert found.code == 2
    assert "the job requests 4 processors, which other does not allow" in found.err


def test_a_job_of_an_s3_is_reshaped(gas, s3, app):
    running = s3.simulated(8, 3600)
    s3.simulated(1, 3600)
    waiting = s3.simulated(4, 140, 125)
    found = gas("reshape", str(waiting["id"]), app, "-e", s3.url, "--dry-run")
    assert re.fullmatch(  # its clock continues
        r"job 3 stays unchanged \(8 processors would finish 57s sooner; the minimum for a change is 3m0[456]s\): "
        r"waits for 4 processors, planned to start in (1h00m|59m5\ds) and to finish in 1h0[12]m\n",
        found.out,
    ), found.out
    s3.delete("/v1/jobs/2")
    found = gas("reshape", str(waiting["id"]), app, "-e", s3.url)
    assert found.code == 0
    assert re.match(r"job 3 requests 2 processors instead of 4, walltime 4m24s, to start (now|in \ds) ", found.out)
    assert s3.job(3)["promise"] < running["promise"] + 10
    assert gas("status", "3", "-e", s3.url).out.startswith("job 3 (job), 2 processors, walltime 4m24s: ")
    s3.until(1, "running")
    found = gas("reshape", "1", app, "-e", s3.url)
    assert (found.code, found.err.count("only waiting jobs can be reshaped")) == (1, 1)


def test_the_examples_of_the_guide_run(gas, start_s3, tmp_path, monkeypatch):
    (tmp_path / "ocean.toml").write_text((Path(__file__).parent.parent / "examples" / "ocean.toml").read_text())
    monkeypatch.chdir(tmp_path)
    s3 = start_s3(64)
    monkeypatch.setenv("GAS_ENDPOINT", s3.url)
    s3.simulated(64, 3600)
    blocks = re.findall(r"```sh\n(.*?)```", pages()["reshape"], re.DOTALL)
    commands = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    commands = [words for words in commands if words[1] != "offer" and "--notice" not in words]
    assert [words[1] for words in commands] == ["submit", "reshape", "reshape", "reshape", "watch"]
    sizes = []
    pause = lambda _: s3.until(s3.delete("/v1/jobs/1") and 2, "failed")  # noqa: E731
    monkeypatch.setattr(watching, "time", SimpleNamespace(time=time.time, monotonic=time.monotonic, sleep=pause))
    for _, *words in commands:
        found = gas(*words)
        assert found.code == (1 if words[0] == "watch" else 0), found.err  # there is no ./ocean here
        sizes.append(s3.job(2)["processors"])
    assert sizes[:4] == [64, 64, 64, 4]
    assert "now requests 64 processors instead of 4" in found.out


@pytest.mark.parametrize("command", ["reshape", "watch"])
def test_a_scheduler_that_shapes_its_jobs_itself_says_so(gas, app, command, monkeypatch):
    class Moldable(Queue):
        def __init__(self):
            pass

        name = "oar"

        def why_unchanged(self, id):
            return f"oar: OAR itself watches job {id}"

    monkeypatch.setattr("gas.cli.reshape.job_of", lambda *_: (Moldable(), 7))
    found = gas(command, "oar:7", app)
    assert (found.code, found.out) == (2, "")
    assert found.err == "gas: oar: OAR itself watches job 7\n"


# ------------------------------------------------------------------------------------------------ gas watch


def test_a_watched_job_is_changed_when_its_queue_does(story, watch):
    story.at(20, lambda: story.change(*ALL_FREE))
    starts(story, 62)
    lines = watch()
    assert story.asked == [(20, 16, 44)]
    assert lines == [
        "job 7 waits for 4 processors, planned to start in 1m00s and to finish in 3m05s; unchanged: nothing "
        "finishes sooner",
        "job 7 now requests 16 processors instead of 4, walltime 44s, to start in 40s and to finish in 1m20s; 16 "
        "processors would finish 1m25s sooner",
        "job 7 is planned to start in 30s with 16 processors, as predicted",
        "job 7 waits for 16 processors, planned to start in 30s and to finish in 1m10s; unchanged: nothing "
        "finishes sooner",
        "job 7 (lu), 16 processors, walltime 44s: running since 2024-11-07T17:21:02Z; "
        "2024-11-07T17:21:00Z was predicted when it was changed",
    ]  # fmt: skip


def test_a_risk_is_of_predictions(watch, gas, config, app):
    found = gas("watch", "7", app, "--config", config, "--risk", "90%")
    assert (found.code, found.err) == (
        2, "gas: --risk 90%: applies to predictions; add --predict auto, or leave it out\n",
    )  # fmt: skip


def test_a_hole_is_not_believed_before_it_has_been_planned_with(story, watch):
    """A job has ended early, and the next plan gives its processors to jobs further ahead."""
    story.lag = 30
    story.at(10, lambda: story.change((0, 16)))
    story.at(39, lambda: setattr(story, "frames", list(FOUR_FREE)))
    starts(story, 60)
    watch()
    assert story.asked == []


def test_a_plan_that_never_comes_is_not_waited_for_for_ever(story, watch):
    story.lag = 10_000
    story.at(10, lambda: story.change(*ALL_FREE))
    story.at(10, lambda: story.expect(900))
    starts(story, 900)
    watch()
    assert [asked[1:] for asked in story.asked] == [(16, 44)]
    assert 300 <= story.asked[0][0] <= 330


def test_after_a_change_its_plan_is_waited_for(story, watch):
    """In the meantime nothing is decided, since the expected start is that of the previous shape."""
    story.lag = 40
    story.frames = list(ALL_FREE)
    story.at(20, lambda: setattr(story, "version", 99))
    starts(story, 70)
    events = watch("--json")
    assert [event["event"] for event in events] == ["changed", "planned", "left", "started"]
    assert [event["time"] - made_reshaping.NOW for event in events] == [0, 40, 40, 70]
    assert (events[1]["late"], events[1]["predicted"]) == (0, made_reshaping.NOW + 60)


def test_a_shape_that_disappoints_is_tried_once(story, watch):
    """Independently of the prediction, 16 processors are planned 1000 s later, and the queue changes constantly."""
    story.late = {16: 1000, 8: 1000}
    story.frames = [(0, 0), (900, 16)]
    story.replan()
    for instant in range(20, 800, 20):
        story.at(instant, story.change)
    starts(story, 900)
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16, 4]
    assert sum("now requests" in line for line in lines) == 2
    assert lines[1] == (
        "job 7 is planned to start in 31m30s with 16 processors, 16m40s later than predicted, more than the expected "
        "gain of 1m25s"
    )
    assert "now requests 4 processors instead of 16" in lines[2]
    left = [line for line in lines if "; unchanged: " in line]
    assert left == [lines[4]]
    assert "predicted to finish 1m25s sooner, but with 16 it was planned 16m40s later than predicted" in left[0]


def test_a_shape_that_has_disappointed_is_tried_again_when_it_gains_more_than_that(story, watch):
    """A short hole opens, long before another one that is long enough for 4 processors."""
    story.late = {16: 100, 8: 100}
    story.frames = [(0, 0), (900, 16)]
    story.replan()
    story.at(300, story.late.clear, lambda: story.change((0, 0), (400, 16), (450, 0), (2000, 16)))
    starts(story, 400)
    watch("--threshold", "0%")
    assert [size for _, size, _ in story.asked] == [16, 4, 16]


@pytest.mark.thorough
@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(sorted(TIMES)), st.integers(-50, 2000)),
    st.sampled_from([FOUR_FREE, ALL_FREE, ((0, 2), (2000, 8), (2500, 16))]),
    st.sampled_from([0, 7, 30]),
)
def test_however_wrong_the_predictions_are_it_comes_to_rest(watch, monkeypatch, late, frames, lag):
    """The queue changes for an hour without a change for the job."""
    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    for module in (reshaping, watching):
        monkeypatch.setattr(module, "time", story)
    story.late, story.lag = late, lag
    story.frames = [(start + 4000 if start else 0, free if start else 0) for start, free in frames]
    story.replan()
    first = story.record["expected"] + TIMES[4]
    for instant in range(50, 3600, 50):
        story.at(instant, story.change)
    starts(story, 3700)
    watch("--threshold", "0%", "--least", "0s", "--every", "20s")
    assert len(story.asked) <= 2 * len(TIMES)
    assert story.record["expected"] + TIMES[story.record["processors"]] <= first


def test_a_shape_that_is_never_planned_is_given_back(story, watch):
    def never():
        story.replan()
        if story.record["processors"] > 4:
            story.record |= {"expected": None, "message": "waits because of QOSMaxCpuPerUserLimit"}
        else:
            story.record["message"] = None

    story.frames, story.lag = list(ALL_FREE), 10_000
    for instant in range(3, 60, 3):
        story.at(instant, never)
    starts(story, 60)
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16, 8, 4]
    assert lines[1] == (
        "job 7 has no planned start with 16 processors: it waits because of QOSMaxCpuPerUserLimit (predicted in 55s)"
    )
    assert lines[2].endswith("it can never start in its present shape")


def test_where_one_shape_is_refused_another_is_asked_for(story, watch):
    story.change(*ALL_FREE)
    story.refusals[16] = BadInput("kth: too many for you")
    starts(story, 60)
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16, 8]
    assert lines[0] == "job 7 could not be changed to 16 processors: kth: too many for you"


def test_where_every_shape_is_refused_it_gives_up(story, watch, monkeypatch):
    monkeypatch.setattr(watching, "MOST_REFUSED", 2)
    story.record |= {"processors": 2, "walltime": 300}
    story.change(*ALL_FREE)
    story.refusals = dict.fromkeys(TIMES, BadInput("kth: is an array"))
    starts(story, 60)
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16, 8]
    assert lines[1].endswith("is an array; no further change is requested")


def test_a_watched_job_that_starts_in_the_moment_of_its_change_goes_on_as_it_is(story, watch):
    class Moment(dict):
        def __contains__(self, size):
            story.becomes("running", start=20)
            return False

    story.at(20, lambda: story.change(*ALL_FREE), lambda: setattr(story, "refusals", Moment()))
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16]
    assert lines[1:] == [
        "job 7 could not be changed to 16 processors: kth: job 7 is no longer waiting (running)",
        "job 7 (lu), 4 processors, walltime 3m00s: running since 2024-11-07T17:20:20Z",
    ]


def test_a_job_of_somebody_else_ends_the_watch(story, watch):
    story.change(*ALL_FREE)
    story.refusals[16] = Forbidden("kth: permission denied")
    assert watch(code=1) == ["gas: kth: permission denied\n"]


def test_a_scheduler_that_is_away_for_a_while_is_asked_again(story, watch):
    story.at(10, lambda: story.fails(Unreachable("kth: is away")))
    story.at(300, lambda: story.fails(None), lambda: story.change(*ALL_FREE))
    story.at(300, lambda: story.expect(400))
    starts(story, 400)
    *_, last, err = watch()
    assert "running" in last
    assert err == "gas: kth: is away; looking again\n"
    assert [size for _, size, _ in story.asked] == [16]


def test_a_scheduler_that_stays_away_is_given_up(story, watch):
    story.at(10, lambda: story.fails(Unreachable("kth: is away")))
    watch(code=4)
    assert 600 <= story.clock <= 620


def test_a_scheduler_that_is_away_from_the_first_is_not_waited_for(story, watch):
    story.fails(Unreachable("kth: is away"))
    assert watch(code=4) == ["gas: kth: is away\n"]
    assert story.clock == 0


def test_a_partition_that_starts_nothing_for_hours_is_waited_for(story, watch):
    story.at(10, lambda: story.fails(Infeasible("kth: is down")))
    story.at(20_000, lambda: story.fails(None))
    starts(story, 20_000)
    assert watch()[-1] == "gas: kth: is down; looking again\n"


def test_a_change_that_gets_no_answer_is_asked_for_again_but_not_for_ever(story, watch):
    story.change(*ALL_FREE)
    story.refusals[16] = Unreachable("kth: no answer")
    starts(story, 60)
    lines = watch()
    assert [size for _, size, _ in story.asked] == [16, 16, 16, 8]
    assert lines[0] == "job 7 could not be changed to 16 processors: kth: no answer"
    assert lines[-1].count("no answer") == 1


def test_a_dry_watch_says_once_what_it_would_do(story, watch):
    story.frames = list(ALL_FREE)
    for instant in (10, 20, 30):
        story.at(instant, story.change)
    starts(story, 60)
    lines = watch("--dry-run")
    assert story.asked == []
    assert len(lines) == 2
    assert lines[0].startswith("job 7 would request 16 processors")


def test_what_has_not_changed_for_the_job_is_not_said_again(story, watch):
    for instant in range(5, 60, 5):
        story.at(instant, story.change)
    starts(story, 60)
    assert len(watch()) == 2


def test_a_job_that_is_held_is_watched_until_it_is_not(story, watch):
    held = {"held": True, "message": "waits because of JobHeldUser", "expected": None}
    story.frames = list(ALL_FREE)
    story.record |= held
    story.at(30, lambda: story.record.update(held=False, message=None), story.change)
    starts(story, 60)
    lines = watch()
    assert lines[0] == "job 7 waits; unchanged: it waits because of JobHeldUser"
    assert story.asked == [(30, 16, 44)]


def test_a_job_that_has_ended_is_told_of(story, watch):
    story.becomes("completed", start=0, finished=10, exit_status=0)
    [line] = watch()
    assert "completed with exit status 0" in line


def test_a_job_that_is_cancelled_while_it_waits_is_a_failure(story, watch):
    story.at(30, lambda: story.becomes("cancelled", finished=30))
    *lines, err = watch(code=1)
    assert "cancelled" in lines[-1]
    assert "cancelled" in err


def test_a_watch_may_go_on_until_the_end(story, watch):
    starts(story, 60)
    story.at(200, lambda: story.becomes("completed", finished=200, exit_status=0))
    events = watch("--wait", "--json")
    assert [event["event"] for event in events] == ["left", "started", "ended"]
    assert {event["schema"] for event in events} == {"gas.watch/1"}


def test_an_interruption_leaves_the_job_as_it_is(story, gas, config, app):
    def interrupt():
        raise KeyboardInterrupt

    story.at(20, interrupt)
    found = gas("watch", "7", app, "--config", config)
    assert (found.code, found.err, story.asked) == (130, "gas: interrupted\n", [])


@pytest.mark.parametrize("options", [("--every", "0s"), ("--threshold", "x"), ("--least", "5")])
def test_options_are_looked_at_before_anybody_is_asked(story, gas, config, app, options):
    story.fails(Unreachable("is asked"))
    found = gas("watch", "7", app, "--config", config, *options)
    assert found.code == 2
    assert options[0] in found.err


# ------------------------------------------------------------------------------------------------ Slurm's commands


@pytest.fixture
def slurm(tmp_path):
    slurm = FakeSlurm(tmp_path / "bin", pwd.getpwuid(os.getuid()).pw_name)
    (tmp_path / "slurm.toml").write_text(
        f'[endpoints.fake]\ntype = "slurm"\nfolder = "{slurm.folder}"\ntimeout = 20\npatience = 3\n'
    )
    return slurm


@pytest.fixture
def job(slurm, gas, app, tmp_path):
    """Return the number of a waiting job; the recorded cluster has 15 nodes of 8 CPUs."""
    (tmp_path / "small.toml").write_text('name = "lu"\n[speedup]\nmodel = "table"\ntimes = { 2 = 240 }\n')
    words = ("--config", str(tmp_path / "slurm.toml"), "--stale-ok", "--json", "--", "./lu")
    return str(gas("submit", str(tmp_path / "small.toml"), *words).json["job"]["id"])


def test_slurm_is_told_to_change_a_job_and_asked_whether_it_has(slurm, job, gas, app, tmp_path):
    found = gas("reshape", job, app, "--stale-ok", "--config", str(tmp_path / "slurm.toml"), "--json")
    assert found.code == 0, found.err
    assert (found.json["changed"], found.json["job"]["processors"], found.json["job"]["walltime"]) == (True, 16, 60)
    assert any(line.startswith(f"scontrol update jobid={job} NumCPUs=16 NumTasks=16") for line in slurm.lines("calls"))


def test_by_a_plan_that_is_not_of_the_present_nothing_is_changed_unless_that_is_meant(slurm, job, gas, app, tmp_path):
    found = gas("reshape", job, app, "--config", str(tmp_path / "slurm.toml"))
    assert (found.code, found.out) == (4, "")
    assert "this machine's clock, so its plans are old or the clocks differ" in found.err
    assert not any(line.startswith("scontrol update") for line in slurm.lines("calls"))


def test_a_job_that_slurm_starts_in_this_moment_keeps_its_shape(slurm, job, gas, app, tmp_path):
    """The message is Slurm's own, for a change of the number of nodes of a running job."""
    slurm.updates(f'sed -i "s/PENDING/RUNNING/" {slurm.folder}/jobs; '
                  'echo "Requested operation not supported on this system for job 1" >&2; exit 1')  # fmt: skip
    found = gas("reshape", job, app, "--stale-ok", "--config", str(tmp_path / "slurm.toml"))
    assert found.code == 1
    assert f"job {job} is no longer waiting (running)" in found.err


def test_a_change_that_slurm_takes_and_does_not_make_is_noticed(slurm, job, gas, app, tmp_path):
    slurm.updates("exit 0")
    found = gas("reshape", job, app, "--stale-ok", "--config", str(tmp_path / "slurm.toml"))
    assert found.code == 1
    assert f"job {job} should now request 16 cpus for 1 minutes, but requests 2 for 5" in found.err


def test_a_change_whose_answer_got_lost_was_made_all_the_same(slurm, job, gas, app, tmp_path):
    slurm.updates('change; echo "Socket timed out on send/recv operation" >&2; exit 1')
    found = gas("reshape", job, app, "--stale-ok", "--config", str(tmp_path / "slurm.toml"), "--json")
    assert found.code == 0, found.err
    assert found.json["job"]["processors"] == 16


@pytest.mark.thorough
def test_a_watch_of_slurm_outlives_an_outage_and_ends_with_an_interruption(slurm, job, app, tmp_path):
    line = [
        sys.executable,
        "-m",
        "gas",
        "watch",
        job,
        app,
        "--stale-ok",
        "--config",
        str(tmp_path / "slurm.toml"),
        "--every",
        "1s",
    ]
    with subprocess.Popen([*line, "--dry-run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        try:
            assert "would request 16 processors" in watching.stdout.readline()
            slurm.does("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1")
            assert "looking again" in watching.stderr.readline()
            slurm.does("squeue", None)
            calls = len(slurm.lines("calls"))
            deadline = time.monotonic() + 30
            while len(slurm.lines("calls")) < calls + 10 and time.monotonic() < deadline:
                time.sleep(0.05)
            watching.send_signal(signal.SIGINT)
            assert watching.wait(20) == 130
            assert watching.stderr.read() == "gas: interrupted\n"
        finally:
            watching.kill()
    assert not any("scontrol update" in call for call in slurm.lines("calls"))
