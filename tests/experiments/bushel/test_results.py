"""The runs of a bushel of applications: every share of every mix, beside the tables of the paper."""

from experiments.bushel.results import (
    DRAWN,
    DRAWN_PERCENTS,
    FASTER,
    FASTER_PERCENTS,
    KINDS,
    PERCENTS,
    Options,
    bushel_runs,
)
from experiments.framework.logs import find_logs
from experiments.moldable.terms import TERMS
from experiments.published import bushel, bushel_details, load_ratios


def test_the_paper_has_thirty_and_sixty_scenarios():
    assert sum(one.mix == "thirds" for one in bushel()) == 30
    assert sum(one.mix != "thirds" for one in bushel()) == 60
    assert all(one.gas < one.static for one in bushel())
    assert {one.percent for one in bushel()} == set(PERCENTS)


def test_the_closer_look_is_at_scenarios_of_the_tables():
    means = {(one.trace, one.percent): (one.gas, one.static) for one in bushel() if one.mix == "thirds"}
    for table, percent in bushel_details():
        assert (table.gas["mean"], table.static["mean"]) == means[table.of, percent]


def test_table_5_8_has_columns_of_other_tables():
    others = {(one.trace, one.mix, one.percent): one.load_ratio for one in bushel()}
    for percent in PERCENTS:
        assert load_ratios()["CTC", percent] == others["CTC", "restricted", percent]
        assert load_ratios()["KTH", percent] == others["KTH", "unrestricted", percent]
        assert load_ratios()["SDSC", percent] not in (
            others["SDSC", "restricted", percent],
            others["SDSC", "unrestricted", percent],
        )


def test_every_share_of_every_mix_is_run_with_every_seed_and_other_terms_with_one(made_logs):
    logs = find_logs(made_logs)[0]
    runs = bushel_runs(Options(seeds=2), logs)
    of_log = [run for run in runs if run.site.trace == "KTH"]
    base = 2 * (len(KINDS) * len(PERCENTS) + len(DRAWN_PERCENTS))
    faster = len(FASTER) * len(FASTER_PERCENTS)
    assert len(of_log) == base + 2 * (len(TERMS) - 3) + faster + 2 * (len(DRAWN) - 1)
    assert {run.seed for run in of_log if run.kind not in (*KINDS.values(), DRAWN[0])} == {0}
    assert len(bushel_runs(Options(seeds=2, others=False), logs)) == 2 * base
