"""gas plan --predict: predictions next to promises, on a real S³."""

import gzip
import io
import json
import os
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_slurm import FakeSlurm
from made_histories import AWAY, ENDED, HOUR, history

from gas import AvailabilityList
from gas.cli.plan import learnt
from gas.prediction.ledger import Ledger
from gas.service.tokens import the_service_user

pytest.importorskip("numba")


def accounting(path, shares, jobs=100):
    """Write sacct's output for the same jobs, with one share of use per user."""
    lines = ["JobID|User|Account|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|State"]
    for n in range(jobs):
        for user, share in shares.items():
            submit = ENDED - (jobs - n) * 2 * HOUR - 10 * HOUR
            ran = int(share * 10 * HOUR)
            lines.append(f"{n}|{user}|abc|10:00:00|{ran}|{submit}|{submit}|{submit + ran}|1|COMPLETED")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(autouse=True)
def compiled_first(monkeypatch):
    """Predict with machine code, also where none is in the cache."""
    monkeypatch.setattr("gas.agent.prediction.compiled_beside", lambda endpoint: False)


@pytest.fixture
def tenth(tmp_path):
    """A history of users who use a tenth of their walltimes."""
    return history(tmp_path / "tenth.swf", 0.1)


@pytest.fixture
def busy(s3):
    """Eight of ten processors run for ten hours if they use their walltime: ten are promised only after that."""
    s3.until(s3.simulated(8, 10 * HOUR)["id"], "running")
    return s3


@pytest.fixture
def predicted(gas, app, busy):
    """Return the plan with predictions as JSON, after some checks that apply to all."""

    def call(*options):
        result = gas("plan", app, "-e", busy.url, "--samples", "50", "--json", "--predict", *options)
        assert result.code == 0, result.err
        for candidate in result.json["candidates"]:
            likely = candidate["predicted"]
            assert result.json["now"] <= likely["start_low"] <= likely["start_high"] <= candidate["start"]
            assert likely["finish"] - likely["start"] == pytest.approx(candidate["execution_time"], abs=1)
        return result.json

    return call


def on(plan, processors):
    return next(c for c in plan["candidates"] if c["processors"] == processors)


# ------------------------------------------------------------------------------------------------------------- choice


def test_waiting_for_a_larger_size_is_better_where_jobs_use_a_tenth_of_their_walltimes(predicted, tenth):
    plan = predicted(tenth)
    assert (plan["schema"], plan["best"]["processors"]) == ("gas.plan/1", 2)
    best = plan["predicted_best"]
    assert best["processors"] == 10
    assert best["start"] - plan["now"] == pytest.approx(10 * HOUR, abs=60)  # the promise does not change
    assert best["predicted"]["start"] - plan["now"] == pytest.approx(HOUR, abs=HOUR / 4)  # some of the unknown data
    assert best == on(plan, 10)
    assert plan["best"] == on(plan, 2)
    assert plan["prediction"]["chosen_by"] == "expected finish"
    assert best["predicted"]["finish_at_risk"] is None
    assert best["predicted"]["start_iso"].endswith("Z")
    likely = on(plan, 2)["predicted"]
    assert likely["start_low"] == likely["start"] == likely["start_high"] == plan["now"]


def test_waiting_for_a_larger_size_is_no_better_where_jobs_use_up_their_walltimes(predicted, tmp_path):
    plan = predicted(history(tmp_path / "whole.swf", 1.0))
    assert plan["best"]["processors"] == plan["predicted_best"]["processors"] == 2
    assert on(plan, 10)["predicted"]["start"] - plan["now"] == pytest.approx(10 * HOUR, abs=HOUR / 4)


def test_each_user_is_predicted_by_their_own_past(predicted, tmp_path):
    """The job in the way belongs to the user who runs the tests, by the same name in S³ and sacct."""
    me = the_service_user().user
    assert predicted(accounting(tmp_path / "a", {me: 0.1, "other": 1.0}))["predicted_best"]["processors"] == 10
    assert predicted(accounting(tmp_path / "b", {me: 1.0, "other": 0.1}))["predicted_best"]["processors"] == 2


