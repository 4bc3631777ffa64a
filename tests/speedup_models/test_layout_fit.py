"""From measured steps on nodes to the model of a run, or to the measured times themselves."""

import io

import numpy as np
import pytest

from speedup_models.goodput import Network, Work
from speedup_models.layout_fit import PARTS, Run, fit_layouts
from speedup_models.model import Layout, ModelError
from speedup_models.timings import read_timings

TRUTH = Network(0.021, 0.0042, 0.11, 0.0018, 0.024, 0.0006, 2.2)
LAYOUTS = ((1, 1), (1, 2), (1, 4), (2, 8), (4, 16), (8, 32))


def steps(locals_=(16, 32, 64), layouts=LAYOUTS, header="gpus,nodes,local_batch,step_time", noise=0.01, wild=1.0):
    rng = np.random.default_rng(1)
    rows = [header]
    for nodes, gpus in layouts:
        for local in locals_:
            work = Work(np.array([nodes]), np.array([gpus]), np.array([float(local)]), np.zeros(1))
            seconds = TRUTH.step(work)[0] * np.exp(rng.normal(0, noise)) * (wild if gpus in (4, 16) else 1)
            rows.append(f"{gpus},{nodes},{local},{seconds:.6f}")
    return read_timings(io.StringIO("\n".join(rows)))


def fitted(timings, *said, **options):
    return fit_layouts(timings, Run(*said, **options), intervals=False)


def test_a_run_of_a_fixed_batch_takes_its_steps_on_each_layout():
    report = fitted(steps(), steps=1000, batch=256)
    assert (report.better, report.fits) == ("goodput", True)
    seconds = report.goodput.seconds_on(np.array([8]), [Layout(2, 4)])[0]
    step = TRUTH.step(Work(np.array([2]), np.array([8]), np.array([32.0]), np.zeros(1)))[0]
    assert seconds == pytest.approx(1000 * step, rel=0.05)
    assert report.goodput.largest_local == 64


def test_what_was_measured_with_that_batch_is_the_table():
    table = fitted(steps(), steps=1000, batch=256).table
    assert sorted(table.layouts) == [Layout(1, 4), Layout(2, 4), Layout(4, 4)]


def test_where_each_gpu_always_had_the_same_samples_its_batch_is_fixed():
    report = fitted(steps((32,)), samples=1e6)
    assert (report.goodput.local_batch, report.fits) == (32, True)
    assert report.warnings == ()
    with pytest.raises(ModelError, match="--steps 5: the batch grows with the GPUs"):
        fitted(steps((32,)), steps=5)


def test_a_free_batch_has_bounds_and_a_noise_scale():
    report = fitted(steps(), samples=1e6, batch=256, largest_batch=4096, noise=3000.0)
    assert report.goodput.best_batch(Layout(8, 4))[0] > 256
    with pytest.raises(ModelError, match="--max-batch needs --noise-scale"):
        fitted(steps(), samples=1e6, batch=256, largest_batch=4096)


def test_without_batches_a_step_is_the_same_work_everywhere():
    rows = "\n".join(
        f"{gpus},{nodes},{2 + 100 / gpus + (0.5 + 0.02 * gpus) * (nodes > 1):.4f}" for nodes, gpus in LAYOUTS
    )
    report = fitted(read_timings(io.StringIO(f"ranks,nodes,time\n{rows}\n")))
    assert report.fits
    assert (report.goodput.batch, report.goodput.samples) == (PARTS, PARTS)
    assert report.goodput.seconds_on(np.array([8]), [Layout(2, 4)])[0] == pytest.approx(15.16, rel=0.05)
    per_step = fitted(read_timings(io.StringIO(f"gpus,nodes,step_time\n{rows}\n")), steps=10)
    assert per_step.goodput.samples == 10 * PARTS


def test_where_nothing_fits_that_is_said_and_the_times_are_proposed():
    report = fitted(steps(wild=4.0), steps=1000, batch=256)
    assert (report.better, report.fits) == ("layouts", False)
    assert "The goodput model does not fit" in report.verdict
    assert "at most 15% is usable" in report.verdict
    assert "Farthest off: " in report.verdict
    assert {one.layout for one in report.front("layouts")} <= set(report.table.layouts)


def test_too_few_sizes_propose_the_times():
    report = fitted(steps((32,), ((1, 1), (1, 4))), samples=1e6)
    assert report.better == "layouts"
    assert "2 distinct measurements of a step" in report.verdict


def test_types_of_gpu_are_not_mixed():
    text = "gpus,nodes,type,time\n1,1,a100,8\n2,1,a100,5\n1,1,h100,4\n2,1,h100,2.5\n"
    report = fitted(read_timings(io.StringIO(text)))
    assert report.better == "layouts"
    assert "several types of GPU (a100, h100)" in report.verdict
    assert set(report.table.devices) == {"a100", "h100"}


def test_offers_lie_on_nodes_as_the_measured_ones_do():
    report = fitted(steps(), steps=1000, batch=256)
    assert {one.layout.per_node for one in report.offers("goodput")} == {1, 2, 4}
    assert [one.size for one in report.front("goodput")] == [1, 2, 4, 8, 16]  # 32 save less than 5%


@pytest.mark.parametrize(
    ("header", "said", "message"),
    [
        ("gpus,local_batch,step_time", {"steps": 5}, "the number of nodes of each size is missing.* --gpus-per-node"),
        ("gpus,nodes,local_batch,time", {}, "but these times are of the whole run"),
        ("gpus,nodes,local_batch,step_time", {}, r"steps had batches of 16 to 2048; give the batch of the run"),
        ("gpus,nodes,local_batch,step_time", {"batch": 256}, "give the length of the run with --steps or --samples"),
        ("gpus,nodes,local_batch,step_time", {"batch": 256, "steps": 5, "samples": 1.0}, "give only one of them"),
        ("gpus,nodes,step_time", {"batch": 256, "steps": 5}, "add a column global_batch or local_batch"),
    ],
)
def test_what_is_not_said_is_asked_for(header, said, message):
    given = header.split(",")
    rows = [f"{gpus},{nodes},{local},{1 / gpus}" for nodes, gpus in LAYOUTS for local in (16, 64)]
    kept = [i for i, name in enumerate(("gpus", "nodes", "local_batch", "time")) if name in given or i == 3]
    text = "\n".join([header, *(",".join(row.split(",")[i] for i in kept) for row in rows)])
    with pytest.raises(ModelError, match=message):
        fitted(read_timings(io.StringIO(text)), **said)
