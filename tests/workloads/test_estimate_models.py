"""A log with the estimates of a model."""

import itertools
import math

import numpy as np
import pytest

from workloads import Header, Log, LogError, format_swf, parse_swf, read_swf
from workloads.estimate_models import MODELS, constants_of, unnamed, with_estimates

DAY = 86400
NEEDED = {"uniform": {"factor": 5}}
RANDOM = ["uniform", "mualem-feitelson", "tsafrir"]
OF_THE_PAST = ["history", "last-two"]


def made_log(jobs=800, seed=1, days=40):
    """A log with repeated jobs and with unknowns of every kind."""
    generator = np.random.default_rng(seed)
    run_time = np.ceil(np.exp(generator.uniform(0, np.log(20 * 3600), jobs)))
    run_time[::50] = -1
    requested = generator.choice([1800, 3600, 4 * 3600, 18 * 3600], jobs)
    requested[::70] = -1
    wait = generator.integers(0, 3600, jobs)
    wait[::90] = -1
    columns = {
        "submit": np.sort(generator.integers(0, days * DAY, jobs)),
        "wait": wait,
        "run_time": run_time,
        "allocated_processors": generator.choice([1, 2, 4], jobs),
        "requested_processors": generator.choice([1, 2, 4, -1], jobs),
        "requested_time": requested,
        "status": np.ones(jobs),
        "user": generator.integers(-1, 4, jobs),
        "group": generator.integers(0, 3, jobs),
        "executable": generator.integers(-1, 2, jobs),
    }
    header = Header.of([("Version", "2.2"), ("Acknowledge", "Somebody"), ("MaxProcs", 64), ("Note", "made up")])
    return Log.from_columns(columns, header=header, name="made")


def changed(log, model, **more):
    return with_estimates(log, model, **{**NEEDED.get(model, {}), **more})


def fields_of(log):
    return [line.split() for line in format_swf(log).decode().splitlines() if not line.startswith(";")]


# Whatever the model


@pytest.mark.parametrize("model", MODELS)
def test_nothing_changes_but_the_estimates_and_a_note(model):
    log = made_log()
    other = changed(log, model)
    for before, after in zip(fields_of(log), fields_of(other), strict=True):
        assert before[:8] + before[9:] == after[:8] + after[9:]
    assert other.header.lines[: len(log.header.lines)] == log.header.lines
    assert len(other.header.notes) == len(log.header.notes) + 1
    assert (other.requested_time != log.requested_time).any()
    assert other.acknowledgements == ("Somebody",)


@pytest.mark.parametrize("model", MODELS)
def test_estimates_are_whole_seconds_from_one_or_what_they_were(model):
    log = made_log()
    other = changed(log, model)
    new = other.requested_time != log.requested_time
    assert (other.requested_time[new] >= 1).all()
    assert (other.requested_time[new] % 1 == 0).all()


@pytest.mark.parametrize("model", [model for model in MODELS if model != "doubled"])
def test_jobs_of_unknown_run_time_keep_their_estimate_and_are_counted_in_the_note(model):
    log = made_log()
    other = changed(log, model)
    unknown = log.run_time < 0
    assert (other.requested_time[unknown] == log.requested_time[unknown]).all()
    assert f"keep theirs ({unknown.sum()} jobs have no known run time)" in other.header.notes[-1]


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_bytes_and_another_other_ones_if_the_model_is_random(model):
    log = made_log()
    first, again, other = (format_swf(changed(log, model, seed=seed)) for seed in (3, 3, 4))
    assert first == again
    without_note = [[line for line in each.splitlines() if b"seed" not in line] for each in (first, other)]
    assert (without_note[0] == without_note[1]) == (model not in RANDOM)


def test_the_note_says_with_what_the_estimates_were_made():
    note = with_estimates(made_log(), "uniform", seed=9, factor=5).header.notes[-1]
    assert note.startswith("estimates (field 9) of 784 jobs by the model uniform, factor 5, seed 9; 16 jobs keep")