def test_a_risk_asks_for_more_certainty(predicted, tmp_path):
    """The user in the way uses a tenth two times out of three, else all: on average ten processors finish first."""
    mixed = tmp_path / "mixed"
    text = accounting(mixed, {"ann": 0.1, "bob": 0.1, "cid": 1.0})
    assert predicted(text, "--risk", "50%")["predicted_best"]["processors"] == 10
    sure = predicted(text, "--risk", "0.95")
    assert sure["predicted_best"]["processors"] == 2
    assert (sure["prediction"]["risk"], sure["prediction"]["chosen_by"]) == (0.95, "finish with a probability of 95%")
    likely = on(sure, 10)["predicted"]
    assert likely["finish_at_risk"] > likely["finish"]
    assert likely["finish_at_risk_iso"].endswith("Z")


def test_with_a_risk_people_are_shown_the_finish_that_decides(gas, app, busy, tmp_path):
    mixed = accounting(tmp_path / "mixed", {"ann": 0.1, "bob": 0.1, "cid": 1.0})
    result = gas("plan", app, "-e", busy.url, "--samples", "50", "--predict", mixed, "--risk", "95%")
    assert "95% sure to finish" in result.out
    assert "95% sure to finish in 5h00m (" in result.out.splitlines()[0]
    (large,) = [line for line in result.out.splitlines() if line.lstrip().startswith("s3") and " 10 " in line]
    assert re.search(r"in (10h5\dm|11h00m)\s+10\.00$", large.rstrip()), large


def test_a_tolerance_holds_for_what_is_expected(predicted, tenth):
    """Two hours on ten processors are expected, five on two."""
    assert predicted(tenth, "--tolerance", "100%")["predicted_best"]["processors"] == 10


def test_a_deadline_holds_for_what_is_expected_not_for_what_is_promised(predicted, tenth):
    """Ten processors are promised to finish in eleven hours, and expected in two; two certainly finish in five."""
    plan = predicted(tenth, "--deadline", "+4h")
    assert (plan["best"], plan["predicted_best"]["processors"]) == (None, 10)
    (late,) = plan["rejected"]
    assert late["processors"] == 2
    assert re.fullmatch(
        r"predicted to finish (1h00m|59m\d\ds|59m) after the deadline \(probability of meeting it: 0%\)", late["reason"]
    ), late
    plan = predicted(tenth, "--deadline", "+6h")
    assert (plan["best"]["processors"], plan["predicted_best"]["processors"], plan["rejected"]) == (2, 10, [])


def test_with_a_risk_a_deadline_holds_for_the_finish_at_that_risk(gas, app, busy, tmp_path):
    """The user in the way uses a tenth two times out of three, otherwise all."""
    mixed = accounting(tmp_path / "mixed", {"ann": 0.1, "bob": 0.1, "cid": 1.0})
    options = ("plan", app, "-e", busy.url, "--samples", "50", "--predict", mixed, "--deadline", "+4h59m")
    assert "10 processors on s3" in gas(*options, "--risk", "50%").out
    sure = gas(*options, "--risk", "95%")
    assert sure.code == 3
    assert re.search(r"2 processors: 95% sure to finish \S+ after the deadline", sure.err)  # misses it by least time


def test_who_wants_to_be_sure_is_told_what_it_costs(gas, app, busy, tmp_path):
    """Two processors certainly finish in five hours, ten probably in two; both use ten processor-hours."""
    mixed = accounting(tmp_path / "mixed", {"ann": 0.1, "bob": 0.1, "cid": 1.0})
    work = tmp_path / "dear.toml"
    work.write_text(Path(app).read_text().replace("18000", "21000"))
    options = ("plan", str(work), "-e", busy.url, "--samples", "50", "--predict", mixed, "--deadline", "+6h")
    likely = gas(*options, "--sure", "50%")
    assert likely.code == 0, likely.err
    assert likely.out.startswith("app: 10 processors on s3")
    first, second = likely.out.splitlines()[1:3]
    assert re.match(
        r"\d\d% sure to finish by 20\S+Z, even if it uses all of its walltime\. Not checked yet on s3: 0 ", first
    )
    costs = r"100% sure: 2 processors, 11\.67 proc-hours; \d\d% sure: 10 processors, 10\.00 proc-hours"
    assert re.fullmatch(rf"Cheapest request that is {costs}\.", second), second
    assert gas(*options, "--sure", "95%").out.startswith("app: 2 processors on s3")
    table = gas(*options, "--explain").out
    assert re.search(r"s3 +2 .* 100% +11\.67", table), table
    assert re.search(r"s3 +10 .* \d\d%\* +10\.00", table), table
    assert "\n*: not checked yet, too few predictions of such waits have an outcome\n" in table
    assert "from earliest finish to lowest cost or highest probability of meeting the deadline" in table
    told = gas(*options, "--sure", "95%", "--json").json
    assert told["prediction"]["chosen_by"] == "least use among those 95% sure to meet the deadline"
    assert [one["processors"] for one in told["prediction"]["prices"]] == [2, 10]
    assert on(told, 2)["predicted"]["in_time"] == 1.0


