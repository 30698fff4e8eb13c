"""Tools for testing an engine or code that uses one: a manual clock and the engine contract.

``EngineContract`` defines what an engine must do. Subclass it in a test module and provide the
fixture ``connect``, which returns a function that opens a new handle on one shared, initially empty
state::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def connect(self, tmp_path):
            return partial(MyEngine, tmp_path / "state")

Two more suites apply to some engines. Use ``SharedEngineContract`` if other processes share the state; its
fixture also says how a new process opens the engine::

    self.elsewhere = f"engine = MyEngine({str(tmp_path / 'state')!r})"  # with its import

Add ``NewLifeContract`` if the store can lose data; see its docstring.
"""

from __future__ import annotations

from dibs.testing.keys import Keys
from dibs.testing.ledger import LedgerPart, Views, Waiting
from dibs.testing.lives import NewLifeContract
from dibs.testing.races import Races
from dibs.testing.rivals import Failures, Processes, Rivals

__all__ = ["EngineContract", "ManualClock", "NewLifeContract", "SharedEngineContract"]


class ManualClock:
    """A clock that only moves when a test moves it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the current time of this clock."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Advance the clock by ``seconds``."""
        self.now += seconds


class EngineContract(Keys, Rivals, Races, Failures, LedgerPart, Waiting, Views):
    """Tests that every engine must pass; the module's docstring explains how to use it."""


class SharedEngineContract(EngineContract, Processes):
    """Tests that an engine must also pass if other processes share its state."""
