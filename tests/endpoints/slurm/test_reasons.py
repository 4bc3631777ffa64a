"""Why a job waits, as a record."""

from dataclasses import replace

from made_clusters import NOW, cluster, job, running, with_nodes

from gas.endpoints.slurm.reasons import why
from gas.slurm.cluster import Gres, Partition

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


def test_gpus_that_a_job_does_not_ask_for_are_not_advised():
    def advised(**asked):
        full, free = Partition("p", ("n0",)), Partition("gpu", ("n1",))
        waiting = replace(job(5, 4), user="ada", **asked)
        made = with_nodes(cluster(FULL, waiting, partitions=(full, free)), gres=[(), (Gres("gpu"),)])
        return [one["words"] for one in why(made, waiting, user="ada")["sooner"] if one["change"] == "partition"]

    assert advised() == []
    assert advised(gres_per_node=(Gres("gpu"),)) == ["partition gpu"]