def test_where_nothing_is_sure_enough_the_surest_is_named(gas, app, busy, tmp_path):
    mixed = accounting(tmp_path / "mixed", {"ann": 0.1, "bob": 0.1, "cid": 1.0})
    result = gas(
        "plan", app, "-e", busy.url, "--samples", "50", "--predict", mixed, "--deadline", "+4h", "--sure", "95%"
    )
    assert result.code == 3
    assert re.search(r"10 processors: \d\d% likely to meet the deadline; 95% is required", result.err), result.err


def test_reservations_do_not_end_early(gas, app, s3, tenth):
    now = int(time.time())
    reservation = s3.post("/v1/reservations", {"processors": 8, "start": now + 60, "walltime": 10 * HOUR})
    assert reservation.status_code == 201
    plan = gas("plan", app, "-e", s3.url, "--samples", "50", "--json", "--predict", tenth).json
    assert plan["predicted_best"]["processors"] == 2
    assert on(plan, 10)["predicted"]["start_low"] == pytest.approx(on(plan, 10)["start"], abs=2)


def test_jobs_that_may_not_start_yet_are_not_predicted_to(gas, app, s3, tenth):
    now = int(time.time())
    s3.simulated(8, 3 * HOUR, not_before=now + 1800)
    result = gas("plan", app, "-e", s3.url, "--samples", "50", "--json", "--predict", tenth)
    expected = on(result.json, 10)["predicted"]
    assert expected["start_low"] == pytest.approx(now + 1800 + 3 * HOUR / 10, abs=5)
    assert on(result.json, 10)["start"] == pytest.approx(now + 1800 + 3 * HOUR, abs=5)


def test_no_start_is_predicted_before_the_time_that_was_asked_for(gas, app, busy, tenth):
    """The jobs in the way will probably end in an hour, and by promise in ten."""
    at = int(time.time()) + 2 * HOUR
    options = ("plan", app, "-e", busy.url, "--samples", "50", "--json", "--predict", tenth, "--not-before", f"@{at}")
    plan = gas(*options).json
    assert plan["predicted_best"]["processors"] == 10
    assert {on(plan, size)["predicted"]["start_low"] for size in (2, 10)} == {at}
    assert on(plan, 10)["start"] > at + 7 * HOUR


# ---------------------------------------------------------------------------------------------------- what is printed


def test_people_are_told_what_is_likely_what_is_promised_and_how_the_two_differ(gas, app, busy, tenth):
    result = gas("plan", app, "-e", busy.url, "--samples", "50", "--predict", tenth)
    assert result.code == 0
    first, second, third, fourth = result.out.splitlines()[:4]
    assert first.startswith("app: 10 processors on s3, walltime 1h00m: predicted to start in ")
    assert "no later than in 9h59m" in first or "no later than in 10h00m" in first
    assert second.startswith("Planned starts alone would choose 2 processors on s3: by promise it finishes ")
    assert re.search(r" sooner, by prediction 2h5\S+ later\.$", second), second
    assert third == "s3: learned from 100 jobs of tenth.swf that ended before now."  # a remark says the rest
    assert fourth == "s3: how often 90% intervals hold is not yet known on this machine: 0 outcomes."
    assert "predictions from so few" not in result.err
    assert "90% of starts  no later than" in result.out
    assert "best, at the latest: 10 processors, starts in " in result.out
    assert (
        "tenth.swf contains no jobs of the users of the only job in the queue; the average of all users is used"
        in result.err
    )


