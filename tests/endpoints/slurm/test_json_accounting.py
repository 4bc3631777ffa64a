"""What slurmrestd tells of slurmdbd's jobs becomes what sacct prints, in the forms of each version."""

import pytest

from gas.endpoints.slurm.json_accounting import accounting_lines
from gas.errors import BadInput, Unreachable
from workloads.sacct import parse_sacct

HEADER = "JobID|User|Timelimit|ElapsedRaw|Submit|Eligible|Start|End|AllocCPUS|AllocNodes|State|JobName"
AT = 1795335773


def tres(**counts):
    return [{"type": kind, "name": None, "id": 1, "count": count} for kind, count in counts.items()]


def job(**changed):
    """Return what v0.0.38 of Slurm 22.05 answers of a job, as far as it is read; `time` and `state` change in part."""
    times = {"elapsed": 60, "eligible": AT, "end": AT + 65, "start": AT + 5, "submission": AT, "suspended": 0}
    own = {
        "allocation_nodes": 2,
        "array": {"job_id": 0, "limits": {"max": {"running": {"tasks": 0}}}, "task": None, "task_id": None},
        "association": {"account": "lab", "cluster": "ada", "partition": None, "user": "ann"},
        "cluster": "ada",
        "time": {**times, "limit": 90, **changed.pop("time", {})},
        "het": {"job_id": 0, "job_offset": None},
        "job_id": 7,
        "name": "a|b",
        "required": {"CPUs": 3, "memory": 0},
        "state": {"current": "COMPLETED", "reason": "None"},
        "tres": {"allocated": tres(cpu=8, energy=None, node=2), "requested": tres(cpu=3)},
        "user": "ann",
    }
    return own | changed


def renewed(**changed):
    """Return the same in the forms of v0.0.40 and later."""

    def number(value):
        return {"set": value is not None, "infinite": False, "number": value or 0}

    old = job(**changed)
    array, time = old["array"], old["time"]
    return old | {
        "array": array | {"task": array["task"] or "", "task_id": number(array["task_id"])},
        "het": old["het"] | {"job_offset": number(old["het"]["job_offset"])},
        "state": {"current": [old["state"]["current"]], "reason": "None"},
        "time": time | {"limit": number(time["limit"])},
    }


def answer(*jobs, **more):
    return {"meta": {}, "errors": [], "jobs": list(jobs), **more}


def line_of(one):
    header, line = accounting_lines(answer(one)).decode().splitlines()
    assert header == HEADER
    return line


FORMS = pytest.mark.parametrize("form", [job, renewed], ids=["v0.0.38", "v0.0.40"])


@FORMS
def test_a_job_is_the_line_that_sacct_prints(form):
    assert line_of(form()) == f"7|ann|01:30:00|60|{AT}|{AT}|{AT + 5}|{AT + 65}|8|2|COMPLETED|a|b"


@FORMS
def test_the_reader_of_sacct_reads_it(form):
    found = parse_sacct(accounting_lines(answer(form())))
    log = found.log()
    assert (log.wait.tolist(), log.run_time.tolist(), log.requested_time.tolist()) == ([5], [60], [5400])
    assert (found.names, log.executable.tolist()) == ({"a|b": 0}, [0])
    assert (log.allocated_processors.tolist(), found.log("nodes").allocated_processors.tolist()) == ([8], [2])
    assert found.users == {"ann": 0}


@FORMS
def test_tasks_of_arrays_and_parts_have_the_numbers_that_sacct_gives_them(form):
    array = job()["array"] | {"job_id": 3}
    assert line_of(form(array=array | {"task_id": 2})).startswith("3_2|")
    assert line_of(form(array=array | {"task_id": 0})).startswith("3_0|")
    assert line_of(form(array=array | {"task": "5-7%1"})).startswith("3_[5-7%1]|")
    assert line_of(form(het={"job_id": 4, "job_offset": 1})).startswith("4+1|")


@FORMS
def test_a_job_that_still_runs_has_no_end(form):
    line = line_of(form(time={"end": 0, "elapsed": 600}, state={"current": "RUNNING"}))
    assert line == f"7|ann|01:30:00|600|{AT}|{AT}|{AT + 5}|Unknown|8|2|RUNNING|a|b"


