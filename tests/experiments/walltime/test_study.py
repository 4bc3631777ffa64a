"""``gas experiment walltime``: what is simulated, averaged and compared, and the whole study on made-up logs."""

import json

import numpy as np
import pytest

from experiments.framework.logs import find_logs, log_in
from experiments.walltime.accuracy import KEYS, WINDOWS
from experiments.walltime.report import banner
from experiments.walltime.results import (
    ADJUSTMENTS,
    CHANGES,
    INTREPID,
    NEIGHBOURS,
    PERCENTILES,
    QUEUES,
    Options,
    Results,
    adjusted,
    study_runs,
)
from experiments.walltime.run import walltime_run
from experiments.walltime.tables import TABLES

# ---------------------------------------------------------------------------------------------------------- comparisons


def test_months_are_averaged_from_a_window_after_the_first_submission_on(study):
    assert study.averaged(study.logs[0]) == ["1996-11", "1996-12"]
    assert study.averaged(study.logs[1])[0] == "1998-06"


def test_five_throws_are_averaged_month_by_month(study):
    log = study.logs[1]
    steady = study.steady(log, "wfp", "regular", "wait")
    every = [study.gains(log, adjusted("wfp", "regular", least=least), "wait") for least in (10, *NEIGHBOURS)]
    assert steady == pytest.approx({month: np.mean([gains[month] for gains in every]) for month in every[0]})
    assert study.chance(log, "wfp", "regular", "wait") >= 0


def test_tables_hold_every_month_scheme_and_published_figure(study):
    simulations = [run for run in study.runs if run.kind == "simulation"]
    rows = {name: records.of(name, study).rows for name, records in TABLES.items()}
    assert len(rows["walltime-months"]) == sum(
        len(study.simulation(run.log, run.terms)["months"]) for run in simulations
    )
    assert len(rows["walltime-accuracy"]) == 2 * len(KEYS) * len(WINDOWS) * 14
    each = 2 * len(PERCENTILES) + len(CHANGES) + len(NEIGHBOURS)
    assert len(rows["walltime-gains"]) == 2 * len(QUEUES) * len(ADJUSTMENTS) * each
    assert all(row["reason"] for row in rows["walltime-published"])


def test_a_part_of_a_quick_study_is_part_of_the_whole_one(gas, reported, made, tmp_path):
    command = ("experiment", "walltime", "--traces", made, "--output", tmp_path, "--workers", 1, "--quick")
    assert gas(*command, "--shard", "3/8").code == 0
    assert not (tmp_path / "walltime.md").exists()
    whole, part = (
        {path.name: json.loads(path.read_text())["result"] for path in (folder / "runs").iterdir()}
        for folder in (reported[0], tmp_path)
    )
    assert part
    assert part.items() <= whole.items()


def test_intrepids_log_is_taken_when_it_is_named_or_at_hand(made, tmp_path):
    named = log_in(made / "intrepid.swf.gz", INTREPID)
    (tmp_path / "ANL-Intrepid-2009-1.swf.gz").write_bytes((made / "intrepid.swf.gz").read_bytes())
    ((found,), _, _) = find_logs(tmp_path, [INTREPID])
    assert (found.source, found.sha256) == (named.source, named.sha256)
    runs = study_runs(Options(quick=True), [named])
    few = [run for run in runs if run.kind == "use"]
    files = {named.sha256: str(named.path)}
    study = Results(Options(quick=True), few, [walltime_run(run.configuration, files=files) for run in few])
    assert banner(study).startswith("The archive's log of Intrepid covers")
    assert study.use(named)["jobs"] == 320


def test_a_file_that_is_not_there_and_a_folder_without_logs_are_named(gas, made, tmp_path):
    found = gas("experiment", "walltime", "--traces", made, "--intrepid", tmp_path / "none.swf", "--output", tmp_path)
    assert found.code == 2
    assert "none.swf" in found.err
    found = gas("experiment", "walltime", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "ANL-Intrepid-2009" in found.err
