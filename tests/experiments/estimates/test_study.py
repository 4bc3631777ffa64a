"""``gas experiment estimates``: means, changes and reasons, and the whole study on made-up logs."""

import json

import pytest
from study_files import contents
from study_runs import run_study

from experiments.estimates.results import (
    DOUBLED,
    EXACT,
    USERS,
    Options,
    study_runs,
    uniform,
)
from experiments.framework.logs import find_logs
from experiments.published import FACTORS

SHORT = ("--seeds", 1, "--no-other-terms")


# ------------------------------------------------------------------------------------------------------------ the runs


def test_every_factor_is_run_with_the_same_seeds_on_every_log(made):
    runs = study_runs(Options(seed=5, seeds=3, others=False), find_logs(made)[0])
    for trace in ("CTC", "KTH"):
        mine = [run for run in runs if run.log.source.trace == trace and run.kind == "simulation"]
        for factor in FACTORS[1:]:
            assert [run.seed for run in mine if run.terms == uniform(factor)] == [5, 6, 7]
        assert [run.seed for run in mine if run.terms == EXACT] == [5]  # nothing is drawn
        assert [run.terms for run in mine if run.terms.estimates != "uniform"] == [USERS, DOUBLED]
    assert len({json.dumps(run.configuration, sort_keys=True) for run in runs}) == len(runs)
    assert [run.log.source.trace for run in runs if run.kind == "history"] == ["CTC"]  # KTH's log names no programs


@pytest.mark.thorough
def test_two_workers_and_shards_give_the_same_bytes(gas, made, tmp_path):
    once, parts = tmp_path / "once", tmp_path / "parts"
    run_study("estimates", once, made, *SHORT)
    command = ("experiment", "estimates", "--traces", made, "--output", parts, *SHORT)
    for part, workers in (("2/2", 2), ("1/2", 1)):
        assert gas(*command, "--shard", part, "--workers", workers).code == 0
        assert not (parts / "estimates.md").exists()
    kept = sorted((parts / "runs").iterdir())
    assert gas(*command).code == 0
    assert sorted((parts / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(parts) == contents(once)


def test_without_a_log_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "estimates", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