@FORMS
def test_a_job_that_was_cancelled_while_it_waited_had_no_nodes(form):
    cancelled = form(
        time={"start": AT + 9, "end": AT + 9, "elapsed": 0},
        allocation_nodes=0,
        tres={"allocated": [], "requested": tres(cpu=3)},
        state={"current": "CANCELLED"},
    )
    assert line_of(cancelled).endswith(f"|0|{AT}|{AT}|{AT + 9}|{AT + 9}|3|0|CANCELLED|a|b")
    waiting = form(
        job_id=8, time={"start": 0, "end": 0, "elapsed": 0}, allocation_nodes=0, state={"current": "PENDING"}
    )
    assert line_of(waiting).endswith("|Unknown|Unknown|8|0|PENDING|a|b")
    assert parse_sacct(accounting_lines(answer(cancelled, waiting))).left_out == {"not started": 2}


def test_where_the_start_is_when_a_job_became_eligible_the_end_tells_when_it_started():
    """Up to v0.0.37; the seconds for which it was suspended are not in those that it ran."""
    early = job(time={"start": AT, "end": AT + 100, "elapsed": 60, "suspended": 10})
    assert line_of(early).split("|")[6] == str(AT + 30)


@FORMS
def test_of_a_job_that_was_requeued_only_the_last_run_is_told_and_of_one_that_was_resized_each_part(form):
    again = form(time={"submission": AT + 70, "start": AT + 75, "end": AT + 135})
    lines = accounting_lines(answer(again, form(state={"current": "REQUEUED"}))).decode().splitlines()[1:]
    assert [line.split("|")[4] for line in lines] == [str(AT + 70)]
    lines = accounting_lines(answer(form(state={"current": "RESIZING"}), again)).decode().splitlines()[1:]
    assert [line.split("|")[4] for line in lines] == [str(AT), str(AT + 70)]


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (5, "00:05:00"),
        (1440, "1-00:00:00"),
        (2 * 1440 + 61, "2-01:01:00"),
        (None, "UNLIMITED"),
        (0xFFFFFFFF, "UNLIMITED"),
        ({"set": True, "infinite": True, "number": 0}, "UNLIMITED"),
    ],
)
def test_time_limits(minutes, text):
    assert line_of(job(time={"limit": minutes})).split("|")[2] == text


def test_somebody_without_an_account_is_nobody_that_is_known():
    assert line_of(job(user=None, association=None)).startswith("7||")
    assert line_of(job(user=None)).startswith("7|ann|")


def test_of_several_states_the_one_counts_that_sacct_prints():
    assert line_of(job(state={"current": ["COMPLETED", "RESIZING"]})).endswith("|RESIZING|a|b")
    assert line_of(job(state={"current": ["COMPLETED"]})).endswith("|COMPLETED|a|b")


def test_no_jobs_are_a_header_line():
    assert accounting_lines(answer()) == f"{HEADER}\n".encode()


def test_jobs_of_other_clusters_are_not_told_of():
    jobs = [job(), job(job_id=8, cluster="bob")]
    found = accounting_lines(answer(*jobs, meta={"slurm": {"cluster": "ada"}})).decode()
    assert [line.split("|")[0] for line in found.splitlines()[1:]] == ["7"]


def test_several_clusters_are_refused_where_it_is_not_told_which_is_ones_own():
    with pytest.raises(
        BadInput, match=r"several clusters \(ada, bob\) and names this one only from v0.0.40 on.* sacct"
    ):
        accounting_lines(answer(job(), job(cluster="bob")))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"jobs": 7}, "jobs of the accounting: 7 is not a list"),
        ({"jobs": "all"}, "is not a list"),
        ({}, "is not a list"),
        ({"jobs": [7]}, r"jobs\[0\] of the accounting: 7 is not an object"),
        (answer(job(time={"elapsed": "long"})), r"jobs\[0\] of the accounting \(7\), time/elapsed: .*long"),
        (answer(job(state={"current": []})), "state/current is empty"),
        (answer(job(tres={"allocated": "cpu=8"})), "tres/allocated: .* is not a list"),
        (answer({"job_id": 7}), r"jobs\[0\] of the accounting \(7\) has no key time/submission"),
    ],
)
def test_if_no_job_can_be_read_the_first_reason_is_named(wrong, told):
    with pytest.raises(Unreachable, match=told):
        accounting_lines(wrong)


def test_a_job_that_cannot_be_understood_is_left_out_and_counted():
    odd = [7, job(job_id="x|y"), job(time={"elapsed": "long"}), job(state={"current": []})]
    found = parse_sacct(accounting_lines(answer(job(), *odd, job(job_id=8))), lenient=True)
    assert len(found.log()) == 2
    assert found.remarks[0].startswith("sacct: 4 malformed lines left out: ")