@pytest.mark.parametrize(
    ("running", "unknown", "said"),
    [
        (4, 2, "; the log contains jobs of the users of 3 of the 5 running and waiting jobs."),
        (4, 5, "."),  # of none: a remark says it, once
        (0, 0, "; the log contains jobs of the users of the only job in the queue."),
    ],
)
def test_it_is_said_for_how_many_jobs_of_the_queue_the_log_has_jobs_of_their_users(running, unknown, said):
    facts = {"name": "x", "history_jobs": 30, "history": "a.swf"}
    queue = {"running": running, "waiting": 1, "unknown_users": unknown}
    found = SimpleNamespace(
        details={"schedulers": [facts | queue]}, unpredicted={}, unproven=[], ledgers={"x": Ledger()}
    )
    assert learnt(found)[0] == f"x: learned from 30 jobs of a.swf that ended before now{said}"


def test_where_predictions_change_nothing_that_is_said(gas, app, s3, tenth):
    result = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", tenth, "--all")
    assert "Without predictions, the request would be the same." in result.out
    assert "predicted to finish 4h00m later" in result.out


def test_a_long_queue_is_simulated_fewer_times_and_that_is_said(gas, app, busy, tenth, monkeypatch):
    monkeypatch.setattr("gas.agent.prediction.VISITS", 1.0)
    fewer = "its queue was simulated 10 times instead of 500, to limit the time; intervals are less accurate"
    assert fewer in gas("plan", app, "-e", busy.url, "--predict", tenth).err
    result = gas("plan", app, "-e", busy.url, "--predict", tenth, "--samples", "20", "--json")  # samples as requested
    assert "to limit the time" not in result.err
    assert result.json["prediction"]["schedulers"][0]["samples"] == 20


def test_the_request_for_other_programs_is_that_of_the_prediction(gas, app, busy, tenth):
    result = gas("plan", app, "-e", busy.url, "--samples", "50", "--predict", tenth, "--as", "sbatch")
    assert result.code == 0
    assert "10" in result.out.split("--ntasks=")[1].split()[0]


