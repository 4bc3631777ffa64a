"""The same words of Slurm's are the same kind of error, whether its commands or slurmrestd say them."""

import pytest
from slurm_rest import Answer, slurmrestd

from gas.endpoints.sending import NotSent, Unclear
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.refusals import AWAY, KINDS, LOST, kind_of
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, NotFound, OverLimit, Unreachable

BATCH = Batch("ocean.gas-0123456789abcdef", "#!/bin/sh\ntrue\n", Shape(16, None, 30))
UNABLE = "Unable to contact slurm controller"

WORDS = {
    f"{UNABLE} (connect failure)": NotSent,
    "Communication connection failure": NotSent,
    f"{UNABLE} (receive failure)": Unclear,
    f"{UNABLE} (shutdown failure)": Unclear,
    f"{UNABLE} (connect failure); Socket timed out on send/recv operation": Unclear,
    "Zero Bytes were transmitted or received": Unclear,
    "Header lengths are longer than data received": Unclear,
    "Message receive failure": Unclear,
    "Invalid job id specified": NotFound,
    "Access/permission denied": Forbidden,
    "Invalid account or account/partition combination specified": Forbidden,
    "User's group not permitted to use this partition": Forbidden,
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": OverLimit,
    "Job is no longer pending execution": Conflict,
    "Job/step already completing or completed": Conflict,
    "Requested time limit is invalid (missing or exceeds some limit)": BadInput,
    "Invalid partition name specified": BadInput,
}
"""Words of src/common/slurm_errno.c, and what they mean to who submits."""

ASKED = {Unclear: Unreachable, BadInput: Unreachable}
"""What they mean to who only asks, where that is something else."""


@pytest.fixture
def rest():
    """Return a slurmrestd and what speaks to it, without a token, as some words may mean that too."""
    with slurmrestd() as server:
        tokens = Tokens(server.url, environment={})
        yield server, RestTransport("rest", server.url, user="ann", tokens=tokens, version="v0.0.38")


@pytest.mark.parametrize("words", WORDS)
def test_what_is_answered_to_a_submission_is_the_same_by_both_transports(slurm, rest, words):
    server, over_rest = rest
    slurm.does("sbatch", f'echo "sbatch: error: Batch job submission failed: {words}" >&2; exit 1')
    server.answers["*"] = Answer({"errors": [{"error": words, "error_number": -1}]}, 500)
    for transport in (CommandTransport("commands", folder=str(slurm.folder)), over_rest):
        with pytest.raises(WORDS[words]) as raised:
            transport.submit(BATCH)
        assert type(raised.value) is WORDS[words]
        assert words in str(raised.value)


@pytest.mark.parametrize("words", [one for one, kind in WORDS.items() if kind is not NotFound])
def test_what_is_answered_to_a_question_is_the_same_by_both_transports(slurm, rest, words):
    server, over_rest = rest
    slurm.does("squeue", f'echo "slurm_load_jobs error: {words}" >&2; exit 1')
    server.answers["*"] = Answer({"errors": [{"error": words, "error_number": -1}]}, 500)
    for transport in (CommandTransport("commands", folder=str(slurm.folder)), over_rest):
        with pytest.raises(Exception) as raised:
            transport.jobs(ids=[7])
        assert type(raised.value) is ASKED.get(WORDS[words], WORDS[words])


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("other", [*KINDS, *LOST])
def test_a_lost_answer_leaves_a_doubt_whatever_else_is_said(lost, other):
    assert kind_of(f"{other}; {lost}", sends=True, acts=True) is Unclear


@pytest.mark.parametrize("away", AWAY)
def test_what_has_not_been_heard_has_done_nothing(away):
    assert kind_of(away, sends=True, acts=True) is NotSent
    assert all(kind_of(f"{away}; {lost}", sends=True, acts=True) is Unclear for lost in LOST if lost != UNABLE)
