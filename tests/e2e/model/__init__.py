"""A model that says what a test wrote down: a server on loopback which the real agents take for theirs."""

from __future__ import annotations

from tests.e2e.model.script import Call, Say, Script, Steps
from tests.e2e.model.server import Model

__all__ = ["Call", "Model", "Say", "Script", "Steps"]
