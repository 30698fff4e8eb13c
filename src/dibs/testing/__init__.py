"""For those who write an engine, or test against one: a clock to set, and the engines' contract.

``EngineContract`` is the definition of an engine. Subclass it in a test module and provide the
fixture ``connect``, which returns a function that opens a fresh handle on one shared, empty state::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def connect(self, tmp_path):
            return partial(MyEngine, tmp_path / "state")

Two more parts are for engines that they fit. ``SharedEngineContract`` is the contract of an engine whose
state other processes share: the fixture also says how they open it::

            self.elsewhere = f"engine = MyEngine({str(tmp_path / 'state')!r})"  # with its import

``NewLifeContract`` goes beside either, for an engine whose store can lose its state; see its docstring.
"""

from __future__ import annotations

from dibs.testing.keys import Keys
from dibs.testing.ledger import LedgerPart, Views, Waiting
from dibs.testing.lives import NewLifeContract
from dibs.testing.races import Races
from dibs.testing.rivals import Failures, Processes, Rivals

__all__ = ["EngineContract", "ManualClock", "NewLifeContract", "SharedEngineContract"]


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


class EngineContract(Keys, Rivals, Races, Failures, LedgerPart, Waiting, Views):
    """What every engine keeps; see the module's docstring for how to use it."""


class SharedEngineContract(EngineContract, Processes):
    """What an engine keeps whose state other processes share."""
