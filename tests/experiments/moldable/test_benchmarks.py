"""The benchmarks as moldable applications: their sizes, run times, probabilities and forms."""

import numpy as np
import pytest

from experiments.moldable.benchmarks import ERA_RATES, GROUPS, MIXES, RATES, Form, application, choices, requests
from gas.errors import BadInput
from speedup_models.nas import BENCHMARKS, Nas


def test_the_groups_are_those_of_the_benchmarks_own_constraints():
    kinds = {benchmark: constraint.kind for benchmark, constraint in BENCHMARKS.items()}
    assert {benchmark: group for group, those in GROUPS.items() for benchmark in those} == kinds


@pytest.mark.parametrize("mix", MIXES)
def test_the_chances_of_a_mix_sum_to_one(mix):
    assert sum(MIXES[mix].values()) == pytest.approx(1)
    assert sum(share for _, _, share in choices(mix, Form(), 128)) == pytest.approx(1)


def test_a_third_of_the_mix_of_the_paper_goes_to_each_constraint():
    for group in GROUPS.values():
        assert sum(MIXES["thirds"][benchmark] for benchmark in group) == pytest.approx(1 / 3)


def test_gaps_are_filled_with_all_sizes_that_the_benchmark_accepts_between_measured_ones():
    measured = requests(application("SP", "C", Form(filled=False, era=False)), 256)[0]
    filled = requests(application("SP", "C", Form(filled=True, era=False)), 256)[0]
    assert measured.tolist() == [4, 16, 25, 64, 121, 256]
    assert filled.tolist() == [n * n for n in range(2, 17)]


def test_measured_times_stay_as_they_are_when_gaps_are_filled():
    sizes, times, _ = requests(application("LU", "C", Form(filled=False, era=False)), 256)
    more, longer, _ = requests(application("LU", "C", Form(filled=True, era=False)), 256)
    assert longer[np.isin(more, sizes)].tolist() == times.tolist()


def test_nodes_of_the_era_are_slower_by_the_ratio_of_the_rates():
    seconds = Nas.packaged("BT", "C").seconds(np.array([16]))[0]
    slower = application("BT", "C", Form(era=True)).model.seconds(np.array([16]))[0]
    assert slower == pytest.approx(seconds * RATES["BT"] / ERA_RATES["BT"])


def test_accuracy_is_execution_time_over_walltime():
    _, times, walltimes = requests(application("EP", "B", Form(accuracy=0.5)), 100)
    assert walltimes.tolist() == (2 * times).tolist()
    with pytest.raises(BadInput, match="accuracy 0"):
        Form(accuracy=0)


def test_benchmarks_that_a_data_set_lacks_leave_their_chances_to_the_others():
    found = choices("thirds", Form(dataset="ethernet-r641", era=False), 128)
    assert {(benchmark, problem_class) for benchmark, problem_class, _ in found} == {
        ("BT", "B"),
        ("EP", "B"),
        ("MG", "B"),
    }
    assert {b: share for b, _, share in found}["EP"] == pytest.approx(1 / 3)
    with pytest.raises(BadInput, match="no benchmark of it has times in data set jpfmm-2015 on 0"):
        choices("restricted", Form(dataset="jpfmm-2015", era=False), 0)


@pytest.mark.parametrize(("name", "least"), [("MG", 2), ("SP", 4), ("EP", 2)])
def test_a_largest_size_ends_the_times_or_goes_on_at_their_last_rate(name, least):
    whole = application(name, "C", Form()).requests(512)
    cut = application(name, "C", Form(largest=16)).requests(512)
    assert cut.sizes.tolist() == [size for size in whole.sizes.tolist() if size <= 16]
    assert cut.times.tolist() == whole.times.tolist()[: len(cut.times)]
    longer = application(name, "C", Form(largest=512)).requests(512)
    assert longer.sizes[0] == least
    assert longer.sizes[-1] >= whole.sizes[-1]
    assert longer.times.tolist()[: len(whole.times)] == whole.times.tolist()


def test_mg_is_measured_to_32_processors_and_goes_on_to_more():
    sizes, times, _ = application("MG", "C", Form(largest=128)).requests(512)
    assert sizes.tolist() == [2, 4, 8, 16, 32, 64, 128]
    assert times[-1] / times[-2] == pytest.approx(times[-3] / times[-4], rel=0.1)  # whole seconds


def test_times_can_be_slower_besides():
    once, twice = (application("BT", "C", Form(slower=slower)).requests(128) for slower in (1, 2))
    assert twice.times == pytest.approx(2 * once.times, rel=0.01)
