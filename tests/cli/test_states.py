"""Jobs in a table, and the exit code for their end."""

import pytest
from made_endpoints import job

from gas.agent.states import ENDED
from gas.cli.states import ends_text, report_end, starts_text, walltime_text
from gas.errors import JobFailed


@pytest.mark.parametrize(
    ("found", "starts", "ends"),
    [
        (job(7, "queued", expected=160), "in 1m00s?", ""),
        (job(7, "queued", expected=40), "now?", ""),  # should have started, but is still waiting
        (job(7, "queued"), "not planned", ""),
        (job(7, "queued", promise=160, due=220), "in 1m00s", "in 2m00s"),
        (job(7, "running", expected=70, start=70, due=130), "30s ago", "in 30s"),
        (job(7, "running", start=70), "30s ago", ""),
        (job(7, "cancelled", finished=90), "never", "10s ago"),
        (job(7, "lost"), "never", ""),
    ],
)
def test_a_job_in_a_table(found, starts, ends):
    assert (starts_text(found, 100), ends_text(found, 100)) == (starts, ends)


@pytest.mark.parametrize("state", ENDED)
def test_only_a_job_that_completed_has_ended_well(state, capsys):
    found = job(7, state, start=60, finished=90)
    if state == "completed":
        report_end(found, quiet=False)
        assert "completed" in capsys.readouterr().out
    else:
        with pytest.raises(JobFailed, match=state):
            report_end(found, quiet=False)


def test_a_walltime_in_a_table():
    assert (walltime_text(job(7, "running", walltime=None)), walltime_text(job(7, "queued"))) == ("unlimited", "1m00s")
