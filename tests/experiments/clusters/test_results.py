"""The runs, and figures recomputed independently from the table of results."""

import numpy as np
import pytest
from recomputed import by, chosen, ratio, table, verdict

from experiments.clusters.report import TABLES, claims
from experiments.clusters.results import Options, Results, together_runs
from gas.errors import BadInput


def made_study(effect=0.0, clusters=60, seed=0):
    """Return a study: five times as many clusters change means by the share `effect`, Gas by half of it."""
    options = Options(0, clusters, 5)
    runs, _ = together_runs(options, ())
    of_cluster = np.random.default_rng(seed).uniform(500, 1500, clusters)
    results = []
    for run in runs:
        noise = np.random.default_rng([seed, run.first, run.size, len(run.strategy)]).normal(1, 0.2)
        mean = of_cluster[run.first : run.first + run.count].mean() * noise * (1 + effect * (run.size > 1))
        mean *= 1 if run.strategy == "choose-static" else 1 + effect / 2
        results.append(
            {
                "applications": 10 * run.count, "turnaround": int(10 * run.count * mean), "away": 0,
                "rigid": 90 * run.count, "rigid_turnaround": int(90 * run.count * mean), "load_ratio": 1.0,
            }
        )  # fmt: skip
    return Results(options, runs, results)


def test_groups_of_every_size_hold_each_cluster_once_and_the_largest_come_first():
    runs, left_out = together_runs(Options(3, 61, 25), ())
    assert not left_out
    assert [run.size for run in runs] == sorted((run.size for run in runs), reverse=True)
    for size in (1, 5, 25):
        for strategy in ("choose", "choose-static"):
            these = [run for run in runs if (run.size, run.strategy) == (size, strategy)]
            covered = [number for run in these for number in range(run.first, run.first + run.count)]
            assert covered == list(range(61))
    assert len({str(run.configuration) for run in runs}) < len(runs), "the last cluster stands alone in every size"


def test_the_runs_of_fewer_clusters_are_among_those_of_more():
    few, many = ([str(run.configuration) for run in together_runs(Options(0, n, 25), ())[0]] for n in (50, 100))
    assert set(few) < set(many)


def test_more_to_choose_among_than_there_are_is_refused():
    with pytest.raises(BadInput, match=r"--most 25: there are only 10 clusters; name more by --clusters"):
        together_runs(Options(0, 10, 25), ())


def expected(rows):
    groups = range(0, 60, 5)

    def sums(strategy, size, name="turnaround"):
        of = chosen(rows, strategy=strategy, size=size)
        return [sum(int(row[name]) for row in of if first <= int(row["first"]) < first + 5) for first in groups]

    def less(one, other, name="turnaround"):
        changes = [a - b for a, b in zip(sums(*one, name), sums(*other, name), strict=True)]
        return by(ratio(changes, sums(*other, name)), 100)

    def by_step(way, name="turnaround"):
        return [less((way, 5), (way, 1), name)]

    return [
        verdict(by_step("choose-static"), high=0),
        verdict(by_step("choose"), high=0),
        verdict([less(("choose", size), ("choose-static", size)) for size in (1, 5)], high=0),
        verdict(by_step("choose", "rigid_turnaround"), high=0),
    ]


@pytest.mark.parametrize("effect", [-0.5, 0, 0.5])
def test_verdicts_are_those_of_the_table_alone(effect):
    study = made_study(effect)
    assert [claim.verdict for claim in claims(study)] == expected(table(study, TABLES, "clusters"))


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert [claim.verdict for claim in claims(made_study(-0.5))] == ["yes"] * 4
    assert [claim.verdict for claim in claims(made_study(0.5))] == ["no"] * 4


def test_noise_is_seldom_resolved():
    found = [claim.verdict for seed in range(60) for claim in claims(made_study(0, seed=seed))]
    assert found.count("not resolved") >= 0.95 * len(found)
