"""Nodes, partitions and reservations as slurmrestd answers them."""

from slurm_answers import changed

from gas.endpoints.slurm.json_answers import read_cluster


def test_what_keeps_jobs_out_of_a_partition_is_read(published, renewed_answers):
    """Flags are published up to v0.0.38."""
    early = changed(published, "partitions", lambda document: document["partitions"][0].update(
        flags=["root_only", "reservation_required"], allowed_allocation_nodes="login1",
    ))  # fmt: skip
    found = read_cluster(early, name="x").partitions[0]
    assert found.closed_by == ("RootOnly=YES", "ReqResv=YES", "AllocNodes=login1")
    late = changed(
        renewed_answers, "partitions",
        lambda document: document["partitions"][0]["nodes"].update(allowed_allocation="login1"),
    )  # fmt: skip
    assert [one.closed_by for one in read_cluster(late, name="x").partitions] == [("AllocNodes=login1",), ()]
