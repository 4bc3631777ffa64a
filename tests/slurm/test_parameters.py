"""SchedulerParameters as the kernels have them, with the defaults of slurm.conf(5)."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster

from gas.slurm.beyond import without_limits
from gas.slurm.cluster import Scheduling
from gas.slurm.parameters import number_in, parameters_of


def parameters(depth=500, **given):
    scheduling = Scheduling(depth=depth, parameters=given)
    return parameters_of(replace(cluster(), scheduling=scheduling))


def test_what_is_set_counts():
    found = parameters(bf_max_job_user="7", bf_node_space_size="90", bf_one_resv_per_job="")
    assert (found.max_job_user, found.node_space_size, found.one_resv_per_job) == (7, 90, True)
    assert (found.now, found.begin % found.resolution, found.licenses) == (NOW, 0, False)


@pytest.mark.parametrize(("depth", "size"), [(500, 500), (6, 6), (1, 2), (0, 0)])
def test_the_table_has_as_many_slots_as_jobs_are_tested_but_two(depth, size):
    assert parameters(depth).node_space_size == size


def test_beyond_slurms_cycle_nothing_ends_the_search():
    found = without_limits(parameters(3, bf_max_job_user="7"))
    assert (found.max_job_test, found.max_job_user, found.node_space_size, found.plan_all) == (0, 0, 0, True)


def test_a_priority_may_be_as_large_as_those_of_priority_basic():
    assert number_in({"bf_min_prio_reserve": "4294901750"}, "bf_min_prio_reserve", 0) == 4_294_901_750


@pytest.mark.parametrize("text", ["", "x", "-4", "12345678901", "1"])
def test_an_invalid_value_is_the_default(text):
    assert number_in({"bf_x": text}, "bf_x", 30, least=2) == 30
