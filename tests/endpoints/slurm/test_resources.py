"""Slurm's notations of GPUs, trackable resources, memory and licences."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.slurm.resources import amounts, gres, licences, megabytes, memory_per_gpu, most_nodes, weights
from gas.errors import BadInput
from gas.slurm.cluster import Gres


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(null)", []), ("N/A", []), ("", []), ("gpu:0", []),
        ("gpu:4", [("gpu", "", 4)]), ("gpu", [("gpu", "", 1)]), ("gpu:a100", [("gpu", "a100", 1)]),
        ("gpu:a100:4(S:0-1)", [("gpu", "a100", 4)]), ("gpu:4(S:0,2)", [("gpu", "", 4)]),
        ("gpu:a100:2(IDX:0,2),gpu:v100:1(IDX:3)", [("gpu", "a100", 2), ("gpu", "v100", 1)]),
        ("gpu:a100:0(IDX:),gpu:v100:1(IDX:3)", [("gpu", "v100", 1)]),
        ("gres:gpu:a100:2", [("gpu", "a100", 2)]), ("gres/gpu:2", [("gpu", "", 2)]), ("gres:gpu", [("gpu", "", 1)]),
        ("cpu=2,gres/gpu=1", [("gpu", "", 1)]), ("cpu=2", []), ("cpu:2", []),
        ("gres/gpu:v100=3", [("gpu", "v100", 3)]), ("license/matlab=1,gres/gpu=1", [("gpu", "", 1)]),
        ("craynetwork:4,gpu:2", [("craynetwork", "", 4), ("gpu", "", 2)]), ("tmp:4K", [("tmp", "", 4096)]),
        ("bandwidth:lustre:no_consume:4G", [("bandwidth", "lustre", 4 << 30)]),
        ("gpu:a100:2,gpu:a100:1", [("gpu", "a100", 3)]), ("gpu:7g.80gb:1", [("gpu", "7g.80gb", 1)]),
    ],
)  # fmt: skip
def test_generic_resources_in_each_notation(text, found):
    assert gres(text) == tuple(Gres(*one) for one in found)


@pytest.mark.parametrize("text", ["gpu:a:b:c:1", "gpu::2", ":4", "gpu:a100:2:3", "gres/=2", "gpu x:1", "gres/gpu=many"])
def test_what_is_no_generic_resource_is_refused(text):
    with pytest.raises(BadInput, match="not an? (generic resource|amount)"):
        gres(text)


@given(st.text(max_size=30))
def test_whatever_text_is_read_or_refused(text):
    for reader in (gres, amounts, weights, licences, memory_per_gpu, megabytes):
        with suppress(BadInput):
            reader(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("500M", 500),
        ("500", 500),
        ("0", 0),
        ("2G", 2048),
        ("1.5G", 1536),
        ("1T", 1 << 20),
        ("1000K", 1),
        ("16GB", 16384),
    ],
)
def test_memory_is_counted_in_megabytes(text, found):
    assert megabytes(text) == found


def test_trackable_resources_have_amounts_and_weights():
    assert amounts("cpu=8,mem=4000M,node=1,billing=17,gres/gpu:a100=2") == {
        "cpu": 8, "mem": 4000, "node": 1, "billing": 17, "gres/gpu:a100": 2,
    }  # fmt: skip
    assert amounts("mem=1.5T")["mem"] == 1.5 * 2**20
    assert amounts("(null)") == {}
    assert weights("CPU=1.0,Mem=0.25G,GRES/gpu=2.0") == {"cpu": 1, "mem": 0.25 / 1024, "gres/gpu": 2}
    assert weights("mem=0.5") == {"mem": 0.5}
    for reader in (amounts, weights):
        with pytest.raises(BadInput):
            reader("cpu")


def test_licences_are_counted_by_name():
    assert licences("matlab:3,abaqus@srv,matlab:1") == {"matlab": 4, "abaqus@srv": 1}
    assert licences("(null)") == {}
    with pytest.raises(BadInput, match="not a licence"):
        licences("matlab:1|octave:1")


def test_memory_for_each_gpu():
    assert memory_per_gpu("gres:gpu:500") == memory_per_gpu("gres/gpu:500") == 500
    assert memory_per_gpu("gres/gpu:a100:2G") == 2048
    assert memory_per_gpu("(null)") is None


@pytest.mark.parametrize(
    ("asked", "shown", "most", "tasks", "found"),
    [
        (2, 6, 6, 2, 6),  # -N 2-6
        (2, 2, 6, 2, 6),  # the same, held, or held and released
        (1, 3, None, 12, None),  # -n 12
        (1, 3, 12, 12, None), (1, 1, 3, 3, None),  # -n 12 and -n 3 on 26.05
        (1, 1, 1, 4, 1),  # -N 1 -n 4
        (1, 2, 4, 2, 4),  # -N 1-4 --ntasks-per-node=2 on 22.05
        (1, 3, 0, 12, None),  # as JSON says that there is none
    ],
)  # fmt: skip
def test_the_most_nodes_of_a_waiting_job_are_shown_beside_its_least_or_an_estimate(asked, shown, most, tasks, found):
    """Seen on 22.05, 24.11 and 26.05."""
    assert most_nodes(asked, shown, most, tasks) == found
