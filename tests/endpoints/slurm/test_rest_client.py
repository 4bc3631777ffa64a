"""A slurmrestd: which version it speaks, and what its answers say went wrong."""

import pytest
from slurm_rest import CUT, JOB, JOB_0, SILENCE, SUBMIT, Answer, error_of, refused, transport

from gas.endpoints.sending import Unclear
from gas.endpoints.slurm.transport import Shape
from gas.errors import BadInput, Unauthorized, Unreachable


def test_the_newest_version_that_is_understood_is_taken_and_asked_for_once(server):
    server.offers("v0.0.36", "v0.0.40", "v0.0.9", "v0.0.99")
    rest = transport(server)
    assert (rest.version(), rest.version()) == (40, 40)
    assert [path for path, _ in server.asked("GET")] == ["/openapi/v3"]


def test_a_version_that_the_user_names_is_taken_unasked(server):
    transport(server, version="v0.0.38").jobs()
    assert [path for path, _ in server.asked("GET")] == ["/slurm/v0.0.38/jobs"]


def test_a_version_that_is_not_offered_is_refused_with_those_that_are(server):
    server.offers("v0.0.36", "v0.0.38")
    error = error_of(lambda: transport(server, version="v0.0.40").cluster("x"))
    assert isinstance(error, BadInput)
    assert "v0.0.40/diag (HTTP 404): it offers v0.0.36, v0.0.38; give one of them as version" in str(error)


def test_no_version_that_is_understood(server):
    server.offers("v0.0.35", "v0.0.99")
    error = error_of(transport(server).version)
    assert isinstance(error, Unreachable)
    assert "offers v0.0.35, v0.0.99, none from v0.0.36 to v0.0.46" in str(error)


@pytest.mark.parametrize("version", ["v0.0.35", "40", "v0.0.x", "v1.0.38", "v0.0.38\n"])
def test_a_version_that_gas_does_not_understand(server, version):
    assert "is not a version that Gas supports: those from v0.0.36" in str(
        error_of(lambda: transport(server, version=version))
    )


@pytest.mark.parametrize("description", [{}, {"paths": 7}, {"paths": []}])
def test_a_description_that_is_none(server, description):
    server.answers["GET", "/openapi/v3"] = Answer(description)
    error = error_of(transport(server).version)
    assert isinstance(error, Unreachable)
    assert f"{server.url}/openapi/v3 has no key paths; is it slurmrestd?" in str(error)


def test_a_token_that_is_missing_is_told_with_the_way_out(server):
    server.answers = {"*": Answer("Authentication failure", 401, "text/plain")}
    error = error_of(lambda: transport(server, secret=None, version="v0.0.38").cluster("x"))
    assert type(error) is Unauthorized
    assert "HTTP 401); no token was sent: put what scontrol token prints into SLURM_JWT" in str(error)


def test_a_token_that_slurmctld_does_not_accept_is_told_from_a_slurmctld_that_is_away(server):
    """v0.0.38 says "Unspecified error" of both, but not to a signal to the job that there never is."""
    server.answers["GET", "/slurm/v0.0.38/diag"] = refused("Unspecified error", statistics={})
    server.answers["DELETE", JOB_0] = refused("Zero Bytes were transmitted or received")
    error = error_of(lambda: transport(server).cluster("x"))
    assert type(error) is Unauthorized
    assert "does not accept the token (Unspecified error); the token of SLURM_JWT was sent; scontrol token" in str(
        error
    )
    server.answers["DELETE", JOB_0] = refused("Unable to contact slurm controller (connect failure)")
    error = error_of(lambda: transport(server).cluster("x"))
    assert type(error) is Unreachable
    assert str(error).endswith("Slurm answers: Unspecified error; is slurmctld up?")


def test_a_submission_that_slurmctld_hung_up_on_is_unclear_unless_it_was_the_token(server):
    server.answers["POST", SUBMIT] = refused("Zero Bytes were transmitted or received")
    for words, kind in (
        ("Zero Bytes were transmitted or received", Unauthorized),
        ("Unable to contact slurm controller (connect failure)", Unclear),
        ("Invalid job id specified", Unclear),
    ):
        server.answers["DELETE", JOB_0] = refused(words)
        assert type(error_of(lambda: transport(server).submit(JOB))) is kind


def test_only_a_slurmctld_that_is_away_is_meant_where_no_token_was_sent(server):
    server.answers["GET", "/slurm/v0.0.38/diag"] = refused("Unspecified error")
    assert type(error_of(lambda: transport(server, secret=None).cluster("x"))) is Unreachable
    assert not server.asked("DELETE")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (CUT, "cannot be reached"),
        (SILENCE, "did not answer within 0.5 s"),
        (Answer("<html><h1>Oops</h1>", 502, "text/html"), 'HTTP 502 and "<html><h1>Oops</h1>"; is it slurmrestd?'),
        (Answer("Oops", 500, "text/plain"), 'answered GET jobs with HTTP 500 and "Oops"'),
        (
            Answer("<html>Log in</html>", 200, "text/html"),
            'answered jobs with "<html>Log in</html>", which is not a JSON',
        ),
        (Answer('{"jobs": [{"job_id": 1, '), "jobs: the answer is not JSON, or cut off"),
        (Answer('{"jobs": []}', missing=9), "cannot be reached"),
        (Answer("null"), 'answered jobs with "null"'),
        (Answer(b"\xff\xfe{"), "which is not a JSON"),
        (Answer(b'{"jobs": "\xff"}'), "is not a list"),
        (Answer("[" * 100_000), "which is not a JSON"),
        (Answer('{"jobs":' * 50_000), "the answer is not JSON"),
        (Answer({"jobs": [7]}), "jobs[0]: 7 is not an object"),
        (Answer({"errors": [{"description": "down", "error": "for lunch"}], "jobs": []}), 'Slurm answers "for lunch"'),
        (Answer({"errors": [7, {"code": 3}, "no", None]}, 500), "Slurm answers: 7; {'code': 3}; no; None"),
        (Answer({"errors": {"error": "odd"}}, 500), "Slurm answers: odd"),
        (Answer("", 302), "HTTP 302"),
    ],
)
def test_odd_answers_name_the_address_and_what_came(server, answer, told):
    server.answers["GET", "/slurm/v0.0.38/jobs"] = answer
    error = error_of(lambda: transport(server, timeout=0.5, version="v0.0.38").jobs())
    assert type(error) is Unreachable
    assert told in str(error)
    assert str(error).startswith(f"deep: {server.url}")
    assert "\n" not in str(error)


@pytest.mark.parametrize("method", ["cancel", "reshape"])
def test_actions_that_make_nothing_are_never_unclear(server, method):
    server.answers["*"] = CUT
    rest = transport(server)
    action = {"cancel": lambda: rest.cancel(7), "reshape": lambda: rest.reshape(7, Shape(1, None, 1))}[method]
    assert type(error_of(action)) is Unreachable