def test_the_picture_shows_predicted_starts(gas, app, busy, tenth, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "plan.svg"
    gas("plan", app, "-e", busy.url, "--samples", "50", "--predict", tenth, "--plot", str(picture))
    assert "predicted start: 90%, and the mean" in picture.read_text()
    assert "predicted start of the best request" in picture.read_text()
    assert "best request, as promised, start to finish" in picture.read_text()
    assert "10 processors, predicted to start in " in picture.read_text()
    gas("plan", app, "-e", busy.url, "--plot", str(picture))
    assert "predicted" not in picture.read_text()


def test_how_the_prediction_was_made_is_in_the_json(predicted, tenth):
    made = predicted(tenth, "--seed", "7")["prediction"]
    assert (made["history"], made["samples"], made["seed"], made["interval"]) == ("tenth.swf", 50, 7, 0.9)
    (scheduler,) = made["schedulers"]
    assert (scheduler["name"], scheduler["policy"], scheduler["running"], scheduler["waiting"]) == ("s3", "s3", 1, 0)
    assert (scheduler["unknown_users"], scheduler["history_jobs"]) == (1, 100)


def test_few_jobs_are_warned_of_and_all_are_counted(gas, app, s3, tmp_path):
    few = history(tmp_path / "few.swf", 0.1, jobs=7)
    result = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", few)
    assert "s3: only 7 jobs of few.swf ended before now; predictions from so few jobs may be far off" in result.err
    assert "s3: learned from 7 jobs of few.swf that ended before now." in result.out
    told = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", few, "--json").json["prediction"]
    assert "predictions from so few" in told["schedulers"][0]["remarks"][-1]
    many = history(tmp_path / "many.swf", 0.1, jobs=1234)
    assert "learned from 1,234 jobs" in gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", many).out


def test_submit_sends_what_is_predicted_to_be_best_with_its_promise(gas, app, busy, tenth):
    result = gas("submit", app, "-e", busy.url, "--simulate", "--samples", "50", "--predict", tenth, "--json")
    assert result.code == 0, result.err
    assert (result.json["job"]["processors"], result.json["plan"]["best"]["processors"]) == (10, 2)
    assert result.json["job"]["promise"] == pytest.approx(result.json["plan"]["predicted_best"]["start"], abs=2)


def test_submit_says_last_when_the_job_is_predicted_to_start(gas, app, busy, tenth):
    result = gas("submit", app, "-e", busy.url, "--simulate", "--samples", "50", "--predict", tenth)
    *_, job, _, watch = result.out.splitlines()
    assert watch.endswith(f": gas watch 2 -e {busy.url} {app} --predict {tenth}")
    assert re.match(r"job \d+ on s3, promised to start in \S+ at the latest \(.*\); predicted to start in \S+$", job)


def test_what_is_compiled_already_is_not_said_to_be_compiled(gas, app, busy, tenth):
    options = ("plan", app, "-e", busy.url, "--samples", "5", "--predict", tenth)
    gas(*options)
    assert "compiling" not in gas(*options).err


# -------------------------------------------------------------------------------------------------------- schedulers


def test_a_list_in_a_file_keeps_its_planned_starts_beside_a_queue_that_is_predicted(gas, app, busy, tenth, tmp_path):
    now = int(time.time())
    path = tmp_path / "list.json"
    path.write_text(json.dumps(AvailabilityList.of([now, now + 3 * HOUR], [1, 40], scheduler="disk").to_wire()))
    result = gas("plan", app, "-e", busy.url, "-a", str(path), "--samples", "50", "--predict", tenth, "--json")
    assert result.code == 0
    assert "disk: has only a list of free processors and no queue" in result.err
    assert "its planned starts are used" in result.err
    by = {(c["scheduler"], c["processors"]): c for c in result.json["candidates"]}
    assert by["disk", 10]["predicted"] is None
    assert result.json["best"]["scheduler"] == "disk"
    assert result.json["predicted_best"]["scheduler"] == "s3"


def test_a_slurm_is_predicted_by_its_own_rules_in_either_unit(gas, app, tmp_path):
    folder = FakeSlurm(tmp_path / "bin").folder
    config = tmp_path / "gas.toml"
    tables = [
        f'[endpoints.{unit}]\ntype = "slurm"\nfolder = "{folder}"\nunit = "{unit}"\n' for unit in ("cpus", "nodes")
    ]
    config.write_text("".join(tables))
    past = accounting(tmp_path / "past", {"ann": 0.1})
    options = ("--config", str(config), "--stale-ok", "--samples", "5", "--predict", past, "--json")
    result = gas("plan", app, *options)
    assert result.code == 0
    by = {c["scheduler"]: c["predicted"] for c in result.json["candidates"]}
    assert None not in by.values()
    assert {one["policy"] for one in result.json["prediction"]["schedulers"]} == {"slurm"}


@pytest.fixture
def late(tmp_path, monkeypatch):
    """A Slurm whose queue is so long that no sample finishes in time; return the options of commands with it."""
    from gas.prediction.slurm import Queue

    in_time, seconds = Queue.forecast, {"seconds": -1.0}
    monkeypatch.setattr(Queue, "forecast", lambda *given, **options: in_time(*given, **options | seconds))
    folder = FakeSlurm(tmp_path / "bin").folder
    (tmp_path / "gas.toml").write_text(f'[endpoints.long]\ntype = "slurm"\nfolder = "{folder}"\n')
    past = accounting(tmp_path / "past", {"ann": 0.1})
    return "--config", str(tmp_path / "gas.toml"), "--stale-ok", "--samples", "20", "--predict", past


def test_a_planned_start_is_said_to_be_one_and_has_no_probability(gas, app, late):
    result = gas("plan", app, *late, "--risk", "90%")
    assert result.code == 1
    said = " ".join(result.err.split())
    assert (
        "long: planned start, not predicted: 0 simulations of the queue in time, 10 are needed (its queue is " in said
    )
    assert said.endswith(
        "gas: --predict: no start could be predicted; the plan shown is by planned starts, as without it"
    )
    assert "(planned start, not predicted)" in result.out
    assert "simulations of the queue" not in result.out, "the remark says it already"
    assert "No start is predicted, so planned starts decide, as without --predict." in result.out
    assert not re.search(r"predicted to|% sure to finish (in|by)|intervals", result.out)
    rows = [line for line in result.out.splitlines() if "not predicted" in line and " long " in line]
    assert all(re.search(r" \? ", row) for row in rows[1:]), "the column of what is 90% sure"
    found = gas("plan", app, *late, "--json").json
    assert {one["predicted"] for one in (*found["candidates"], found["predicted_best"])} == {None}
    (facts,) = found["prediction"]["schedulers"]
    assert (facts["predicted"], facts["samples"]) == (False, 0)


def test_a_planned_start_is_not_sure_and_what_is_unknown_is_said(gas, app, late):
    result = gas("plan", app, *late, "--deadline", "+90h", "--sure", "50%")
    assert result.code == 3
    assert (
        "is not known (planned start, not predicted: 0 simulations of the queue in time, 10 are needed)" in result.err
    )
    shown = gas("plan", app, *late, "--deadline", "+90h")
    assert shown.code == 1
    assert re.search("The probability of finishing by .* is not known: its start is not predicted", shown.out)
    assert "(planned)" in gas("plan", app, *late, "--explain").out


@pytest.fixture
def slowly(monkeypatch):
    """Make the first prediction take a while, as with compilation; return the number of predictions."""
    from gas.agent import prediction as module

    forecast, calls = module.forecast, []

    def slow(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            time.sleep(0.6)
        return forecast(*arguments, **options)

    monkeypatch.setattr(module, "forecast", slow)
    monkeypatch.setattr("gas.agent.choice.QUICK_SECONDS", 0.5)
    return calls


def test_a_prediction_that_took_so_long_that_its_starts_have_passed_is_made_again(gas, app, start_s3, tenth, slowly):
    fast = start_s3(10, clock_speed=1000)  # 0.6 s are ten minutes there
    fast.until(fast.simulated(8, 400 * HOUR)["id"], "running")
    result = gas("plan", app, "-e", fast.url, "--samples", "20", "--json", "--predict", tenth)
    assert result.code == 0, result.err
    assert len(slowly) == 2
    assert "some planned starts have passed since, so Gas predicts again" in result.err
    assert result.err.count("predictions from so few") <= 1  # a message is not repeated
    for candidate in result.json["candidates"]:
        assert candidate["predicted"]["start"] >= result.json["now"]


def test_a_long_prediction_is_not_repeated_if_no_time_has_passed(gas, app, busy, tenth, slowly):
    result = gas("plan", app, "-e", busy.url, "--samples", "20", "--json", "--predict", tenth)
    assert (result.code, len(slowly)) == (0, 1)
    assert "again" not in result.err


def test_lists_alone_cannot_be_predicted(gas, app, tenth, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(AvailabilityList.of([0], [40], scheduler="disk").to_wire()))
    result = gas("plan", app, "-a", str(path), "--stale-ok", "--predict", tenth)
    assert result.code == 2
    assert "has only a list of free processors and no queue; --predict needs a live" in result.err


def test_nothing_possible_is_still_exit_3(gas, app, busy, tenth):
    result = gas("plan", app, "-e", busy.url, "--predict", tenth, "--deadline", "+10m", "--json")
    assert (result.code, result.json["best"], result.json["predicted_best"]) == (3, None, None)


# ------------------------------------------------------------------------------------------------------------ histories


def test_a_packed_log_is_read_too(predicted, tmp_path):
    assert predicted(history(tmp_path / "tenth.swf.gz", 0.1))["predicted_best"]["processors"] == 10
    plain = accounting(tmp_path / "plain", {"ann": 0.1})
    (tmp_path / "packed").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    assert predicted(str(tmp_path / "packed"))["predicted_best"] is not None
    assert plain.endswith("plain")


def test_malformed_lines_are_left_out_and_counted(gas, app, busy, tmp_path):
    path = tmp_path / "history"
    accounting(path, {"ann": 0.1})
    path.write_text(path.read_text() + "200|ann\n201|bob|abc|UNLIMITED|5|1|1|6|1|COMPLETED\n")
    result = gas("plan", app, "-e", busy.url, "--samples", "5", "--predict", str(path))
    assert result.code == 0
    assert "1 malformed line left out: another number of fields" in result.err
    assert "1 job left out: no time limit of its own" in result.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("; Version: 2.2\n", "has no jobs"),
        ("JobID|User\n1|ann\n", "has no Submit; add it to sacct's --format"),
        ("Dear all, this is no log\n", "18 numbers per line"),
        ('{"jobs": []}\n', 'has no "profiles"'),
        ("       JobID      User\n------------ ---------\n", "print it with sacct --parsable2"),
        ("1|ann|abc|10:00|10:00|2024-05-01T08:00:00\n", "without its header line"),
        ("1  ann  abc  10:00  2024-05-01T08:00:00\n", "print it with sacct --parsable2"),
    ],
)
def test_what_is_no_history_is_refused(gas, app, tmp_path, text, told):
    path = tmp_path / "history"
    path.write_text(text)
    result = gas("plan", app, "-e", AWAY, "--predict", str(path))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("gas: history")
    assert told in result.err


