"""Tables of results of the study of estimates: they hold everything that the report is made of."""

from experiments.estimates.history import READINGS
from experiments.estimates.tables import TABLES


def test_each_month_of_the_jobs_with_a_history_is_a_row_in_every_reading(study):
    rows = TABLES["estimates-history"].of("history", study).rows
    (log,) = [log for log in study.logs if log.source.trace == "CTC"]  # the only one that knows programs
    found = study.asked(log, "history")
    assert {row["trace"] for row in rows} == {"CTC"}
    assert len(rows) == len(READINGS) * len(found["months"])
    for reading in READINGS:
        of_reading = [row for row in rows if row["reading"] == reading.name]
        for what in ("not killed", "with data", "underestimated with two runs"):
            total = sum(row[what.replace(" ", "_")] for row in of_reading)
            assert total == found["readings"][reading.name][what]


def test_a_count_is_a_row_in_every_reading_with_the_papers_beside_it(study):
    rows = TABLES["estimates-counts"].of("counts", study).rows
    assert len({(row["trace"], row["parameter"], row["reading"]) for row in rows}) == len(rows)
    assert {row["trace"] for row in rows if row["jobs"] is not None} == {"KTH", "CTC"}
    assert all(row["paper_jobs"] for row in rows)
