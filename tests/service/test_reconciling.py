"""Jobs whose directories exist but which the store does not know: taken in, counted, or left alone."""

import json
from dataclasses import replace

import pytest

from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest, Shape
from gas.service.reconciling import directories, reconcile
from gas.service.runner import Runner
from gas.service.store import Store

NOW = 1_000_000
IDENTITY = "0123456789abcdef"
REQUEST = JobRequest(
    "job", "ocean", 4, 60, actuator="process", command=("sh", "-c", "true"), environment={"A": "1"}, user="ada", key="k"
)
KEYLESS = replace(REQUEST, key=None)


def job(id, state="queued", **more):
    made = Job(id, REQUEST, NOW - 90, state, NOW - 30, NOW - 30, NOW - 30, NOW + 30, identity=IDENTITY)
    return replace(made, **more)


class Site:
    """A store, and the directories of its jobs."""

    def __init__(self, folder):
        self.jobs = folder / "jobs"
        self.jobs.mkdir()
        self.store = Store(folder / "s3.sqlite")
        self.clock = Clock(real=lambda: float(NOW))

    def directory(self, one, *, store=None, **changed):
        """Make the directory of a job whose wrapper was started."""
        facts = one.facts(self.store.identity if store is None else store) | changed
        record = {"command": list(one.request.command), "environment": dict(one.request.environment), "facts": facts}
        folder = self.jobs / one.directory_name
        folder.mkdir()
        (folder / "job.json").write_text(json.dumps(record))
        return folder

    def reconciled(self):
        return reconcile(self.store, Runner(self.jobs, self.clock, self.store.identity), self.clock, self.jobs)


@pytest.fixture
def site(tmp_path):
    one = Site(tmp_path)
    yield one
    one.store.close()


def test_a_store_that_knows_all_directories_is_left_as_it_is(site):
    site.store.write(new=[job(1)])
    site.directory(job(1))
    epoch = site.store.epoch
    assert site.reconciled() == []
    assert site.store.epoch == epoch


def test_a_job_that_was_submitted_since_is_taken_in_as_running_with_all_that_it_asked_for(site):
    site.store.write(new=[job(1, "completed", finished=NOW - 50, request=replace(REQUEST, key=None))])
    site.directory(job(2))
    older, adopted = site.reconciled()
    assert "the store is older than the last write: directories of later jobs are there" in older
    assert adopted == "job 2 submitted since, found again by directory"
    found = site.store.job(2)
    assert (found.state, found.request, found.identity, found.start) == ("running", REQUEST, IDENTITY, NOW - 30)
    assert found.due == found.start + 60
    assert site.store.by_key("ada", "k").id == 2, "its key makes no second job"


def test_a_key_that_has_made_another_job_since_stays_with_that(site):
    site.store.write(new=[job(1)])
    site.directory(job(2))
    site.reconciled()
    assert (site.store.by_key("ada", "k").id, site.store.job(2).request.key) == (1, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"id": 3},
        {"identity": "f" * 16},
        {"store": "another store's"},
        {"walltime": 10**30},
        {"processors": 0},
        {"user": "\ud800"},
        {"name": "\x1b[2J"},
        {"start": "soon"},
        {"declared": ["B"]},
        {"not_before": -1},
    ],
    ids=str,
)
def test_a_directory_that_says_what_no_service_wrote_is_left_out_and_its_number_not_given(site, changed):
    site.directory(job(2), **changed)
    (remark,) = site.reconciled()
    assert "older" in remark
    assert site.store.job(2) is None
    assert site.store.last_id() >= 2


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[]", '{"facts": 7}'])
def test_a_record_that_cannot_be_read_is_left_out(site, text):
    (site.directory(job(2)) / "job.json").write_text(text)
    assert len(site.reconciled()) == 1
    assert site.store.job(2) is None


def test_a_record_that_is_a_link_is_not_followed(site, tmp_path):
    folder = site.directory(job(2))
    (folder / "job.json").rename(tmp_path / "elsewhere.json")
    (folder / "job.json").symlink_to(tmp_path / "elsewhere.json")
    site.reconciled()
    assert site.store.job(2) is None


def test_a_running_job_without_a_directory_is_lost_once_the_store_is_known_to_be_older(site):
    site.store.write(new=[job(1, "running")])
    site.directory(job(2))
    remarks = site.reconciled()
    assert any(one.startswith("job 1 had started, and the outcome") for one in remarks)
    assert (site.store.job(1).state, site.store.job(1).finished) == ("lost", NOW)


def test_numbers_that_are_missing_are_named(site):
    site.store.write(new=[job(1, "completed", finished=NOW - 50)])
    site.store.begin_epoch("it was restored")
    site.store.skip_numbers_up_to(4)
    site.directory(job(3))
    assert site.store.lost is not None
    remarks = site.reconciled()
    assert remarks[-1] == "lost; submit again: jobs 2, 4"


def test_only_names_of_jobs_are_directories_of_jobs(tmp_path):
    for name in ("12", f"13.{IDENTITY}", "x", "14.xyz", "-1", f"{2**53}", "٣", "15."):
        (tmp_path / name).mkdir()
    assert directories(tmp_path) == {"12": (12, ""), f"13.{IDENTITY}": (13, IDENTITY)}
    assert directories(tmp_path / "nowhere") == {}