@pytest.mark.parametrize("model", [model for model in MODELS if model != "tsafrir"])
def test_a_log_without_jobs_is_as_good_as_any(model):
    assert len(changed(Log.from_columns({}), model)) == 0


# The models


def test_exact_is_the_run_time():
    log = made_log()
    other = with_estimates(log, "exact")
    known = log.run_time >= 0
    assert (other.requested_time[known] == np.maximum(log.run_time[known], 1)).all()


def test_uniform_is_between_the_run_time_and_its_multiple():
    log = made_log()
    known = log.run_time > 0
    ratio = (with_estimates(log, "uniform", factor=5).requested_time / log.run_time)[known]
    assert 1 <= ratio.min() < 1.5
    assert 4.5 < ratio.max() < 5.01


def test_the_model_of_mualem_and_feitelson_can_be_told_its_constants():
    log = made_log()
    known = log.run_time > 0
    other = with_estimates(log, "mualem-feitelson", underestimated=0, longest=1).requested_time
    assert (other[known] == log.run_time[known]).all()


def test_one_job_in_ten_of_mualem_and_feitelson_gets_too_little_if_that_can_be_said_in_whole_seconds():
    log = Log.from_columns({"submit": np.arange(20_000), "run_time": np.repeat([1, 500], 10_000)})
    short = with_estimates(log, "mualem-feitelson").requested_time < log.run_time
    assert short[:10_000].sum() == 0
    assert short[10_000:].mean() == pytest.approx(0.1, abs=0.01)


def test_doubled_is_of_what_the_user_asked_for_whether_or_not_the_job_ran():
    log = made_log()
    asked = log.requested_time > 0
    other = with_estimates(log, "doubled").requested_time
    assert (other[asked] == 2 * log.requested_time[asked]).all()
    assert (other[~asked] == -1).all()
    assert (with_estimates(log, "doubled", factor=1.5).requested_time[asked] == 1.5 * log.requested_time[asked]).all()


def test_the_longest_estimate_of_tsafrir_is_the_longest_that_a_user_asked_for():
    log = made_log()
    known = log.run_time >= 0
    other = with_estimates(log, "tsafrir").requested_time
    assert other[known].max() == 18 * 3600
    assert (other[known] >= np.minimum(log.run_time[known], 18 * 3600)).all()
    assert with_estimates(log, "tsafrir", longest=100 * 3600).requested_time.max() == 100 * 3600


def test_history_goes_by_executable_user_and_size():
    columns = {
        "submit": [0, 0, 0, 0, 1000, 1000, 1000, 1000, 1000],
        "wait": [0] * 9,
        "run_time": [100, 200, 300, 400, 7, 7, 7, 7, 7],
        "requested_processors": [4, 4, 4, 8, 4, 8, 4, 4, 4],
        "user": [1, 1, 2, 1, 1, 1, 2, -1, 1],
        "executable": [5, 5, 5, 5, 5, 5, 5, 5, -1],
        "requested_time": [9999] * 9,
    }
    estimates = with_estimates(Log.from_columns(columns), "history").requested_time.tolist()
    whole = math.ceil(250 + 1.5 * np.std([100, 200, 300, 400]))
    assert estimates == [9999] * 4 + [150 + 75, 400, 300, whole, whole]
    with_more = with_estimates(Log.from_columns(columns), "history", deviations=3)
    assert with_more.requested_time[4] == 150 + 150


def test_where_no_executable_is_known_history_goes_by_user_and_size():
    columns = {
        "submit": [0, 0, 1000],
        "wait": [0] * 3,
        "run_time": [100, 500, 7],
        "allocated_processors": [4, 4, 4],
        "user": [1, 2, 1],
        "requested_time": [9999] * 3,
    }
    assert with_estimates(Log.from_columns(columns), "history").requested_time.tolist() == [9999, 9999, 100]


