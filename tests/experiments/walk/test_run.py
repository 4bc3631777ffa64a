"""``gas experiment walk``: the paper's walk against the exact planner, on made-up logs."""

import numpy as np
import pytest
from made_up import busy_jobs
from study_files import contents

from experiments.moldable.benchmarks import Form, application, requests
from experiments.moldable.outcomes import Month
from experiments.moldable.substitution import substitutes
from experiments.walk.run import comparisons
from gas.planner import plan
from gas.simulation.simulate import Simulation, simulate
from workloads.formats import format_log
from workloads.lublin import generate

FORM = Form(accuracy=0.5)
SMALL = ("--runs", 15)


@pytest.fixture(scope="module")
def jobs():
    return busy_jobs(700, 64, seed=5)


@pytest.fixture(scope="module")
def placed(jobs):
    return substitutes(jobs, 60, mix="thirds", form=FORM, opponent="uniform", generator=np.random.default_rng(4))


@pytest.fixture(scope="module")
def found(jobs, placed):
    return comparisons(Month(jobs, 0, placed, FORM))


@pytest.mark.thorough
def test_the_walk_is_never_promised_more_than_the_exact_planner_and_sometimes_less():
    jobs = busy_jobs(2000, 64, seed=5)
    placed = substitutes(jobs, 300, mix="thirds", form=FORM, opponent="uniform", generator=np.random.default_rng(4))
    promised = [(one.exact_promised, one.walk_promised) for one in comparisons(Month(jobs, 0, placed, FORM))]
    promised = [(exact, walked) for exact, walked in promised if walked is not None]
    assert all(exact <= walked for exact, walked in promised)
    assert any(exact < walked for exact, walked in promised)


def test_both_plan_from_the_list_of_that_moment(jobs, placed, found):
    simulation = Simulation(jobs, "s3", ask=sorted(one.place for one in placed))
    at = {one.place: one for one in placed}
    for comparison in found:
        one = at[simulation.run()]
        app = application(one.benchmark, one.problem_class, FORM)
        walked = plan(app, simulation.availability(), algorithm="walk").best
        assert (comparison.walk_size, comparison.walk_promised) == (
            (walked.processors, walked.finish - comparison.submit) if walked else (None, None)
        )
        simulation.answer()


def test_other_readings_try_one_size_in_a_frame(jobs, placed, found):
    simulation = Simulation(jobs, "s3", ask=sorted(one.place for one in placed))
    at = {one.place: one for one in placed}
    for comparison in found:
        one = at[simulation.run()]
        sizes, times, walltimes = requests(application(one.benchmark, one.problem_class, FORM), jobs.machine)
        frames = simulation.availability().frames
        ends = {"largest": [(None, None)], "equal": [(None, None)]}
        for number, (start, _, free) in enumerate(frames):
            lasts = next((later.start for later in frames[number:] if later.free < free), np.inf)
            for i in [i for i, size in enumerate(sizes) if size <= free][-1:]:
                if start + walltimes[i] <= lasts:
                    candidate = start + times[i] - comparison.submit, sizes[i]
                    ends["largest"].append(candidate)
                    ends["equal"] += [candidate] if sizes[i] == free else []
        for reading, candidates in ends.items():
            best = min(candidates[1:], default=candidates[0])
            assert (getattr(comparison, f"{reading}_promised"), getattr(comparison, f"{reading}_size")) == best
        simulation.answer()
    assert any(one.equal is None for one in found)


def test_both_outcomes_are_those_of_whole_simulations(jobs, placed, found):
    for one, comparison in list(zip(sorted(placed, key=lambda one: one.place), found, strict=True))[::6]:
        sizes, times, walltimes = requests(application(one.benchmark, one.problem_class, FORM), jobs.machine)
        for size, end in ((comparison.exact_size, comparison.exact), (comparison.walk_size, comparison.walk)):
            if size is None:
                continue
            k = sizes.tolist().index(size)
            columns = {name: getattr(jobs, name).copy() for name in ("processors", "estimate", "run_time")}
            for name, value in zip(columns, (size, walltimes[k], times[k]), strict=True):
                columns[name][one.place] = value
            altered = type(jobs)(**{**vars(jobs), **columns})
            assert simulate(altered, "s3").end[one.place] - comparison.submit == end


@pytest.mark.thorough
def test_the_report_says_how_often_and_by_how_much(gas, made_logs, tmp_path):
    result = gas("experiment", "walk", "--traces", made_logs, "--output", tmp_path, "--workers", 1, *SMALL)
    assert result.code == 0
    text = (tmp_path / "walk.md").read_text()
    for section in ("What is compared", "Promised finishes", "Simulated finishes", "Reproducing this report"):
        assert f"## {section}" in text
    assert "The walk chose another size than the exact planner, or none, for" in text
    assert "the walk never finishes sooner" in result.out
    assert "> Not the full study: 15 submissions" in text
    again = tmp_path / "again"
    parts = [gas("experiment", "walk", "--traces", made_logs, "-o", again, "--shard", f"{i}/2", *SMALL) for i in (1, 2)]
    assert [part.code for part in parts] == [0, 0]
    assert gas("experiment", "walk", "--traces", made_logs, "-o", again, *SMALL).code == 0
    assert contents(again) == contents(tmp_path)


def test_a_log_of_the_users_own_is_studied_in_any_form(gas, tmp_path):
    made = generate(120, 64, generator=np.random.default_rng(5), load=0.9)
    (tmp_path / "ours.csv").write_bytes(format_log(made.with_columns(requested_time=made.run_time * 2 + 60), "csv")[0])
    done = gas("experiment", "walk", "--log", tmp_path / "ours.csv", *SMALL, "-o", tmp_path / "w", "--workers", 1)
    assert done.code == 0, done.err
    text = (tmp_path / "w" / "walk.md").read_text()
    assert "submissions on ours. The walk chose" in text
    assert "CTC" not in (tmp_path / "w" / "walk-outcomes.csv").read_text()


def test_a_study_of_published_figures_sends_other_logs_to_the_replay(gas, tmp_path):
    (tmp_path / "ours.csv").write_text("job,submit\n")
    refused = gas("experiment", "setups", "--log", tmp_path / "ours.csv", "-o", tmp_path / "b")
    assert refused.code == 2
    assert "is not a log of this study; choose from CTC, KTH" in refused.err
    assert "gas replay simulates your own log" in refused.err
    assert not (tmp_path / "b").exists()
