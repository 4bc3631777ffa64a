"""Why a job waits, as a record."""

from dataclasses import replace

from made_clusters import NOW, cluster, job, running

from gas.endpoints.slurm.reasons import why

FULL = running(9, "n0", end=3600)


def explained(waiting):
    made = cluster(FULL, waiting, nodes=1)
    return why(made, waiting, user="nobody of them")


def test_without_a_plan_of_slurms_the_start_is_worked_out():
    found = explained(job(5, 4))
    assert (found["expected"], found["remarks"]) == (NOW + 3600, [])


def test_the_plan_of_slurm_is_believed_and_a_difference_is_said():
    found = explained(replace(job(5, 4), start=NOW + 600))
    assert (found["planned"], found["expected"]) == (NOW + 600, NOW + 600)
    assert all(one["start"] < NOW + 600 for one in found["sooner"])
    assert any("uncertain" in one for one in found["remarks"])


def test_a_held_job_is_expected_at_no_time_and_nothing_starts_it_sooner():
    found = explained(replace(job(5, 4), priority=0, reason="JobHeldUser"))
    assert (found["expected"], found["sooner"]) == (None, [])
