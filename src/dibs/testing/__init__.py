"""For those who write an engine, or test against one: a clock to set, and the engines' contract.

``EngineContract`` is the definition of an engine. Subclass it in a test module and provide the
fixture ``connect``, which returns a function that opens a fresh handle on one shared, empty state::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def connect(self, tmp_path):
            self.elsewhere = f"engine = MyEngine({str(tmp_path / 'state')!r})"  # with its import
            return partial(MyEngine, tmp_path / "state")
"""

from __future__ import annotations

from dibs.testing.keys import Keys
from dibs.testing.ledger import Ledger, Views, Waiting
from dibs.testing.rivals import Failures, Rivals

__all__ = ["EngineContract", "ManualClock"]


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time that was set."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``."""
        self.now += seconds


class EngineContract(Keys, Rivals, Failures, Ledger, Waiting, Views):
    """What every engine keeps; see the module's docstring for how to use it."""
