"""Show what is changed and not committed, by whose it is.

A changed file belongs to the agent with an exclusive claim on it. What belongs to nobody comes last, new
files first: they are in no commit, so nothing but this working tree has them. --agent narrows; it does
not say who acts.

exit status: 0
"""

from __future__ import annotations

from dibs.cli.support.parsing import agent_id
from dibs.cli.support.tables import page_width, table
from dibs.cli.support.text import bold, green, printable, red, span, yellow
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.core.changes.ownership import Dirty
    from dibs.services.commits.changes import TreeChanges


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs changes``."""
    parser.add_argument("--agent", dest="of", type=agent_id, metavar="AGENT", help="only its own")
    parser.add_argument("--mine", action="store_true", help="only what is yours")
    parser.add_argument("--all-trees", action="store_true", help="in every worktree of this clone")
    parser.set_defaults(agent=None)


def run(args: Namespace) -> int:
    """Look at the working tree, or at all of them, and print what is changed."""
    from dibs.cli.support.session import Session

    if args.of and args.mine:
        raise BadUsage("changes: --mine and --agent exclude each other", hint="give one of them")
    with Session(args) as session:
        changes = session.project.changes
        found = changes.everywhere() if args.all_trees else [changes.here()]
        agent = session.caller.id if args.mine else args.of or ""
        if agent:
            found = [_narrowed(tree, agent) for tree in found]
        session.show(
            lambda: {"trees": [_shape(tree) for tree in found]},
            lambda: print("\n\n".join(_text(tree, agent, args) for tree in found)),
        )
    return 0


def _narrowed(tree: TreeChanges, agent: str) -> TreeChanges:
    own = tuple(part for part in tree.agents if part.agent == agent)
    return tree._replace(
        agents=own, nobody=(), idle=tuple(idle for idle in tree.idle if idle.agent == agent)
    )


def _shape(tree: TreeChanges) -> dict[str, object]:
    return {
        "root": tree.root,
        "branch": tree.branch,
        "agents": [
            {"agent": part.agent, "files": [file_shape(file) for file in part.files]}
            for part in tree.agents
        ],
        "nobody": [file_shape(file) for file in tree.nobody],
        "idle": [{"agent": idle.agent, "claims": idle.claims} for idle in tree.idle],
        "wrong": tree.wrong,
    }


def file_shape(file: Dirty) -> dict[str, object]:
    """Shape a changed file as JSON."""
    held = file.held
    return {
        "path": file.path,
        "what": file.what,
        "staged": file.staged,
        "unstaged": file.unstaged,
        "pattern": held.claim.pattern if held else "",
        "token": held.claim.token if held else 0,
        "expires_in": round(held.expires_in, 3) if held else 0,
        "shared_by": list(file.shared_by),
    }


def _text(tree: TreeChanges, agent: str, args: Namespace) -> str:
    lines = []
    if args.all_trees:
        lines.append(bold(f"{printable(tree.root)} on {printable(tree.branch)}"))
    if tree.wrong:
        return "\n".join([*lines, red(printable(tree.wrong))])
    for part in tree.agents:
        lines += [f"{bold(part.agent)} has changed {_count(part.files)}", *_rows(part.files), ""]
    if tree.nobody:
        lines += [f"{bold('nobody')} holds {_count(tree.nobody)}", *_rows(tree.nobody), ""]
    if not tree.agents and not tree.nobody:
        lines.append(green(f"{agent} has changed nothing" if agent else "nothing is changed"))
    for idle in tree.idle:
        lines.append(f"{idle.agent} holds {_plural(idle.claims, 'claim')}, nothing changed")
    return "\n".join(lines).rstrip("\n")


def _count(files: Sequence[Dirty]) -> str:
    return _plural(len(files), "file")


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _rows(files: Sequence[Dirty]) -> list[str]:
    rows = [(file.what, printable(file.path), _staging(file), _about(file)) for file in files]
    lines = table(("CHANGE", "FILE", "STAGED", "CLAIM"), rows, page_width() - 2)
    return [f"  {line}" for line in lines]


def _staging(file: Dirty) -> str:
    if file.staged:
        return "in part" if file.unstaged else "yes"
    return "no"


def _about(file: Dirty) -> str:
    if file.held is not None:
        return f"{printable(file.held.claim.pattern)}, {span(file.held.expires_in)} left"
    if file.shared_by:
        return f"shared by {', '.join(file.shared_by)}"
    return yellow("never committed") if file.what == "new" else "none"
