"""The report on the bake-off: the months that judge, and those for tuning."""

from dataclasses import replace

from experiments.framework.logs import find_logs
from experiments.prediction.bakeoff import SCORES, wait_runs
from experiments.prediction.bakeoff_report import bakeoff_claims, bakeoff_lead, bakeoff_sections
from experiments.prediction.results import FULL, Results

MONTHS = [f"{year}-{month:02}" for year in (1997, 1998) for month in range(1, 13)]


def result(name, rows, waits):
    months = [MONTHS[i * len(MONTHS) // len(waits)] for i in range(len(waits))]
    return {"jobs": len(waits), "month": months, "wait": list(waits), "predicted": {name: rows}}


def test_claims_and_tables_are_of_months_that_judge(made_logs):
    (log,) = (one for one in find_logs(made_logs)[0] if one.source.trace == "KTH")
    runs = [replace(wait_runs([log], 50, 10, 0)[0][0], truth="recorded", method=of) for of in ("gas", "boosting")]
    good, bad = [[0, 1210, 2000]] * 240, [[0, 9000, 9900]] * 240
    both = [result("gas", good, [1200] * 240), result("boosting", bad, [1200] * 240)]
    study = Results(FULL, [], [], [], [], waits=list(zip(runs, both, strict=True)))
    assert study.compared(log, "recorded").months[0] == "1997-04"
    assert study.compared(log, "recorded", tuning=True).months[-1] == "1997-03"
    verdicts = {claim.text.partition(": ")[2]: claim.holds for claim in bakeoff_claims(study)}
    assert verdicts["the median error of Gas is at most half of that of gradient boosting"] is True
    assert verdicts["Gas is better than every other method on every score"] is True
    assert verdicts["85 to 95% of the 90% intervals contain the wait"] is False  # all do
    titles = [section.title for section in bakeoff_sections(study)]
    assert [title for title in titles if title.startswith("KTH")] == [
        "KTH: the recorded starts, test months",
        "KTH: the recorded starts, tuning months",
    ]


def test_where_no_job_waited_for_ten_minutes_no_method_is_first_within_a_factor_of_two(made_logs):
    """A user's own log may have no queue; then no recorded wait counts for that score."""
    (log,) = (one for one in find_logs(made_logs)[0] if one.source.trace == "KTH")
    runs = [replace(wait_runs([log], 50, 10, 0)[0][0], truth="recorded", method=of) for of in ("gas", "boosting")]
    both = [result(of, [[0, 0, 5]] * 80, [0] * 80) for of in ("gas", "boosting")]
    study = Results(FULL, [], [], [], [], waits=list(zip(runs, both, strict=True)))
    assert study.compared(log, "recorded").first(SCORES["factor"]) is None
    assert any(section.title == "KTH: the recorded starts, test months" for section in bakeoff_sections(study))
    (near,) = (claim for claim in bakeoff_claims(study) if "waits above ten minutes" in claim.text)
    assert (near.holds, near.here) == (None, "no such job")
    (lead,) = bakeoff_lead(study)
    assert "100% within ten minutes, 100% in 90% intervals" in lead
