"""Show uncommitted changes by owner.

Files are listed by the agent with an exclusive claim on them, unclaimed files last. The untracked ones are
first among these, because they exist only in this working tree. CHANGED BY is shown if a hook knows it.

Examples:
  dibs changes
  dibs changes --mine
  dibs changes --agent alice --all-trees

exit status: 0 success
"""

from __future__ import annotations

from dibs.cli.support.parsing import agent_id
from dibs.cli.support.tables import page_width, table
from dibs.cli.support.text import bold, green, printable, red, span
from dibs.core.text.names import plural
from dibs.errors import BadUsage
from dibs.shapes.commits import changed_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from dibs.core.changes.ownership import Dirty
    from dibs.services.commits.changes import TreeChanges


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs changes``."""
    parser.add_argument(
        "--agent", dest="of", type=agent_id, metavar="AGENT", help="only this agent's changes"
    )
    parser.add_argument("--mine", action="store_true", help="only your changes")
    parser.add_argument("--all-trees", action="store_true", help="in every worktree of this clone")
    parser.set_defaults(agent=None)


def run(args: Namespace) -> int:
    """Print the changes in this working tree, or in all of them."""
    from dibs.cli.support.session import Session

    if args.of and args.mine:
        raise BadUsage("changes: --mine cannot be combined with --agent")
    with Session(args) as session:
        agent = session.caller.id if args.mine else args.of or ""
        found = session.project.changes.of(agent, everywhere=args.all_trees)
        session.show(
            lambda: changed_trees(found),
            lambda: print("\n\n".join(_text(tree, agent, args) for tree in found)),
        )
    return 0


def _text(tree: TreeChanges, agent: str, args: Namespace) -> str:
    lines = []
    if args.all_trees:
        lines.append(bold(f"{printable(tree.root)} on {printable(tree.branch)}"))
    if tree.wrong:
        return "\n".join([*lines, red(printable(tree.wrong))])
    for part in tree.agents:
        claimed = f"changed here, claimed by {bold(part.agent)}"
        lines += [f"{claimed}: {plural(len(part.files), 'file')}", *_rows(part.files), ""]
    if tree.nobody:
        count = plural(len(tree.nobody), "changed file")
        lines += [f"{bold('unclaimed')}: {count}", *_rows(tree.nobody), ""]
    if not tree.agents and not tree.nobody:
        held = f" in files that {agent} holds" if agent else ""
        lines.append(green(f"no uncommitted changes{held}"))
    for idle in tree.idle:
        lines.append(f"{idle.agent}: no changes, {plural(idle.claims, 'claim')}")
    return "\n".join(lines).rstrip("\n")


def _rows(files: Sequence[Dirty]) -> list[str]:
    known = any(file.changed_by for file in files)
    titles = ("CHANGE", "FILE", "STAGED", "CLAIM", *(["CHANGED BY"] if known else []))
    rows = []
    for file in files:
        by = [", ".join(file.changed_by) or "unknown"] if known else []
        rows.append((_what(file), printable(file.path), _staging(file), _about(file), *by))
    lines = table(titles, rows, page_width() - 2)
    return [f"  {line}" for line in lines]


def _what(file: Dirty) -> str:
    return "untracked" if file.what == "new" and not file.staged else file.what


def _staging(file: Dirty) -> str:
    if file.staged:
        return "partly" if file.unstaged else "yes"
    return "no"


def _about(file: Dirty) -> str:
    if file.held is not None:
        pattern = printable(file.held.claim.pattern)
        left = "at exit" if file.held.while_running else f"in {span(file.held.expires_in)}"
        return f"{pattern} (expires {left})"
    if file.shared_by:
        return f"shared by {', '.join(file.shared_by)}"
    return "-"
