"""Show who Dibs thinks you are, and why.

Dibs uses the first of these that is set: --agent, DIBS_AGENT, the guarded agent that started this
process, and the human at this terminal. In a guarded agent's process, --agent and DIBS_AGENT may
only name that agent and its subagents. A second guarded session with the same DIBS_AGENT gets a
number, such as alice-2. Works outside a project, too.

Examples:
  dibs whoami
  dibs whoami -v
  DIBS_AGENT=alice dibs whoami --json

exit status: 0 success
"""

from __future__ import annotations

import os

from dibs.cli.support.parsing import arg
from dibs.cli.support.session import Session, print_json
from dibs.cli.support.tables import table
from dibs.cli.support.text import bold, printable
from dibs.errors import NotFound, Unavailable
from dibs.local.identity import (
    BEARER,
    FLAG,
    LOGIN,
    NAMED,
    PROCESS,
    TERMINAL,
    VARIABLE,
    acting_agent,
    identity_sources,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

OPTIONS = (arg("-v", "--verbose", action="store_true", help="show every source considered"),)

#: Each source: its name in the table, and why it decides.
_SOURCES = {
    FLAG: ("--agent", "because of --agent"),
    BEARER: ("server token", "because of the token for the server"),
    PROCESS: ("agent process", "because a guarded agent started this process"),
    NAMED: (VARIABLE, f"because {VARIABLE} is set"),
    TERMINAL: ("terminal", "because no agent is named (terminal {})"),
    LOGIN: (
        "login session",
        "because no agent is named and there is no terminal (login session {})",
    ),
}


def run(args: Namespace) -> int:
    """Print the acting agent, with its role where there is a project."""
    found = _found(args)
    if args.json:
        print_json(found)
        return 0
    kind = "a human" if found["human"] else "an agent"
    if found["doubt"]:
        kind = "not proven to be a human"
    print(f"{bold(printable(found['agent']))}, {kind}")
    print(f"  {_SOURCES[found['source']][1].format(printable(found['value']))}")
    if found["doubt"]:
        from dibs.core.claims.agents import PROOF

        print(f"  not proven: {printable(found['doubt'])}")
        print(f"  to prove it: {PROOF}")
    print(f"  role: {printable(found['role'] or 'none (not registered in this project)')}")
    print(f"  project: {printable(found['project'] or 'none (not in a repository)')}")
    if args.verbose:
        rows = [
            (_SOURCES[row["source"]][0], printable(row["value"]) or "-", "yes" * row["used"])
            for row in found["considered"]
        ]
        print()
        print("\n".join(table(("SOURCE", "VALUE", "USED"), rows)))
    return 0


def _found(args: Namespace) -> dict[str, Any]:
    """Return the identity and what it comes from, as JSON shows it."""
    from dibs.project.location import locate
    from dibs.shapes.checks import identity as shape

    role, state, root = None, "", None
    try:
        repository, _ = locate(args.repo)
    except NotFound as error:
        if error.code != "NO_REPO" or args.repo:
            raise
    else:
        state, root = repository.state, repository.root
        role = _role(args) if os.path.isdir(state) else None
    identity = acting_agent(args.agent, os.environ, state)
    sources = identity_sources(args.agent, os.environ, state)
    return shape(
        identity.id,
        human=identity.human and not identity.doubt,
        doubt=identity.doubt,
        role=role,
        project=root,
        source=identity.source,
        sources=sources,
    )


def _role(args: Namespace) -> str | None:
    """Return the role that the caller has in this project, None if it is unknown there."""
    try:
        with Session(args) as session:
            seen, _ = session.project.agents.show(session.caller.id)
    except (NotFound, Unavailable):
        return None
    return seen.agent.role
