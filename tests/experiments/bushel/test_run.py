"""Many moldable jobs at a time: Gas decides for each by the list of its moment; all are simulated together."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.bushel.run import bushel_run, of_benchmarks
from experiments.framework.logs import find_logs
from experiments.moldable.benchmarks import Form, application
from experiments.moldable.choosing import Bushel, of_moldable_jobs, with_gas
from experiments.moldable.moldability import Moldability
from experiments.moldable.outcomes import Month, outcomes
from experiments.moldable.substitution import TooFewJobs, load_ratio, substitutes
from gas.planner import plan
from gas.simulation.simulate import Simulation, simulate

FORM = Form(accuracy=0.5)
MIX = {"mix": "thirds", "form": FORM, "opponent": "uniform"}


def generator(seed=2):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def jobs():
    return busy_jobs(600, 64, seed=3)


@pytest.fixture(scope="module")
def placed(jobs):
    drawn = substitutes(jobs, 120, mix="thirds", form=FORM, opponent="uniform", generator=generator())
    return sorted(drawn, key=lambda one: one.place)


@pytest.fixture(scope="module")
def bushel(jobs):
    return of_benchmarks(jobs, 120, **MIX, generator=generator())


def test_the_jobs_are_the_log_with_each_substitute_asking_for_its_static_request(jobs, placed, bushel):
    assert bushel.places.tolist() == [one.place for one in placed]
    for one in placed:
        asked = application(one.benchmark, one.problem_class, FORM).requests(64)
        at = asked.sizes.tolist().index(one.static)
        assert bushel.jobs.processors[one.place] == one.static
        assert (bushel.jobs.run_time[one.place], bushel.jobs.estimate[one.place]) == (
            asked.times[at],
            asked.walltimes[at],
        )
    others = np.setdiff1d(np.arange(len(jobs)), bushel.places)
    for name in ("processors", "run_time", "estimate", "submit", "user"):
        assert (getattr(bushel.jobs, name)[others] == getattr(jobs, name)[others]).all()


def test_each_asks_for_what_the_planner_says_of_the_list_of_its_moment(placed, bushel):
    schedule = with_gas(bushel)
    at = {one.place: one for one in placed}
    simulation = Simulation(bushel.jobs, "s3", ask=bushel.places)
    while (place := simulation.run()) is not None:
        one = at[place]
        best = plan(application(one.benchmark, one.problem_class, FORM), simulation.availability()).best
        assert schedule.jobs.processors[place] == best.processors
        assert (schedule.jobs.estimate[place], schedule.jobs.run_time[place]) == (best.walltime, best.execution_time)
        assert schedule.promise[place] == best.start
        simulation.answer(processors=best.processors, estimate=best.walltime, run_time=best.execution_time)
    assert simulation.schedule().end.tolist() == schedule.end.tolist()


@pytest.mark.thorough
def test_alone_in_the_system_it_is_the_study_of_one(jobs, placed):
    for one, outcome in list(zip(placed, outcomes(Month(jobs, 0, placed, FORM)), strict=True))[::20]:
        requests = application(one.benchmark, one.problem_class, FORM).requests(64)
        columns = {name: getattr(jobs, name).copy() for name in ("processors", "estimate", "run_time")}
        columns["processors"][one.place] = one.static
        at = requests.sizes.tolist().index(one.static)
        columns["run_time"][one.place], columns["estimate"][one.place] = requests.times[at], requests.walltimes[at]
        alone = Bushel(replace(jobs, **columns), np.array([one.place]), [requests])
        assert with_gas(alone).end[one.place] - outcome.submit == outcome.gas
        assert simulate(alone.jobs, "s3").end[one.place] - outcome.submit == outcome.static


def test_no_job_starts_later_than_promised(bushel):
    schedule = with_gas(bushel)
    assert (schedule.start <= schedule.promise).all()


def test_drawn_speed_ups_leave_the_static_world_as_it_was(jobs):
    bushel = of_moldable_jobs(jobs, len(jobs), Moldability(), generator())
    assert simulate(bushel.jobs, "s3").end.tolist() == simulate(jobs, "s3").end.tolist()
    assert simulate(bushel.jobs, "s3").end.mean() > with_gas(bushel).end.mean()


def test_a_larger_share_has_the_smaller_one_in_it(jobs):
    for few, many in (
        [of_benchmarks(jobs, count, **MIX, generator=generator()) for count in (60, 120)],
        [of_moldable_jobs(jobs, count, Moldability(), generator()) for count in (60, 120)],
    ):
        assert set(few.places.tolist()) < set(many.places.tolist())


@pytest.fixture(scope="module")
def configuration(made_logs):
    log = find_logs(made_logs)[0][0]
    found = {
        "log": log.sha256, "processors": 430, "months": ["1996-07", "1996-08"], "percent": 20, "seed": 1,
        "policy": "s3", "load": 1.0, "estimates": "users", "moldable": MIX | {"form": asdict(FORM)},
    }  # fmt: skip
    return found, {log.sha256: str(log.path)}


def test_the_figures_fit_together(configuration):
    given, files = configuration
    found = bushel_run(given, files=files)
    assert found["moldable"] == found["jobs"] * 20 // 100
    assert sum(found["classes"]) == found["moldable"]
    assert sum(found["classes"][: len(found["classes"]) // 2]) == found["loses"]
    for world in ("static", "gas"):
        all_times = found["all"][world] * found["jobs"]
        parts = found[world]["mean"] * found["moldable"] + found["others"][world] * (found["jobs"] - found["moldable"])
        assert parts == pytest.approx(all_times)
    assert found["others"]["gas"] - found["others_wait"]["gas"] == pytest.approx(
        found["others"]["static"] - found["others_wait"]["static"]
    )


def test_the_load_ratio_is_that_of_the_substitution(jobs, placed, bushel):
    work = [int((each.processors * each.run_time).sum()) for each in (bushel.jobs, jobs)]
    assert work[0] / work[1] == load_ratio(jobs, placed, FORM)


def test_at_a_higher_load_jobs_wait_longer_and_stay_in_their_months(configuration):
    given, files = configuration
    usual, higher = (bushel_run(given | {"load": load}, files=files) for load in (1.0, 4.0))
    assert higher["others_wait"]["before"] > usual["others_wait"]["before"]
    assert higher["months"] == usual["months"]
    assert higher["by_month"]["moldable"] == usual["by_month"]["moldable"]
    assert higher["requested_load_ratio"] == usual["requested_load_ratio"]


def test_with_no_moldable_job_nothing_changes(configuration):
    given, files = configuration
    found = bushel_run(given | {"percent": 0}, files=files)
    assert found["others"]["before"] == found["others"]["static"] == found["others"]["gas"]
    assert (found["moldable"], found["gas"], found["loses"]) == (0, {}, 0)


def test_with_every_job_moldable_there_are_no_others(configuration):
    given, files = configuration
    found = bushel_run(given | {"percent": 100, "moldable": asdict(Moldability())}, files=files)
    assert found["moldable"] == found["jobs"]
    assert found["others"] == {"before": None, "static": None, "gas": None}
    assert (found["load_ratio"], found["requested_load_ratio"]) == (1.0, 1.0)


def test_where_too_few_jobs_can_give_way_the_run_says_so(configuration, jobs):
    given, files = configuration
    found = bushel_run(given | {"percent": 100, "moldable": given["moldable"] | {"opponent": "own"}}, files=files)
    assert found["moldable"] == 0
    assert "gas" not in found
    with pytest.raises(TooFewJobs):
        of_benchmarks(jobs, 600, **(MIX | {"opponent": "own"}), generator=generator())


def test_an_accuracy_of_moldable_jobs_is_theirs_alone(jobs):
    bushel = of_moldable_jobs(jobs, 60, Moldability(accuracy=0.5), generator())
    others = np.setdiff1d(np.arange(len(jobs)), bushel.places)
    assert (bushel.jobs.estimate[others] == jobs.estimate[others]).all()
    assert (bushel.jobs.estimate[bushel.places] != jobs.estimate[bushel.places]).any()


def test_a_log_without_a_job_for_the_machine_has_nothing_to_tell(configuration):
    given, files = configuration
    small = given | {"processors": 1, "moldable": asdict(Moldability())}
    found = bushel_run(small | {"percent": 0}, files=files)
    assert found["moldable"] == 0
