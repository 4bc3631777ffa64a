"""A real OAR: queried, interpreted, predicted and submitted to; skipped without one.

It is the one whose commands are found here, and the jobs are the user's own: short probes, each cancelled at once.
"""

import os
import pwd
import shutil
import time
import uuid

import numpy as np
import pytest

from documents.fields import Fields
from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.oar.endpoint import OarEndpoint
from gas.errors import BadInput, GasError

pytestmark = pytest.mark.live

SHAPES = [(1, 300), (2, 600), (3, 60), (5, 1800), (8, 900)]
PATIENCE_SECONDS = 30


def described(*command):
    """Return a job that leaves no files."""
    return JobDescription("gas-probe", command, native=("--stdout=/dev/null", "--stderr=/dev/null"))


def configured(**table):
    """Return an endpoint of the OAR on this machine, or skip."""
    if shutil.which("oarstat") is None:
        pytest.skip("needs OAR: there is no oarstat here")
    if os.getuid() == 0:
        pytest.skip("OAR takes no jobs from root; run it as an ordinary user")
    made = OarEndpoint.configured("live", Fields(table, "table"))
    try:
        made.availability()
    except GasError as error:
        pytest.skip(f"needs an OAR that answers: {error}")
    return made


@pytest.fixture(params=["commands", "rest"])
def live(request):
    if request.param == "commands":
        return configured()
    url = os.environ.get("GAS_TEST_OAR_URL")
    if url is None:
        pytest.skip("needs the REST API of an OAR: its address in GAS_TEST_OAR_URL")
    return configured(url=url, ident=pwd.getpwuid(os.getuid()).pw_name)


def planned_start(live, id):
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        job = live.job(id)
        if job["expected"] is not None:
            return job["expected"]
        time.sleep(0.5)
    pytest.fail(f"OAR has made no plan for job {id} within {PATIENCE_SECONDS} s")


def test_probes_are_planned_where_they_were_predicted(live):
    """Within a minute: a start now is that of OAR's next pass, and jobs cancelled just before are still in its way."""
    for processors, walltime in SHAPES:
        found = live.availability()
        if processors > found.processors:
            continue
        predicted = int(found.anchors(np.array([processors]), np.array([walltime]), 0)[0])
        job = live.submit(Request(processors, walltime), described("true"), uuid.uuid4().hex)
        try:
            assert abs(planned_start(live, job["id"]) - predicted) <= 60, (processors, walltime)
        finally:
            live.cancel(job["id"])


def test_a_key_makes_one_job_that_can_be_found_and_cancelled(live):
    key = uuid.uuid4().hex
    job = live.submit(Request(1, 120), described("sleep", "60"), key)
    try:
        assert live.submit(Request(2, 60), described("sleep", "60"), key)["id"] == job["id"]
        assert live.job_by_key(key)["id"] == job["id"]
        assert job["mine"]
    finally:
        live.cancel(job["id"])
    ends = time.monotonic() + PATIENCE_SECONDS
    while live.job(job["id"])["finished"] is None and time.monotonic() < ends:
        time.sleep(0.5)
    assert live.job_by_key(key)["state"] == "cancelled"


def test_a_condition_that_the_database_does_not_understand_is_an_error():
    configured()
    with pytest.raises(BadInput, match="does not understand the condition"):
        OarEndpoint.configured("live", Fields({"properties": "resource_id <> <"}, "table")).availability()


@pytest.mark.parametrize("table", [{"resource": "network_address/resource_id=1"}, {"queue": "besteffort"}])
def test_probes_of_hosts_and_of_besteffort_are_planned_where_they_were_predicted(table):
    made = configured(**table)
    predicted = int(made.availability().anchors(np.array([1]), np.array([300]), 0)[0])
    job = made.submit(Request(1, 300), described("true"), uuid.uuid4().hex)
    try:
        assert abs(planned_start(made, job["id"]) - predicted) <= 60
        assert job["processors"] == 1
    finally:
        made.cancel(job["id"])


def test_a_job_of_several_shapes_is_watched_by_oar_itself():
    made = configured(moldable=True)
    job = made.submit(Request(2, 120, alternatives=((1, 240),)), described("true"), uuid.uuid4().hex)
    try:
        why = made.why_unchanged(job["id"])
        assert "of its 2 shapes (2 resource_id for 2m00s, 1 resource_id for 4m00s)" in why
    finally:
        made.cancel(job["id"])
