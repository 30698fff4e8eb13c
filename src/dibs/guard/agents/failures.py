"""Record in the ledger that a hook failed; short because the state services write the entry."""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.guard.agents.projects import base_project
from dibs.project.project import open_at
from dibs.services.state.serving.faults import record_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def record_failed_hook(
    error: Exception, why: str, starts: Sequence[str], environ: Mapping[str, str]
) -> None:
    """Record a failed hook in the project of the first folder that is in one; never raises."""
    try:
        place = base_project(dict.fromkeys(filter(None, starts)), environ)
        if place is None:
            return
        project = open_at(place)
        try:
            # The text is different for each call, so it does not tell causes apart.
            code = error.code if isinstance(error, DibsError) else type(error).__name__
            record_error(project.store, f"hook:{code}", f"a hook failed: {why}", code=code)
        finally:
            project.close()
    except (DibsError, OSError):
        return