def reshaped(one):
    other = replace(one)
    other.reshape(Shape(2, 100, None, NOW - 25), NOW - 40)
    return other


def test_a_job_that_was_reshaped_and_started_since_runs_in_that_shape(site):
    waits = job(1)
    site.store.write(new=[waits])
    started = reshaped(replace(waits, start=NOW - 25))
    site.directory(started)
    (site.jobs / started.directory_name / "claim.json").write_text("{}")
    site.store.begin_epoch("a backup was restored")
    site.reconciled()
    found = site.store.job(1)
    assert (found.state, found.start, found.due) == ("running", NOW - 25, NOW + 75)
    assert (found.shape, found.submission, found.reshaped) == (started.shape, REQUEST, NOW - 40)


def test_a_job_that_was_submitted_and_reshaped_since_is_taken_in_with_both_shapes(site):
    request = replace(REQUEST, command=("run", "{processors}"), cpus_per_task=1)
    site.directory(reshaped(job(5, request=request)))
    site.reconciled()
    found = site.store.job(5)
    assert (found.request.processors, found.due, found.submission) == (2, found.start + 100, request)


@pytest.mark.parametrize("first", [[1, 2], [1, 2, 3, 4], [True, 2, None, 4], [-1, 2, None, 4], "abcd", 7])
def test_a_first_shape_that_no_service_wrote_is_not_taken_in(site, first):
    site.directory(reshaped(job(5)), submitted_shape=first)
    site.reconciled()
    assert site.store.job(5) is None


def begun(site, one, **end):
    """Make the directory of a job that a wrapper has claimed; `end` is its record of the end."""
    folder = site.directory(one)
    (folder / "claim.json").write_text("{}")
    if end:
        record = {"exit_status": None, "signal": None, "message": None, "start": NOW - 30.0, "end": NOW - 20.0}
        (folder / "ended.json").write_text(json.dumps(record | end))
    return folder


def test_a_job_in_the_place_of_a_reservation_that_started_since_holds_its_processors(site):
    site.store.write(new=[job(1, "reserved")])
    begun(site, job(1))
    site.store.begin_epoch("a backup was restored")
    assert any(one.startswith("job 1 had started since then") for one in site.reconciled())
    assert site.store.job(1).state == "running"


def cancelled(id, **more):
    return job(id, "cancelled", finished=NOW - 80, start=NOW + 500, **more)


def test_a_job_that_the_backup_has_as_cancelled_and_that_runs_by_its_directory_holds_its_processors_and_is_ended(site):
    site.store.write(new=[cancelled(1, message="cancelled by op")])
    begun(site, job(1))
    site.store.begin_epoch("a backup was restored")
    assert any(one.startswith("job 1 had ended without having run, and") for one in site.reconciled())
    found = site.store.job(1)
    assert (found.state, found.start, found.due, found.finished) == ("running", NOW - 30, NOW + 30, None)
    assert found.being_ended
    assert "cancelled by op" in found.message


def test_a_job_that_the_backup_has_as_never_started_and_that_ran_has_run(site):
    site.store.write(new=[cancelled(1), job(2, "failed", finished=NOW - 10, request=replace(REQUEST, key=None))])
    begun(site, job(1), reason="exited", exit_status=3)
    begun(site, job(2), reason="exited", exit_status=0)
    site.store.begin_epoch("a backup was restored")
    site.reconciled()
    assert [site.store.job(id).state for id in (1, 2)] == ["running", "running"], "until its end is read"
    assert not site.store.job(2).being_ended


def test_a_job_that_ended_without_having_run_by_its_directory_too_stays_ended(site):
    site.store.write(new=[cancelled(1), job(2, "completed", exit_status=0, finished=NOW - 10, request=KEYLESS)])
    begun(site, job(1), reason="cancelled")
    begun(site, job(2), reason="exited", exit_status=0)
    site.store.begin_epoch("a backup was restored")
    site.reconciled()
    assert [site.store.job(id).state for id in (1, 2)] == ["cancelled", "completed"]


def test_a_job_of_a_number_that_the_backup_has_passed_over_is_taken_in(site):
    """Of three backups, one knows numbers assigned after another was restored, and none from before that."""
    site.store.write(new=[job(1), job(5, request=KEYLESS)])
    site.directory(job(3, request=KEYLESS))
    site.store.begin_epoch("a backup was restored")
    assert "job 3 submitted since, found again by directory" in site.reconciled()
    assert site.store.job(3).state == "running"


def test_a_damaged_row_of_a_job_that_has_ended_keeps_no_store_from_being_reconciled(site):
    site.store.write(new=[cancelled(1), job(2, request=KEYLESS)])
    site.store._database.execute("UPDATE jobs SET message = 'x' WHERE id = 1")
    for id in (1, 2):
        begun(site, job(id))
    site.store.begin_epoch("a backup was restored")
    assert any(one.startswith("job 2 had started since then") for one in site.reconciled())