def test_a_history_that_cannot_be_read_is_refused(gas, app, tmp_path):
    result = gas("plan", app, "-e", AWAY, "--predict", str(tmp_path / "nowhere"))
    assert (result.code, "nowhere: cannot be read: No such file" in result.err) == (2, True)
    result = gas("plan", app, "-e", AWAY, "--predict", str(tmp_path))
    assert (result.code, "it is a folder; name the logs in it" in result.err) == (2, True)


def test_a_history_that_is_yet_to_come_says_nothing(gas, app, s3, tmp_path):
    later = history(tmp_path / "later.swf", 0.1, start=int(time.time()) + 86_400)
    result = gas("plan", app, "-e", s3.url, "--predict", later)
    assert result.code == 2
    assert "later.swf: none of its 100 jobs fits 10 processors and had ended by 20" in result.err


def test_a_history_without_jobs_says_nothing(gas, app, s3, tmp_path):
    (tmp_path / "none").write_text("JobID|User|Timelimit|Elapsed|Submit|Start|AllocCPUS\n")
    result = gas("plan", app, "-e", s3.url, "--predict", str(tmp_path / "none"))
    assert (result.code, "none: has no jobs" in result.err) == (2, True)


def test_a_log_without_wait_times_says_so_and_what_gives_them(gas, app, s3, tenth, tmp_path):
    lines = [line.split() for line in Path(tenth).read_text().splitlines()]
    without = [line if line[0] == ";" else [*line[:2], "-1", *line[3:]] for line in lines]
    (tmp_path / "new.swf").write_text("".join(" ".join(line) + "\n" for line in without))
    result = gas("plan", app, "-e", s3.url, "--predict", str(tmp_path / "new.swf"))
    assert result.code == 2
    assert "new.swf: its wait times are unknown" in result.err
    assert "gas simulate new.swf --output hist.swf writes a log with them" in result.err


@pytest.mark.parametrize("kind", ["swf", "sacct"])
def test_a_history_comes_from_standard_input_or_a_pipe_too(gas, app, s3, tmp_path, monkeypatch, kind):
    path = tmp_path / "history"
    history(path, 0.1) if kind == "swf" else accounting(path, {"ann": 0.1})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    result = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", "-")
    assert result.code == 0, result.err
    assert "learned from 100 jobs of standard input" in result.out
    reading, writing = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(writing, path.read_bytes()), os.close(writing)))
    writer.start()
    result = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", f"/dev/fd/{reading}")
    writer.join()
    os.close(reading)
    assert (result.code, "learned from 100 jobs" in result.out) == (0, True), result.err


def test_jobs_larger_than_the_machine_tell_nothing(gas, app, s3, tmp_path):
    large = history(tmp_path / "large.swf", 0.1, processors=64)
    assert gas("plan", app, "-e", s3.url, "--predict", large).code == 2
