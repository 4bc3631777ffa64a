"""What counts as met, and the page that is made of what was measured."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
from measured_page import page_of, wilson
from queues import Measured, Said, line_of, read_lines

NOW = 1_800_000_000
PLANNED = Measured("fifo", "24.11", "24.11.5", "9-0", 0, ("--ntasks=4",), NOW, NOW + 600, "Priority", "", NOW + 9000)
UNPLANNED = replace(PLANNED, planned=None, reason="QOSMaxJobsPerUserLimit")


def met(one, **said):
    return replace(one, said={"commands": Said(**said)}).met("commands")


@pytest.mark.parametrize(
    ("one", "said", "right"),
    [
        (PLANNED, {"start": NOW + 660}, True),
        (PLANNED, {"start": NOW + 661}, False),
        (PLANNED, {"start": NOW + 600, "listed": False}, False),
        (PLANNED, {"start": None}, False),
        (PLANNED, {"error": "Unreachable: no answer"}, False),
        (UNPLANNED, {"start": NOW}, False),
        (UNPLANNED, {"start": NOW, "listed": False}, True),
        (UNPLANNED, {"start": None}, True),
        (UNPLANNED, {"error": "Unreachable: no answer"}, False),
        (replace(UNPLANNED, refused="Invalid qos"), {"error": "BadInput: the QOS may not be used"}, True),
    ],
)
def test_a_probe_is_met_within_the_resolution_or_where_no_plan_is_foreseen(one, said, right):
    assert met(one, **said) is right


def test_a_start_that_slurm_publishes_of_a_job_at_a_limit_need_not_be_believed():
    limited = replace(PLANNED, limit="AssocGrpCpuLimit")
    assert met(limited, start=None)
    assert met(limited, start=NOW + 600)
    assert not met(limited, start=NOW)
    assert replace(limited, said={"commands": Said(start=NOW)}).wrong_now("commands")


def test_what_is_said_to_start_now_and_never_planned_is_wrong():
    found = replace(UNPLANNED, said={"commands": Said(start=NOW + 1)})
    assert found.wrong_now("commands")
    assert not replace(found, planned=NOW + 9).wrong_now("commands")


def test_probes_are_the_same_when_they_are_read_again(tmp_path):
    said = {"commands": Said(start=NOW, remarks=("a", "b")), "rest": Said(error="x: y", cause="z")}
    found = replace(PLANNED, said=said)
    (tmp_path / "found.jsonl").write_text(line_of(found))
    assert read_lines([tmp_path / "found.jsonl"]) == [found]


def test_the_page_has_a_row_a_kind_and_every_cause():
    right, wrong = Said(start=NOW + 600), Said(start=NOW, cause="too early")
    found = [
        replace(PLANNED, said={"commands": right, "rest": right}),
        replace(PLANNED, kind="gpus", number=1, said={"commands": wrong, "rest": right}),
        replace(UNPLANNED, kind="gpus", number=2, said={"commands": wrong, "rest": wrong}),
    ]
    page = page_of(found)
    assert "3 probes on 2 random queues of private Slurms 24.11.5" in page
    assert "| fifo | 1 | 1 | 100.0% (20.7% to 100.0%) | 1 of 1 | 0 of 0 | 0 | 0 / 0 | 0 of 1 |" in page
    assert "| gpus | 2 | 0 | 0.0% (0.0% to 65.8%) | 0 of 1 | 0 of 1 | 1 | 600 / 600 | 0 of 1 |" in page
    assert "| too early | 2 | 1 | gpus (3) |" in page


def test_no_probes_make_a_page_that_says_so():
    assert "Nothing has been measured" in page_of([])


def test_wilson_s_interval():
    assert wilson(9, 10) == pytest.approx((0.596, 0.982), abs=0.001)
