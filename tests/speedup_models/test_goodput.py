"""AdaptDL's goodput model, against its formulas written out for one layout and batch."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from speedup_models import ModelError, model_from_table
from speedup_models.goodput import Goodput, Network, Work
from speedup_models.model import Layout, execution_times

NETWORK = Network(0.02, 0.004, 0.05, 0.002, 0.01, 0.0005, 2.0)
FIXED = Goodput(samples=1e6, batch=256, network=NETWORK, largest_batch=256)
KEYS = {"model": "goodput", "samples": 1e6, "batch": 256, **NETWORK.__dict__}

parameters = st.floats(1e-4, 1.0)
networks = st.builds(Network, *[parameters] * 6, st.floats(1, 10))
layouts = st.builds(Layout, st.integers(1, 8), st.integers(1, 8), st.just(""))


def by_hand(network, nodes, gpus, local, accumulated):
    """Return the seconds of a step, by the paper's formula."""
    compute = network.alpha_c + network.beta_c * local
    exchange = 0.0
    if gpus > 1:
        kind = "n" if nodes > 1 else "r"
        exchange = getattr(network, f"alpha_{kind}") + getattr(network, f"beta_{kind}") * (gpus - 2)
    return accumulated * compute + (compute**network.gamma + exchange**network.gamma) ** (1 / network.gamma)


@given(networks, layouts)
def test_a_fixed_batch_takes_the_steps_that_the_samples_need(network, layout):
    gpus = layout.nodes * layout.per_node
    model = Goodput(samples=1e6, batch=256, network=network, largest_batch=256)
    step = by_hand(network, layout.nodes, gpus, math.ceil(256 / gpus), 0)
    assert model.seconds_on(np.array([gpus]), [layout]) == pytest.approx(1e6 / 256 * step)


@given(networks, layouts, st.integers(256, 8192), st.floats(1, 1e5))
def test_a_free_batch_is_never_worse_than_any_that_is_looked_at(network, layout, largest, noise):
    free = Goodput(1e6, 256, network, largest, noise=noise)
    gpus = layout.nodes * layout.per_node
    batch, goodput = free.best_batch(layout)
    assert batch < largest + gpus
    for total in (256, largest):
        step = by_hand(network, layout.nodes, gpus, math.ceil(total / gpus), 0)
        assert goodput >= total / step * (noise + 256) / (noise + total) * (1 - 1e-9)


def test_what_a_gpu_has_no_memory_for_is_accumulated():
    model = Goodput(1e6, 256, NETWORK, 256, largest_local=64)
    step = by_hand(NETWORK, 1, 2, 64, 1)  # 128 samples for each of two GPUs, in two parts
    assert model.seconds_on(np.array([2]), [Layout(1, 2)])[0] == pytest.approx(1e6 / 256 * step)


def test_more_memory_than_any_batch_needs_accumulates_nothing():
    model = Goodput(1e6, 64, NETWORK, 64, largest_local=2**36)
    step = by_hand(NETWORK, 1, 2, 32, 0)
    assert model.seconds_on(np.array([2]), [Layout(1, 2)])[0] == pytest.approx(1e6 / 64 * step)


def test_a_small_noise_scale_keeps_the_batch_small_and_a_large_one_makes_it_large():
    small, large = (Goodput(1e6, 256, NETWORK, 8192, noise=noise).best_batch(Layout(4, 8))[0] for noise in (1, 1e6))
    assert small < 512 < 4096 < large


def test_exchange_within_a_node_is_not_that_between_nodes():
    one, two = FIXED.seconds_on(np.array([8, 8]), [Layout(1, 8), Layout(2, 4)])
    assert one < two


def test_faster_devices_compute_faster_and_exchange_as_before():
    model = Goodput(1e6, 256, NETWORK, 256, speeds={"a100": 1.0, "h100": 2.0})
    slow, fast = model.seconds_on(np.array([1, 1]), [Layout(1, 1, "a100"), Layout(1, 1, "h100")])
    assert slow == pytest.approx(2 * fast)
    assert model.devices == ("a100", "h100")


def test_there_is_no_time_on_more_gpus_than_samples():
    assert np.isnan(FIXED.seconds_on(np.array([512]), [Layout(64, 8)])).all()
    assert execution_times(FIXED, [512], [Layout(64, 8)]).tolist() == [0]


def test_a_size_alone_has_no_time():
    with pytest.raises(ModelError, match="depend on nodes and GPUs per node"):
        execution_times(FIXED, [8])


def test_the_keys_of_a_speedup_table_are_its_parameters():
    assert model_from_table(Fields(KEYS, "a.toml [speedup]")) == FIXED


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gamma": 0.5}, "below 1"),
        ({"beta_n": -1}, "below 0"),
        ({"batch": 0}, "below 1"),
        ({"batch": 10**23}, "above 9007199254740992, the maximum"),
        ({"alpha_c": 0, "beta_c": 0}, "computing takes time"),
        ({"max_batch": 4096}, "needs the gradient noise scale"),
        ({"max_batch": 8}, "max_batch 8 is below the initial batch, 256"),
        ({"speeds": {"a100": 0}}, "must be more than 0"),
        ({"noise": 3}, 'did you mean "noise_scale"'),
    ],
)
def test_what_cannot_be_is_refused(changed, message):
    with pytest.raises((FieldError, ModelError), match=message):
        model_from_table(Fields({**KEYS, **changed}, "a.toml [speedup]"))


@given(networks, st.integers(1, 8), st.integers(1, 8), st.integers(1, 256), st.integers(0, 3))
def test_slopes_are_the_derivatives_of_a_step(network, nodes, per_node, local, accumulated):
    work = Work(
        np.array([nodes]), np.array([nodes * per_node]), np.array([float(local)]), np.array([float(accumulated)])
    )
    slopes = network.slopes(work)[0]
    for slope, (name, value) in zip(slopes, network.__dict__.items(), strict=True):
        step = 1e-4 * value
        up, down = (replace(network, **{name: value + sign * step}).step(work)[0] for sign in (1, -1))
        noise = 8 * np.spacing(up) / step  # of the difference of two steps
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=noise + 1e-6)


def test_a_batch_fixed_on_each_gpu_grows_with_them():
    model = model_from_table(Fields({"model": "goodput", "samples": 1e6, "local_batch": 32, **NETWORK.__dict__}, "x"))
    seconds = model.seconds_on(np.array([4]), [Layout(2, 2)])[0]
    assert seconds == pytest.approx(1e6 / (4 * 32) * by_hand(NETWORK, 2, 4, 32, 0))
    with pytest.raises(FieldError, match="batch: does not go with local_batch"):
        model_from_table(Fields({**KEYS, "local_batch": 32}, "x"))


def test_links_that_nothing_is_known_of_have_no_time():
    keys = {key: value for key, value in KEYS.items() if key not in ("alpha_n", "beta_n")}
    model = model_from_table(Fields(keys, "x"))
    there, elsewhere = model.seconds_on(np.array([4, 4]), [Layout(1, 4), Layout(2, 2)])
    assert there > 0
    assert math.isnan(elsewhere)
    assert execution_times(model, [4], [Layout(2, 2)]).tolist() == [0]
    with pytest.raises(FieldError, match="beta_n: is missing"):
        model_from_table(Fields({**keys, "alpha_n": 0.1}, "x"))