def test_last_two_is_the_mean_of_the_users_last_two_but_never_more_than_the_request():
    columns = {
        "submit": [0, 10, 20, 1000, 1000, 1000, 5000],
        "wait": [0, 0, 600, 0, 0, 0, 0],
        "run_time": [900, 100, 50, 5, 5, 5, 5],
        "user": [1, 1, 1, 1, 1, 2, 1],
        "requested_time": [9000, 9000, 9000, 9000, 300, 9000, -1],
    }
    # The third waited, and ended between the others.
    estimates = with_estimates(Log.from_columns(columns), "last-two").requested_time.tolist()
    assert estimates == [9000, 9000, 9000, (50 + 900) / 2, 300, 9000, 5]


@pytest.mark.parametrize(
    ("model", "without"),
    [("last-two", {"user": 2}), ("history", {"user": 2, "executable": 3}), ("exact", {}), ("tsafrir", {})],
)
def test_it_can_be_told_how_many_jobs_do_not_name_what_a_model_goes_by(model, without):
    log = Log.from_columns({"submit": [0] * 4, "user": [1, -1, -1, 2], "executable": [-1, -1, -1, 7]})
    assert unnamed(log, model) == without


# No look-ahead


@pytest.mark.parametrize(("model", "hour"), list(itertools.product(OF_THE_PAST, (12, 18, 24, 30, 36))))
def test_what_happens_after_an_instant_changes_no_estimate_made_until_then(model, hour):
    # So many jobs in two days that dozens are waiting or running at any instant.
    log, generator, instant = made_log(seed=hour, days=2), np.random.default_rng(hour), hour * 3600
    later = np.flatnonzero(log.submit > instant)
    ended = (log.wait >= 0) & (log.run_time >= 0) & (log.submit + log.wait + log.run_time <= instant)
    open_ = np.flatnonzero(~ended & (log.run_time >= 0))
    columns = {name: np.array(column) for name, column in log.columns().items()}
    for name in ("user", "executable", "requested_processors", "allocated_processors", "requested_time", "wait"):
        columns[name][later] = generator.permutation(columns[name][later])
    # Jobs that have not ended by the instant end at other times after it.
    until = instant - log.submit[open_] - np.maximum(log.wait[open_], 0)
    columns["run_time"][open_] = np.maximum(generator.permutation(log.run_time[open_]), until + 1)
    shuffled = Log.from_columns(columns, header=log.header)
    earlier = log.submit <= instant
    before, after = (with_estimates(each, model).requested_time for each in (log, shuffled))
    assert (shuffled.run_time != log.run_time).any()
    assert (before[earlier] == after[earlier]).all()
    assert (before[earlier] != log.requested_time[earlier]).mean() > 0.3
    assert (before[later] != after[later]).any()


# Mistakes


@pytest.mark.parametrize(
    ("model", "constants", "said"),
    [
        ("tsafir", {}, 'no model of estimates "tsafir"; known: exact, uniform, mualem-feitelson, doubled, history'),
        ("exact", {"factor": 2}, 'model "exact" has no constant "factor"; it takes none'),
        ("doubled", {"faktor": 2}, 'has no constant "faktor"; it takes factor'),
        ("history", {"mean": 2}, 'has no constant "mean"; it takes deviations, age, forget, sample, least'),
        ("uniform", {}, 'model "uniform" needs factor'),
        ("uniform", {"factor": "two"}, "factor must be a number, not 'two'"),
        ("uniform", {"factor": math.nan}, "factor must be a number, not nan"),
        ("uniform", {"factor": True}, "factor must be a number, not True"),
        ("uniform", {"factor": 0.5}, "factor 0.5"),
        ("history", {"forget": 7}, "forget must be a word, not 7"),
        ("history", {"forget": "often"}, 'forget "often" is not known'),
        ("history", {"least": 1.5}, "least must be a whole number, not 1.5"),
        ("history", {"deviations": -1}, "-1 standard deviations"),
        ("tsafrir", {"longest": 60}, "longest estimate of 60 s is outside"),
        ("mualem-feitelson", {"underestimated": 3}, "3 is not a share"),
    ],
)
def test_mistakes_name_what_is_known(model, constants, said):
    with pytest.raises(ValueError, match=said):
        with_estimates(made_log(20), model, **constants)


