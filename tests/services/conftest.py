"""Fixtures of the services' tests."""

import pytest
from tests.services.crew import Crew


@pytest.fixture
def crew():
    return Crew()
