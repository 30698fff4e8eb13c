"""The variables of an agent's processes; short because it is one table and one rule."""

from __future__ import annotations

from dibs.core.crew.roles import FORBIDDEN
from dibs.local.identity import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.core.crew.members import Member
    from dibs.core.crew.roles import CrewRole

#: What every agent gets from the supervisor's environment: nothing here is a secret or names a program.
_PASSED = (
    "HOME", "PATH", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "COLUMNS",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "no_proxy",
)  # fmt: skip
_PREFIX = "LC_"
ROLE = "DIBS_ROLE"


def agent_environment(
    role: CrewRole, member: Member, given: Mapping[str, str], worktree: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of an agent's processes; ``worktree`` has those of its working tree."""
    named = (*_PASSED, *role.env)
    passed = {
        name: value
        for name, value in given.items()
        if (name in named or name.startswith(_PREFIX)) and not name.startswith(FORBIDDEN)
    }
    return {
        **passed, **worktree, **dict(role.set), VARIABLE: member.agent, ROLE: role.name,
        "TERM": "dumb", "NO_COLOR": "1",
    }  # fmt: skip
