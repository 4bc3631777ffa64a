"""Partitions of one Slurm are read together, and each of them anew when it asks again."""

from types import SimpleNamespace

import pytest

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.discovery import share_queries
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.reading import Reading
from gas.errors import Unreachable


def counting(cluster, error=None):
    """Return a transport that counts how often it is asked, and how often that was."""
    asked = []

    def read(name):
        asked.append(name)
        if error is not None:
            raise error
        return cluster

    return SimpleNamespace(cluster=read), asked


def test_all_that_ask_get_one_reading_under_their_own_names(cluster):
    transport, asked = counting(cluster)
    reading = Reading(transport)
    assert [reading.cluster(name).name for name in ("main", "debug")] == ["main", "debug"]
    assert asked == ["main"]


def test_whoever_asks_again_gets_a_new_one(cluster):
    transport, asked = counting(cluster)
    reading = Reading(transport)
    for name in ("main", "debug", "main", "debug"):
        reading.cluster(name)
    assert asked == ["main", "main"]


def test_what_was_just_read_is_the_first_reading(cluster):
    transport, asked = counting(cluster)
    reading = Reading(transport, cluster)
    reading.cluster("main")
    assert asked == []
    reading.cluster("main")
    assert asked == ["main"]


def test_a_slurm_that_does_not_answer_is_asked_once_for_all():
    transport, asked = counting(None, Unreachable("away"))
    reading = Reading(transport)
    for name in ("main", "debug"):
        with pytest.raises(Unreachable, match="away"):
            reading.cluster(name)
    assert asked == ["main"]


def test_endpoints_of_one_slurm_share_and_those_of_another_do_not(slurm, tmp_path):
    here = [SlurmEndpoint(name, CommandTransport(name, folder=str(slurm.folder))) for name in ("main", "debug")]
    there = SlurmEndpoint("there", CommandTransport("there", folder=str(tmp_path)))
    share_queries([*here, there])
    assert here[0].reading is here[1].reading
    assert there.reading is not here[0].reading
    for one in here:
        one.availability()
    assert sum(line.startswith("squeue") for line in slurm.lines("calls")) == 1
