"""What files that stand aside mean for their tasks: they are handed to nobody, and get no second file."""

from __future__ import annotations

from dibs.services.state.tasks import several
from dibs.services.tasks import hand_edits as hands
from dibs.workdir.scan import stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from dibs.core.claims.agents import Caller
    from dibs.services.state.store import Store
    from dibs.services.state.tasks import Stored
    from dibs.workdir.index import Aside

#: Why a second file of a task stands aside.
DUPLICATE = "TASK_DUPLICATE"


def standing_aside(asides: Mapping[str, Aside], rows: Mapping[str, Stored]) -> set[str]:
    """Return the tasks whose own file stands aside: while the row stays as it is, they need no second one."""
    found = set()
    for path, aside in asides.items():
        key = key_of(path)
        if key in rows and rows[key].version == aside.version and aside.code != DUPLICATE:
            found.add(key)
    return found


def hold_back(
    store: Store,
    caller: Caller,
    asides: Mapping[str, Aside],
    keys: Iterable[str],
    here: Container[str],
) -> None:
    """Let nobody be handed those tasks whose file stands aside, and end that where it does no more.

    That is ended for tasks to whose files something happened ``here``: what stands aside on another machine
    is not seen from this one.
    """
    reasons = {}
    for path, aside in asides.items():
        if aside.code != DUPLICATE:
            where = f"{path}:{aside.line}" if aside.line else path
            reasons[key_of(path)] = f"its file {where} stands aside ({aside.code})"
    rows = store.look(lambda rows: several(rows, keys))
    changed = {
        key: reasons.get(key, "")
        for key, row in rows.items()
        if row.aside != reasons.get(key, "") and (key in reasons or key in here)
    }
    if changed:
        store.apply(lambda rows: hands.hold_back(rows, caller, changed))


def key_of(path: str) -> str:
    """Return by which key the task of a file is known, a path below the board's folder."""
    return stem(path.rpartition("/")[2]).lower()
