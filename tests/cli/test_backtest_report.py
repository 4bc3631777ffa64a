"""The output of a backtest: tables, a page, JSON."""

from dataclasses import replace

from made_outcomes import ALL, EXTENT, class_of, outcomes_of
from made_up import busy_log

from gas.cli.backtest_report import report_of, tables_of, wire_of
from gas.cli.backtest_words import bad_sentences, good_sentences
from gas.cli.savings_report import savings_sentences, savings_table
from gas.intervals import Interval
from gas.prediction.savings import Saving, Savings
from gas.report.rendering import html

SAVINGS = Savings((Saving("", "all", 100, 100.0, 90.0, 75.0, 60.0, Interval(25.0, 10.0), 0.1),), 80, 0.7)


def test_below_a_way_that_did_not_say_something_of_each_job_stands_gas_for_the_same_jobs():
    silent = [replace(one, similar=None, median=3000.0) for one in outcomes_of(400)]
    outcomes = [*silent, *outcomes_of(300)]
    rows = {cells[0].text: [cell.text for cell in cells[1:3]] for cells in tables_of(outcomes, [ALL])[0].cells}
    assert rows["Gas"] == ["700", "0s"]
    assert (rows["last similar jobs"], rows["– Gas for the same jobs"]) == (["300", "33m20s"], ["300", "16m40s"])


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
    for words in (
        "the share among the last predictions, whose number is at the axis",
        "Numbers on the right count jobs; pale",
    ):
        assert words in page
    assert page == html(report_of(log, EXTENT, outcomes, classes, SAVINGS))


def test_what_choosing_would_have_saved_and_whom():
    assert savings_sentences(SAVINGS) == [
        "Suppose that Gas had chosen by prediction, for 100 jobs submitted while others waited, among half, the same "
        "and twice their processors. Their mean turn-around time would have been 25 ± 10% shorter (choosing by plan: "
        "10% shorter; the best choice in hindsight: 40% shorter); 10% would have ended later. This result is from a "
        "replay that assumes that twice the processors make a job 1.8 times as fast, and that the run time at each "
        "size is known, as from a speed-up model.",
        "At the recorded sizes, the replay gives a wait within a factor of two of the recorded one for 70% of 80 jobs "
        "that waited for more than 10m.",
    ]
    assert savings_sentences(replace(SAVINGS, near=0.3))[1].endswith("10m; so the saving is only a rough indication.")
    worse = replace(SAVINGS.classes[0], saved=Interval(-25.0, 10.0))
    assert "25 ± 10% longer" in savings_sentences(Savings((worse,)))[0]
    assert savings_sentences(Savings()) == [
        "No predicted job was submitted while 1 to 400 others waited: there was nothing to choose."
    ]
    unsure = replace(SAVINGS.classes[0], saved=Interval(20.0, 20.0))
    assert "20 ± 20% shorter, which is not significant (choosing" in savings_sentences(Savings((unsure,)))[0]
    for_some = Savings((SAVINGS.classes[0], replace(worse, kind="processors", name="9–32")))
    assert savings_sentences(for_some)[1] == "Significantly longer for: processors 9–32 (25% longer)."
    few = replace(worse, jobs=20, kind="partition", name="gpu")
    rows = savings_table(Savings((SAVINGS.classes[0], few))).cells
    assert [(row[7].text, row[7].mark) for row in rows] == [("25 ± 10%", "good"), ("-25%", "quiet")]


def test_json_has_the_classes_and_the_words():
    classes = [ALL, class_of("partition", "gpu", held=0.5)]
    document = wire_of(busy_log(10, 8, seed=1), EXTENT, outcomes_of(100), classes, SAVINGS)
    assert document["savings"]["classes"][0]["saved"] == {"mean": 25.0, "half_width": 10.0}
    assert document["possible"] == 4000
    gpu = document["classes"][1]
    assert (gpu["by"], gpu["name"], gpu["held"], gpu["median_width"], gpu["too_narrow"]) == (
        "partition", "gpu", {"mean": 0.5, "half_width": 0.02}, 5400.0, True,
    )  # fmt: skip
    assert document["in_words"][0].partition("; ")[0].endswith("were inside their 90% intervals")
    assert document["doubt"] == ""


def test_json_says_where_the_machine_may_be_larger_than_was_given():
    small = replace(EXTENT, machine=16, most_used=64, overfull=0.58)
    document = wire_of(busy_log(10, 8, seed=1), small, outcomes_of(100), [ALL], SAVINGS)
    assert [document[name] for name in ("processors", "most_used", "overfull")] == [16, 64, 0.58]
    assert "has more than 16 processors in use, up to 64" in document["doubt"]
