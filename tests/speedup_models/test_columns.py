"""Headers as people write them."""

import pytest

from speedup_models.columns import column, problem


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("GPUs", "size", "gpus"),
        ("n_gpus", "size", "gpus"),
        ("ngpus", "size", "gpus"),
        ("Number of GPUs", "size", "gpus"),
        ("# GPUs", "size", "gpus"),
        ("world_size", "size", "gpus"),
        ("num-replicas", "size", "gpus"),
        ("No. Cores", "size", "processors"),
        ("MPI ranks", "size", "processors"),
        ("nprocs", "size", "processors"),
        ("np", "size", "processors"),
        ("num_nodes", "nodes", "processors"),
        ("nnodes", "nodes", "processors"),
        ("GPUs per node", "per_node", "gpus"),
        ("ppn", "per_node", "processors"),
        ("local_bsz", "local_batch", "processors"),
        ("Global batch size", "batch", "processors"),
        ("gpu type", "type", "processors"),
        ("Efficiency (%)", "unused", "processors"),
    ],
)
def test_sizes_nodes_and_batches(name, role, unit):
    found = column(name)
    assert (found.role, found.unit) == (role, unit)


@pytest.mark.parametrize(
    ("name", "each", "factor", "rate"),
    [
        ("seconds", "run", 1, False),
        ("Time (s)", "run", 1, False),
        ("wall time [min]", "run", 60, False),
        ("elapsed_ms", "run", 1e-3, False),
        ("hours", "run", 3600, False),
        ("step_time", "step", 1, False),
        ("step time (ms)", "step", 1e-3, False),
        ("step_time_ms", "step", 1e-3, False),
        ("sec/step", "step", 1, False),
        ("s/it", "step", 1, False),
        ("seconds_per_iteration", "step", 1, False),
        ("ms/iter", "step", 1e-3, False),
        ("time per step (s)", "step", 1, False),
        ("it/s", "step", 1, True),
        ("steps_per_second", "step", 1, True),
        ("images/sec", "sample", 1, True),
        ("Throughput (img/s)", "sample", 1, True),
        ("samples_per_second", "sample", 1, True),
        ("ns/day", "sample", 86400, True),
        ("performance (ns/day)", "sample", 86400, True),
    ],
)
def test_times_and_rates_in_any_unit(name, each, factor, rate):
    found = column(name)
    assert (found.role, found.each, found.factor, found.rate) == ("time", each, factor, rate)


@pytest.mark.parametrize(
    "name", ["", "x", "loss", "gpus (s)", "s", "time (GB)", "steps", "GFLOP/s", "(s)", "/", "a" * 5000]
)
def test_other_names_are_not_known(name):
    assert column(name) is None
    assert "is not known" in problem(name)


def test_a_name_like_no_other_is_answered_with_the_two_columns_that_are_needed():
    """Once, prose with commas was answered with all of nearly a hundred names."""
    words = problem("This is a letter")
    assert words.endswith('like "processors,seconds" (gas guide fit lists all names)')
    assert len(words) < 150


def test_names_that_could_mean_two_things_are_asked_about():
    assert "call it global_batch or local_batch" in problem("batch size")
    assert "samples/s, images/s or steps/s" in problem("Throughput")
    assert 'did you mean "ranks"' in problem("rankz")
