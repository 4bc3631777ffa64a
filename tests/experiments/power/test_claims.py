"""The paper's statements on one application: they fail where static requests are better."""

from experiments.framework.logs import find_logs
from experiments.moldable.months import Options, Results, month_runs
from experiments.moldable.terms import BASE, PERFECT
from experiments.power.claims import claims


def outcome(gas, static, best, **more):
    other = {"promised": gas, "user": 1, "gas_size": 1, "best_size": 1, "load_ratio": 1.0, "benchmark": "EP"}
    return other | {"gas": gas, "static": static, "best": best, "still_loses": []} | more


def test_a_claim_fails_where_static_is_better(made_logs):
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), find_logs(made_logs)[0], (BASE, PERFECT))
    groups = ["MG", "SP", "EP"]
    better = [outcome(100, 10, 10, benchmark=name) for name in groups] * 2
    worse = [outcome(10 if name != "EP" else 2, 100 + i, 2, benchmark=name) for i, name in enumerate(groups)] * 2
    for rows, verdict in ((better, False), (worse, True)):
        results = [{"jobs": 9, "outcomes": rows} for _ in runs]
        found = claims(Results(Options(seeds=1, runs=12, others=False), runs, results))
        assert found[0].holds is verdict
        assert found[2].holds is verdict
        assert found[3].holds is None
        assert found[4].holds is False  # regret, or lost
