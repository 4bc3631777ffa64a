"""schemathesis sends what the OpenAPI document allows, and what it does not, to a real service.

It leaves out the endless event stream, which has its own tests. The programs it submits do not exist.
"""

import collections

import pytest
from thorough import ALL

from gas.availability import MOST_PROCESSORS
from gas.service.live import LiveScheduler
from gas.service.server import Embedded
from gas.service.token_file import add_token
from gas.service.tokens import Tokens


@pytest.fixture
def service(tmp_path, monkeypatch):
    """Start a machine so large that every size is allowed; return its address, and the headers of requests to it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    secret, _ = add_token(tmp_path / "tokens", "ada", "operator")
    scheduler = LiveScheduler("s3", MOST_PROCESSORS, tmp_path / "state")
    with Embedded(scheduler, tokens=Tokens(tmp_path / "tokens")) as embedded:
        yield embedded.url, {"Authorization": f"Bearer {secret}"}


def run(service, examples, seed, choose=lambda schema: schema):
    """Return the number of answers by status, and the problems."""
    import schemathesis  # here, not by each worker that collects this
    from schemathesis import GenerationMode, engine
    from schemathesis.config import (
        CacheConfig,
        ChecksConfig,
        GenerationConfig,
        HealthCheck,
        PositiveDataAcceptanceConfig,
        ProjectConfig,
        ProjectsConfig,
        SchemathesisConfig,
        SimpleCheckConfig,
    )
    from schemathesis.engine.events import NonFatalError, ScenarioFinished

    url, headers = service
    generation = GenerationConfig(
        modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE], max_examples=examples, no_shrink=True
    )
    checks = ChecksConfig(
        positive_data_acceptance=PositiveDataAcceptanceConfig(enabled=False),  # instants may have passed
        use_after_free=SimpleCheckConfig(enabled=False),  # a cancelled job can still be queried
    )
    project = ProjectConfig(generation=generation, checks=checks, headers=headers)
    config = SchemathesisConfig(
        seed=seed,
        projects=ProjectsConfig(default=project),
        cache=CacheConfig(enabled=False),
        suppress_health_check=[HealthCheck.too_slow],  # times are meaningless on a busy machine
    )
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", config=config, headers=headers)
    statuses, problems = collections.Counter(), []
    for event in engine.from_schema(choose(schema.exclude(path="/v1/events"))).execute():
        if isinstance(event, NonFatalError):
            problems.append(f"{event.label}: {event.value}")
        if isinstance(event, ScenarioFinished):
            recorded = event.recorder
            statuses.update(i.response.status_code for i in recorded.interactions.values() if i.response)
            for id, results in recorded.checks.items():
                for result in results:
                    if result.failure_info is not None:
                        failure = result.failure_info.failure
                        problems.append(f"{recorded.label}: {failure}\n{recorded.cases[id].value.as_curl_command()}")
    return statuses, problems


def users(schema):
    """Leave out what an operator does: it would leave nothing to schedule."""
    return schema.exclude(path="/v1/machine", method="PUT")


@pytest.mark.thorough
def test_every_answer_to_users_is_as_documented(service):
    statuses, problems = run(service, 10 if ALL else 2, 1, users)
    assert problems == []
    assert {200, 201, 401, 404, 405, 412, 422} <= statuses.keys(), statuses
    assert max(statuses) < 500


@pytest.mark.thorough
def test_every_answer_to_operators_is_as_documented(service):
    statuses = collections.Counter()
    for seed in (1, 2, 3):  # what is made up changes with every literal in the source: one may happen on no conflict
        found, problems = run(
            service, 20, seed, lambda schema: schema.include(path=["/v1/machine", "/v1/reservations"])
        )
        statuses += found
        assert problems == []
    assert {200, 401, 405, 409, 422} <= statuses.keys(), statuses
    assert max(statuses) < 500


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 8))
@pytest.mark.parametrize("choose", [users, lambda schema: schema], ids=["users", "operators"])
def test_every_answer_is_as_documented_in_thousands_of_cases(service, seed, choose):
    _, problems = run(service, 300, seed, choose)
    assert problems == []
