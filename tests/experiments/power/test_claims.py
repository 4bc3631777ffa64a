"""The paper's statements on one application: they fail if static requests are better."""

from dataclasses import replace

import numpy as np
from thorough import rounds

from experiments.framework.logs import find_logs
from experiments.moldable.months import Options, Results, month_runs
from experiments.moldable.terms import BASE, PERFECT
from experiments.power.claims import claims


def outcome(gas, static, best, **more):
    other = {"promised": gas, "user": 1, "gas_size": 1, "best_size": 1, "load_ratio": 1.0, "benchmark": "EP"}
    return other | {"gas": gas, "static": static, "best": best, "still_loses": []} | more


def test_a_claim_fails_where_static_is_better(made_logs):
    of_logs, _ = month_runs(Options(seeds=1, runs=12, others=False), find_logs(made_logs)[0], (BASE, PERFECT))
    runs = [replace(run, month=f"1997-0{month}") for run in of_logs for month in range(1, 10)]
    groups = ["MG", "SP", "EP"]
    better = [outcome(100, 10, 10, benchmark=name) for name in groups] * 2
    worse = [outcome(10 if name != "EP" else 2, 100 + i, 2, benchmark=name) for i, name in enumerate(groups)] * 2
    for rows, verdict in ((better, False), (worse, True)):
        results = [{"jobs": 9, "outcomes": rows} for _ in runs]
        found = claims(Results(Options(seeds=1, runs=12, others=False), runs, results))
        assert found[0].holds is verdict
        assert found[2].holds is (verdict or None)  # if all gain the same, nothing is resolved
        assert found[3].holds is None
        assert found[4].holds is False  # regret, or lost


def test_noise_is_not_resolved_in_95_of_100_statements(made_logs):
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), find_logs(made_logs)[0], (BASE,))
    generator = np.random.default_rng(3)
    verdicts = []
    for _ in range(rounds(90)):
        results = []
        for _ in runs:
            drawn = generator.lognormal(9, 0.6, (3 * 8, 2)).astype(int) + 1
            names = ["MG", "SP", "EP"] * 8
            rows = [outcome(int(a), int(b), 1, benchmark=name) for (a, b), name in zip(drawn, names, strict=True)]
            results.append({"jobs": 9, "outcomes": rows})
        verdicts += [
            claim.holds for claim in claims(Results(Options(seeds=1, runs=12, others=False), runs, results))[:3]
        ]
    assert np.mean([holds is None for holds in verdicts]) >= 0.95


def test_a_log_of_fewer_than_four_months_decides_nothing(made_logs):
    logs = find_logs(made_logs)[0]
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), logs, (BASE,))
    results = [
        {"jobs": 9, "outcomes": [outcome(1, 100, 1, benchmark=name) for name in ("MG", "SP", "EP")]} for _ in runs
    ]
    found = claims(Results(Options(seeds=1, runs=12, others=False), runs, results))
    assert found[0].holds is None
    assert found[0].verdict == "not resolved"
