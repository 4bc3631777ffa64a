"""A backtest in words: accuracy of predictions, for whom they were inaccurate, and omissions."""

from dataclasses import replace

from made_outcomes import ALL, EXTENT, class_of, outcomes_of

from gas.cli.backtest_words import bad_sentences, good_sentences
from gas.intervals import Interval


def test_how_good_it_is_beside_the_best_simple_prediction():
    assert good_sentences(outcomes_of(1000), [ALL]) == [
        "90 ± 2% of 1,000 recorded starts were inside their 90% intervals; half of the intervals are wider than 1h30m.",
        "The median error is 16m40s, against 33m20s for the best simple prediction (last similar jobs).",
        "Of the 500 jobs that waited for more than 10m, 60 ± 2% were predicted within a factor of two "
        "(last similar jobs: 0%); their median error is 16m40s (last similar jobs: 33m20s).",
    ]
    none = replace(ALL, delayed=0, within_factor_2=None)
    assert good_sentences(outcomes_of(1000), [none])[-1] == (
        "No job waited for more than 10m: there was little to predict."
    )


def test_intervals_of_one_instant_and_the_others_are_counted_apart():
    """No width makes the first hold for 90%, so the share of all says little of the others."""
    at_once = [replace(one, low=0, high=0, wait=0) for one in outcomes_of(600)]
    wide = [replace(one, low=0, high=one.wait - (number < 50)) for number, one in enumerate(outcomes_of(200))]
    said = good_sentences([*at_once, *wide], [ALL])[1]
    assert said == (
        "75% of the intervals are a single instant, such as the submission: 100% of these contained the start, against "
        "75% of the other intervals."
    )
    assert good_sentences(at_once, [ALL])[1].endswith("submission: 100% of these contained the start.")
    assert good_sentences([*at_once[:49], *wide], [ALL])[1].startswith("The median error is "), "too few of them"


def test_two_predictions_are_compared_for_the_jobs_of_which_both_said_something():
    silent = [replace(one, similar=None, median=3000.0) for one in outcomes_of(400)]  # easy ones
    outcomes = [*silent, *outcomes_of(300)]
    sentences = good_sentences(outcomes, [ALL])
    assert sentences[1] == (
        "The median error is 16m40s, against 33m20s for the best simple prediction (last similar jobs); this "
        "comparison omits 400 jobs without a simple prediction."
    )
    assert sentences[2].endswith(
        "(last similar jobs: 0%; Gas for the same jobs: 100%); their median error is 0s "
        "(last similar jobs: 33m20s; Gas for the same jobs: 16m40s)."
    )


def test_where_the_simple_prediction_is_closer_that_is_said():
    outcomes = outcomes_of(300, similar=2900.0)
    assert good_sentences(outcomes, [ALL])[1] == (
        "The median error is 16m40s, against 1m40s for the best simple prediction (last similar jobs), which is closer."
    )


def test_half_of_the_jobs_that_waited_are_of_all_of_them():
    far = [replace(one, similar=None, median=one.wait + 99_999.0) for one in outcomes_of(1500)]
    sentence = good_sentences([*far, *outcomes_of(300)], [ALL])[2]
    assert "; their median error is 1d03h (last similar jobs: 33m20s; Gas for the same jobs: 16m40s)." in sentence


def test_for_whom_it_is_not_good_is_said_with_counts_first_where_most_is_missing():
    small = class_of("partition", "gpu", 100, held=0.5)
    large = class_of("processors", "33–128", 300, held=0.7)
    assert bad_sentences([ALL, small, large]) == [
        "Significantly fewer than 85% of the intervals contain the start: for processors 33–128 (70 ± 2% of 300); "
        "partition gpu (50 ± 2% of 100)."
    ]
    far = class_of("walltime", "1d or more", 300, near=0.3)
    overall = replace(ALL, within_factor_2=Interval(0.4, 0.05))
    assert bad_sentences([overall, far]) == [
        "Significantly fewer than 50% of the waits above 10m are predicted within a factor of two: overall, and for "
        "walltime 1d or more (30 ± 2% of 150)."
    ]


def test_it_is_said_how_many_jobs_predicted_to_start_at_once_waited():
    """None of these can be within a factor of two."""
    at_once = replace(class_of("predicted wait", "under 1m", 400), within_factor_2=None, delayed=20)
    assert bad_sentences([ALL, at_once]) == [
        "Of the 400 jobs with a predicted wait under 1m, 20 (5%) waited for more than 10m."
    ]


def test_what_cannot_be_said_is_not_said():
    assert bad_sentences([class_of("", "all", 49)]) == [
        "Too few predictions to compare classes of jobs: at least 50 are needed."
    ]
    short = replace(ALL, held=Interval(0.5, None))
    assert bad_sentences([short]) == ["The log is too short to compare classes of jobs."]
    few, unclear = class_of("partition", "gpu", 40, held=0.1), class_of("partition", "cpu", 900, held=0.84)
    sentences = bad_sentences([ALL, few, unclear])
    assert sentences[0].startswith(
        "The only class of jobs with at least 50 predictions is not significantly below its bound: 85%"
    )
    assert bad_sentences([ALL, few, unclear, replace(unclear, name="all")])[0].startswith(
        "None of the 2 classes of jobs with at least 50 predictions is significantly below"
    )
    assert bad_sentences([ALL, few, unclear], more=True)[1].endswith("cannot be judged; predict more jobs (--jobs N).")
    assert sentences[1:] == ["1 of 2 classes have fewer than 50 predictions and cannot be judged."]
    assert good_sentences(outcomes_of(40), [class_of("", "all", 40)])[0].startswith(
        "90% of 40 recorded starts were inside their 90% intervals; "
    )


def test_what_was_cut_is_said():
    assert EXTENT.sentences(outcomes_of(2000)) == [
        "Gas predicted 2,000 of 4,000 submissions, spread evenly over the log."
    ]
    fewer = EXTENT.sentences([*outcomes_of(90), *outcomes_of(10, samples=17), *outcomes_of(3, samples=0)])
    assert fewer[1:] == [
        "For 3 of them more than 400 jobs waited: Gas does not simulate queues of that length. It predicted from "
        "learned waits alone, and excluded these jobs from the savings.",
        "For 10 of them the queue was so long that Gas simulated it only 17 to 99 times instead of 100.",
    ]
    whole = replace(EXTENT, left_out=7).sentences(outcomes_of(4000))
    assert whole == [
        "Gas predicted 4,000 submissions: all but the first of the log.",
        "7 jobs left out: no wait or run time, or cancelled while waiting.",
    ]


def test_a_machine_that_is_too_small_for_its_log_is_said():
    """With the wrong number of processors, the replay would promise savings of another machine."""
    small = replace(EXTENT, machine=16, most_used=64, overfull=0.58)
    assert small.sentences(outcomes_of(2000))[1:] == [
        "For 58% of the time the log has more than 16 processors in use, up to 64. If the machine has more than that "
        "(--processors), predictions and savings are wrong."
    ]
    assert replace(small, overfull=0.03).doubt == ""  # as jobs that follow each other count twice for a moment
