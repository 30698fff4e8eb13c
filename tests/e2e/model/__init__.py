"""A scripted model: a local server that real agents use instead of their own."""

from __future__ import annotations

from tests.e2e.model.board import BoardScript
from tests.e2e.model.script import Call, Say, Script, Steps, together
from tests.e2e.model.server import Model

__all__ = ["BoardScript", "Call", "Model", "Say", "Script", "Steps", "together"]
