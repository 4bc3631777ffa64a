"""What a backtest says in words: how good predictions were, for whom they were not, and what was cut."""

from dataclasses import replace

from made_up import busy_log

from gas.cli.backtest_report import Extent, bad_sentences, good_sentences, report_of, tables_of, wire_of
from gas.cli.savings_report import savings_sentences, savings_table
from gas.intervals import Interval
from gas.prediction.backtest import Outcome
from gas.prediction.classes import JobClass
from gas.prediction.savings import Saving, Savings
from gas.report.rendering import html


def class_of(kind, name, jobs=500, held=0.9, near=0.6, width=0.02, beaten=0.6):
    held, near, beaten = (Interval(share, width) for share in (held, near, beaten))
    return JobClass(kind, name, jobs, jobs // 2, held, near, 60.0, beaten, jobs)


ALL = class_of("", "all", 1000)
EXTENT = Extent(jobs=5000, unlimited=0, left_out=0, possible=4000, wanted=2000, samples=100, longest=70)

SAVINGS = Savings((Saving("", "all", 100, 100.0, 90.0, 75.0, 60.0, Interval(25.0, 10.0), 0.1),), 80, 0.7)


def outcomes_of(jobs, wait=3000, similar=1000.0, samples=100):
    one = Outcome(
        0, 0, wait, 2000.0, 0, 4000, 0, 4000, weight=0.5, simulated=0.0, learnt=None, planned=9000, similar=similar,
        waiting=1, samples=samples, held_from=0.5, raw_held_from=0.5,
    )  # fmt: skip
    return [replace(one, row=i, submitted=60 * i) for i in range(jobs)]


def test_how_good_it_is_beside_the_best_simple_prediction():
    assert good_sentences(outcomes_of(1000), [ALL]) == [
        "90% intervals held 90 ± 2% of 1,000 recorded starts.",
        "The median error is 16m40s, against 33m20s for the best simple prediction (last similar jobs).",
        "Of the 500 jobs that waited for more than 10m, 60 ± 2% were predicted within a factor of two "
        "(last similar jobs: 0%).",
    ]
    none = replace(ALL, delayed=0, within_factor_2=None)
    assert good_sentences(outcomes_of(1000), [none])[-1] == (
        "No job waited for more than 10m: there was little to predict."
    )


def test_two_predictions_are_compared_for_the_jobs_of_which_both_said_something():
    silent = [replace(one, similar=None, median=3000.0) for one in outcomes_of(400)]  # easy ones
    outcomes = [*silent, *outcomes_of(300)]
    sentences = good_sentences(outcomes, [ALL])
    assert sentences[1] == (
        "The median error is 16m40s, against 33m20s for the best simple prediction (last similar jobs); it said "
        "nothing of 400 jobs, left out of this comparison."
    )
    assert sentences[2].endswith("(last similar jobs: 0%; Gas for the same jobs: 100%).")
    rows = {cells[0].text: [cell.text for cell in cells[1:3]] for cells in tables_of(outcomes, [ALL])[0].cells}
    assert rows["Gas"] == ["700", "0s"]
    assert (rows["last similar jobs"], rows["– Gas for the same jobs"]) == (["300", "33m20s"], ["300", "16m40s"])


def test_for_whom_it_is_not_good_is_said_with_counts_first_where_most_is_missing():
    small = class_of("partition", "gpu", 100, held=0.5)
    large = class_of("processors", "33–128", 300, held=0.7)
    assert bad_sentences([ALL, small, large]) == [
        "Fewer than 85% of the intervals held for: processors 33–128 (70 ± 2% of 300); partition gpu (50 ± 2% of 100)."
    ]
    far = class_of("walltime", "1d or more", 300, near=0.3)
    overall = replace(ALL, within_factor_2=Interval(0.4, 0.05))
    assert bad_sentences([overall, far]) == [
        "Fewer than 50% of the waits are within a factor of two on the whole, and clearly for: walltime "
        "1d or more (30 ± 2% of 150)."
    ]


def test_what_cannot_be_said_is_not_said():
    assert bad_sentences([class_of("", "all", 49)]) == [
        "These are too few to say for whom predictions are good: at least 50 are needed."
    ]
    short = replace(ALL, held=Interval(0.5, None))
    assert bad_sentences([short]) == ["The log is too short to say for whom predictions are good."]
    few, unclear = class_of("partition", "gpu", 40, held=0.1), class_of("partition", "cpu", 900, held=0.84)
    sentences = bad_sentences([ALL, few, unclear])
    assert sentences[0].startswith("For none of 1 classes of jobs is it beyond doubt that fewer than 85%")
    assert sentences[1:] == ["1 of 2 classes have fewer than 50 predictions and cannot be judged."]
    assert (
        good_sentences(outcomes_of(40), [class_of("", "all", 40)])[0] == "90% intervals held 90% of 40 recorded starts."
    )


def test_what_was_cut_is_said():
    assert EXTENT.sentences(outcomes_of(2000)) == ["Predicted at 2,000 of 4,000 submissions, evenly over the log."]
    fewer = EXTENT.sentences([*outcomes_of(90), *outcomes_of(10, samples=17)])
    assert fewer[1:] == [
        "These are fewer than 2,000, because queues were long, up to 70 jobs; --jobs 2000 predicts as many, and takes "
        "longer.",
        "At 10 of them the queue was so long that it was simulated only 17 to 99 times instead of 100.",
    ]
    whole = replace(EXTENT, wanted=4000, left_out=7).sentences(outcomes_of(4000))
    assert whole == [
        "Predicted at each of 4,000 submissions, all but the first of the log.",
        "7 jobs left out: no wait or run time, or cancelled while waiting.",
    ]


def test_classes_below_a_bound_are_marked_in_the_table_and_few_have_no_interval():
    bad, few = class_of("partition", "gpu", held=0.5), class_of("partition", "old", 20)
    rows = [[cell.text for cell in row] for row in tables_of(outcomes_of(10), [ALL, bad, few])[1].cells]
    assert [row[3] for row in rows] == ["90 ± 2%", "50 ± 2% !", "90%"]


def test_the_page_begins_with_how_good_it_is_and_for_whom_it_is_not_and_is_the_same_every_time():
    log, classes = busy_log(10, 8, seed=1), [ALL, class_of("partition", "<gpu> $x$", held=0.5)]
    outcomes = outcomes_of(1000)
    report = report_of(log, EXTENT, outcomes, classes, SAVINGS)
    assert report.lead == " ".join(good_sentences(outcomes, classes))
    assert report.sections[0].blocks[0].items == tuple(bad_sentences(classes))
    page = html(report)
    assert "partition &lt;gpu&gt; $x$" in page
    assert page == html(report_of(log, EXTENT, outcomes, classes, SAVINGS))


def test_what_choosing_would_have_saved_and_whom():
    assert savings_sentences(SAVINGS) == [
        "Had 100 jobs that met a queue chosen among half, the same and twice their processors by prediction, their "
        "mean turn-around time would have been 25 ± 10% shorter (at best 40% shorter); 10% would have ended later. "
        "This comes from a replay in which twice the processors make a job 1.8 times as fast and each job knows how "
        "long it would run at each size, as an application with a speed-up model does.",
        "At the recorded sizes, the replayed wait is within a factor of two of the recorded one for 70% of 80 jobs "
        "that waited for more than 10m.",
    ]
    assert savings_sentences(replace(SAVINGS, near=0.3))[1].endswith("10m; take this as a hint.")
    worse = replace(SAVINGS.classes[0], saved=Interval(-25.0, 10.0))
    assert "25 ± 10% longer" in savings_sentences(Savings((worse,)))[0]
    assert savings_sentences(Savings()) == ["No predicted job met a queue: there was nothing to choose."]
    few = replace(worse, jobs=20, kind="partition", name="gpu")
    rows = savings_table(Savings((SAVINGS.classes[0], few))).cells
    assert [(row[7].text, row[7].mark) for row in rows] == [("25 ± 10%", "good"), ("-25%", "quiet")]


def test_json_has_the_classes_and_the_words():
    classes = [ALL, class_of("partition", "gpu", held=0.5)]
    document = wire_of(busy_log(10, 8, seed=1), EXTENT, outcomes_of(100), classes, SAVINGS)
    assert document["savings"]["classes"][0]["saved"] == {"mean": 25.0, "half_width": 10.0}
    assert document["possible"] == 4000
    gpu = document["classes"][1]
    assert (gpu["by"], gpu["name"], gpu["held"], gpu["too_narrow"]) == (
        "partition", "gpu", {"mean": 0.5, "half_width": 0.02}, True,
    )  # fmt: skip
    assert document["in_words"][0].startswith("90% intervals held")
