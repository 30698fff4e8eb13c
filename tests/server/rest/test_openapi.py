"""The OpenAPI document is complete, and the server does what it says, also for hostile requests.

``make soak`` sends more requests to each operation, and includes the slow ones.
"""

from __future__ import annotations

import os

import pytest
import schemathesis
from schemathesis.engine import events, from_schema
from tests.server.conftest import make_project, own_environment
from tests.soak import SOAK, effort

from dibs.server.app import build
from dibs.server.rest.app import TABLE
from dibs.server.rest.openapi import EXAMPLES, document
from dibs.server.security.identity import TokenScope

#: A sample of the operations, which takes a few seconds: each kind of body, query, and answer.
SAMPLE = "^(claims.(create|list|show|renew)|agents.join|log.list|coordination.(lock|unlock)|projects.add)$"


def test_every_operation_is_described_with_its_answers_errors_and_scope():
    described = document(TABLE)
    operations = {
        one["operationId"]: one for path in described["paths"].values() for one in path.values()
    }

    assert sorted(operations) == sorted(route.name for _, route in TABLE)
    assert set(EXAMPLES) <= set(operations)
    for one in operations.values():
        assert one["summary"]
        assert one["x-scope"] in {"read", "agent", "human", "admin"}
        assert {"400", "401", "403", "404", "500", "503"} <= set(one["responses"])


@pytest.fixture
def served(short_tmp, monkeypatch):
    """The whole application with a token that allows everything."""
    from dibs.server.resident import Resident

    base = short_tmp()
    for name, value in own_environment(base).items():
        monkeypatch.setenv(name, value)
    repo = make_project(base / "repo", dict(os.environ))
    resident = Resident(str(base / "state" / "dibs" / "server"))
    resident.projects.add(str(repo))
    token, _ = resident.tokens.new(TokenScope.ADMIN)
    app = build(resident)

    async def here(scope, receive, send):
        if scope["type"] == "http":
            headers = [(k, b"127.0.0.1" if k == b"host" else v) for k, v in scope["headers"]]
            scope = {**scope, "server": ("127.0.0.1", 80), "headers": headers}
        await app(scope, receive, send)

    yield here, {"Authorization": f"Bearer {token}"}
    resident.stop()


def test_no_request_gets_a_server_error_or_an_answer_that_is_not_described(served):
    app, headers = served
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=headers)
    config = schema.config
    config.headers = headers
    config.generation.update(max_examples=effort(2, 30))
    config.generation.database = "none"
    config.generation.deterministic = not SOAK
    config.generation.no_shrink = not SOAK
    # What services refuse, such as a ttl of "x", is valid for the schema.
    config.checks.positive_data_acceptance.enabled = False
    accepted = ["400", "401", "403", "404", "405", "409", "413", "415", "431"]
    config.checks.negative_data_rejection.expected_statuses = accepted
    if not SOAK:
        schema = schema.include(operation_id_regex=SAMPLE)

    phases, failures, checks = set(), set(), 0
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.FatalError | events.NonFatalError), event
        if isinstance(event, events.ScenarioFinished):
            phases.add(event.phase.value)
            for result in (one for all_ in event.recorder.checks.values() for one in all_):
                checks += 1
                if result.failure_info is not None:
                    why = result.failure_info
                    failures.add(f"{event.recorder.label}: {why.failure.title}\n{why.code_sample}")

    assert failures == set()
    assert phases == {"examples", "coverage", "fuzzing", "stateful"}
    assert checks > 1_000
