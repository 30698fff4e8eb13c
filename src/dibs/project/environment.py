"""Environment variables with settings: Dibs uses those that a human sets, and ignores an agent's own.

An agent's harness has the environment in which a human started it, so a variable that the harness has, too,
counts. ``DIBS_GATE_ON_ERROR=allow git commit`` in an agent's shell is the agent's own.
"""

from __future__ import annotations

import os

from dibs.config.settings import Config, is_guard_setting
from dibs.local.identity import VARIABLE, doubt_here
from dibs.local.repository import SESSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "DIBS_"
#: Values that only make a check stricter, so anyone may set them.
_STRICT = {"commit_guarded": "human", "gate_unclaimed": "deny", "gate_on_error": "deny"}


def trusted_variables(environ: Mapping[str, str], state: str) -> Mapping[str, str]:
    """Return the variables of this process without settings that an agent has set itself.

    An agent that is only named, without a process of its own, can still select the store, and so can a
    process that an agent may have detached.
    """
    given = {
        name: name[len(_PREFIX) :].lower()
        for name in environ
        if name.startswith(_PREFIX) and name.isupper()
    }
    loose = [
        name
        for name, field in given.items()
        if field in Config._fields and _STRICT.get(field) != environ[name]
    ]
    if not loose:
        return environ
    harness = _harness(state)
    if harness is not None:
        loose = [name for name in loose if os.fsencode(f"{name}={environ[name]}") not in harness]
    elif environ.get(VARIABLE) or doubt_here(environ, state, needs_terminal=False):
        loose = [name for name in loose if is_guard_setting(given[name])]
    else:
        return environ
    return {name: value for name, value in environ.items() if name not in loose}


def _harness(state: str) -> frozenset[bytes] | None:
    """Return the environment of the outermost agent above this process; None if there is no agent.

    An agent of any project counts, because a store can be selected from everywhere.
    """
    from dibs.local.server_files import guarded_states

    every = [one for one in (state, *guarded_states()) if os.path.isdir(f"{one}/{SESSIONS}")]
    if not every:
        return None
    from dibs.local.noted_agents import agents_above
    from dibs.local.processes import environment_of

    agents = [pid for one in every for pid, _ in agents_above(one)]
    return environment_of(agents[-1]) if agents else None