@pytest.mark.parametrize("model", OF_THE_PAST)
def test_a_log_in_which_nobody_knows_when_jobs_ended_is_refused(model):
    log = Log.from_columns({"submit": [0, 1], "run_time": [5, 5], "user": [1, 1]}, name="x.swf")
    with pytest.raises(LogError, match=r"x\.swf: without wait times and run times"):
        with_estimates(log, model)


@pytest.mark.parametrize(
    ("model", "more", "what"),
    [
        ("last-two", {}, r"users \(field 12\)"),
        ("last-two", {"executable": [3, 3, 3]}, r"users \(field 12\)"),
        ("history", {}, r"users \(field 12\) and no programs \(field 14\)"),
        ("history", {"executable": [3, 3, 3]}, r"users \(field 12\)"),
    ],
)
def test_where_nobody_knows_the_users_nothing_can_be_learnt_from_their_past(model, more, what):
    ended = {"submit": [0, 100, 200], "wait": [0, 0, 0], "run_time": [5, 5, 5], **more}
    log = Log.from_columns(ended, name="x.swf")
    with pytest.raises(
        LogError, match=rf"^x\.swf: names no {what}; {model} learns .* needs users; exact, uniform, .* do not$"
    ):
        with_estimates(log, model)


def test_that_users_are_unknown_is_said_before_that_wait_times_are():
    """Adding wait times first would be in vain."""
    log = Log.from_columns({"submit": [0, 1], "run_time": [5, 5]}, name="x.swf")
    with pytest.raises(LogError, match="names no users"):
        with_estimates(log, "last-two")


def test_a_log_without_estimates_has_none_to_double():
    log = Log.from_columns({"submit": [0, 1], "run_time": [5, 5]}, name="x.swf")
    with pytest.raises(LogError, match=r"x\.swf: no job has an estimate .* make estimates from run times"):
        with_estimates(log, "doubled")


def test_tsafrir_wants_to_know_the_longest_estimate_where_no_user_says_it():
    log = Log.from_columns({"submit": [0, 1], "run_time": [5, 5]}, name="x.swf")
    with pytest.raises(LogError, match=r"x\.swf: no user asked for a time; give the longest"):
        with_estimates(log, "tsafrir")
    assert (with_estimates(log, "tsafrir", longest=7200).requested_time > 0).all()


def test_the_constants_of_a_model_can_be_asked_for():
    assert constants_of("doubled") == {"factor": 2}
    assert constants_of("exact") == {}
    assert list(constants_of("uniform")) == ["factor"]


def test_a_log_that_was_written_and_read_gets_the_same_estimates():
    log = made_log()
    again = parse_swf(format_swf(log))
    for model in MODELS:
        assert (changed(log, model).requested_time == changed(again, model).requested_time).all()


# A real log


@pytest.mark.thorough
def test_on_ctc_history_covers_and_underestimates_as_many_jobs_as_published(traces):
    """Mu'alem & Feitelson 2001, section 4.4: 72.1% of the jobs that were not killed, and 19.2%.

    Not killed are jobs of status 1; with the 2,080 that cleaning removed there are 62,633, published 62,630.
    """
    from workloads.history import MeanAndDeviation
    from workloads.replay import ends, knowledge

    log = read_swf(traces / "CTC-SP2-1996-3.1-cln.swf.gz")
    judged = log.status == 1
    assert judged.sum() + 2080 == pytest.approx(62_630, abs=5)
    end, past = ends(log), MeanAndDeviation()
    keys = list(zip(log.executable.tolist(), log.user.tolist(), log.allocated_processors.tolist(), strict=True))
    known = low = 0
    for ended, row in knowledge(log.submit.astype(np.int64), end):
        if ended:
            past.ended(keys[row], int(log.run_time[row]), int(end[row]))
        elif judged[row]:
            estimate, specific = past.estimate(keys[row], int(log.submit[row]))
            known += specific
            low += estimate is not None and estimate < log.run_time[row]
    assert known / judged.sum() == pytest.approx(0.721, abs=0.01)
    assert low / judged.sum() == pytest.approx(0.192, abs=0.01)
