"""The paper's statements on walltimes have verdicts; without results, they have none."""

import numpy as np

from experiments.framework.logs import find_logs, load_log
from experiments.published import walltime_gains
from experiments.walltime.accuracy import KEYS
from experiments.walltime.claims import advantages, claims
from experiments.walltime.report import banner
from experiments.walltime.results import (
    MEASURES,
    PERCENTILES,
    QUEUES,
    Options,
    Results,
    study_runs,
)
from experiments.walltime.run import walltime_run
from workloads import write_swf


def content(log):
    return load_log(log.path, log.sha256)


def test_statements_have_verdicts_as_far_as_intervals_resolve_them_and_those_of_nothing_have_none(study):
    found = claims(study)
    assert sum("selective adjustment is better than regular" in claim.text for claim in found) == len(QUEUES)
    assert all(claim.here and claim.verdict in ("yes", "no", "not resolved") for claim in found)
    assert all(claim.holds is None for claim in claims(Results(Options(), [], [])))
    for log in study.logs:
        for queue in QUEUES:
            assert len(advantages(study, log, queue)) == len(PERCENTILES) * len(MEASURES)


def test_the_published_gains_favour_selective_adjustment():
    percent = {(one.queue, one.adjustment, one.percentile, one.measure): one.percent for one in walltime_gains()}
    for measure in MEASURES:
        assert percent["wfp", "selective", 85, measure] > percent["wfp", "regular", 85, measure]
    assert percent["fcfs", "regular", 70, "slowdown"] < 0


def test_in_a_log_that_names_no_user_nothing_is_adjusted_and_no_statement_is_tested(logs, tmp_path):
    whole = content(logs[0])
    unknown = whole.with_columns(user=np.full(len(whole), -1), group=np.full(len(whole), -1))
    write_swf(unknown, tmp_path / f"{logs[0].name}.swf.gz")
    (blank,) = find_logs(tmp_path, [logs[0].source])[0]
    files = {blank.sha256: str(blank.path)}
    runs = [run for run in study_runs(Options(quick=True), [blank]) if run.kind != "simulation"]
    study = Results(Options(quick=True), runs, [walltime_run(run.configuration, files=files) for run in runs])
    for key in KEYS:
        found = study.replay(blank, key, 1)
        assert found["no_history"] == found["jobs"]
        assert all(cell["NA"] == found["jobs"] for cell in found["cells"])
    assert "no job has similar ones or is adjusted" in banner(study)
    assert all(claim.holds is None for claim in claims(study))
