"""Jobs of an OAR as futures."""

import concurrent.futures

import pytest

import gas
from documents.fields import Fields
from gas.agent import futures
from gas.endpoints.oar.endpoint import OarEndpoint


@pytest.fixture
def submit(oar, monkeypatch):
    """Submit a command to the programs of an OAR."""
    monkeypatch.setattr(futures, "WAITING_PAUSES", (0.02, 0.1))
    where = OarEndpoint.configured(f"oar at {oar.folder}", Fields({}, "table"))
    return lambda *words: gas.submit({2: "10m", 4: "3m"}, list(words), where)


def ended(oar, job, state, **more):
    (found,) = (one for one in oar.jobs if one["Job_Id"] == job.id)
    oar.put(**{**found, "state": state, "startTime": 1, "stopTime": 2, **more})


@pytest.mark.thorough
def test_a_job_ends_well_or_fails_or_is_cancelled(oar, submit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good, bad, dropped = (submit("./lu", "{processors}") for _ in range(3))
    assert not good.done()
    ended(oar, good, "Terminated", exit_code=0)
    ended(oar, bad, "Terminated", exit_code=7 << 8)
    assert good.result(timeout=20).id == good.id
    error = bad.exception(timeout=20)
    assert isinstance(error, gas.JobFailed)
    assert error.exit_status == 7
    assert dropped.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        dropped.result(timeout=20)
