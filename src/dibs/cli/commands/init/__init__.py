"""Make a project of this repository, and let the coding agents that are used here respect claims.

Makes the place where claims are kept: in the git directory, shared by all working trees; elsewhere in a
folder .dibs. For each agent it puts hooks, the MCP server, a short block of instructions and a skill into
the agent's own files of this repository; and the gates of git, and dibs.toml. What is there already is kept
byte for byte. On a terminal the plan is shown first. Safe to repeat.

Examples:
  dibs init                         for the agents that are found here
  dibs init --agents claude,codex   for these
  dibs init --dry-run               only show what would be done
  dibs init --agents none           make the project, touch no file
  dibs init --uninstall             take it all back

exit status: 0 done, or nothing to do; 3 you said no; 65 a file cannot be read, and nothing was changed
"""

from __future__ import annotations

import os

from dibs.cli.support import HELD, OK
from dibs.errors import BadUsage, NotAllowed, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.commands.init.text import InitReport
    from dibs.install.plan import InstallPlan
    from dibs.local.repository import Repository

_AUTO, _NONE = "auto", "none"


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs init``."""
    parser.add_argument(
        "--agents", default=_AUTO, metavar="LIST", help="auto (found here), none, or claude,codex,…"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask on a terminal")
    parser.add_argument(
        "--shared", action="store_true", help="write files to be committed, for all who work here"
    )
    parser.add_argument("--board", action="store_true", help="make the folders of the board")
    parser.add_argument("--no-git-gates", action="store_true", help="leave git's hooks alone")
    parser.add_argument("--no-mcp", action="store_true", help="register no MCP server")
    parser.add_argument(
        "--no-instructions", action="store_true", help="no block of instructions, no skill"
    )
    parser.add_argument("--uninstall", action="store_true", help="take everything back (humans)")


def run(args: Namespace) -> int:
    """Plan, show, ask, do; or take back."""
    from dibs.cli.commands.init import text

    repository = _repository(args)
    if args.uninstall:
        return _uninstall(args, repository)
    agents, found = _agents(args, repository)
    plan = _plan(args, repository, agents)
    gates = _wants_gates(args, repository, plan)
    report = text.InitReport(repository, plan, found, gates=gates, dry=args.dry_run)
    if args.dry_run:
        return _show(args, report)
    asks = _asks(args) and (plan.pending or gates)
    if asks and not text.agreed(report):
        print("nothing was done")
        return HELD
    return _show(args, _done(args, report), planned=bool(asks))


def _repository(args: Namespace) -> Repository:
    """Return the place of the project, also where it is still to be made."""
    from dibs.local.repository import STATE_OUTSIDE_GIT, Repository
    from dibs.project.project import locate

    try:
        return locate(args.repo).repository
    except NotFound as missing:
        try:
            root = os.path.realpath(os.path.join(os.getcwd(), args.repo))
        except FileNotFoundError:  # the current folder is gone
            raise missing from None
        if not os.path.isdir(root) or args.uninstall or _in_git_directory(root):
            raise
        return Repository(root, "", os.path.join(root, STATE_OUTSIDE_GIT), "")


def _in_git_directory(folder: str) -> bool:
    return ".git" in folder.split("/") or os.path.isfile(os.path.join(folder, "HEAD"))


def _agents(args: Namespace, repository: Repository) -> tuple[list[str], dict[str, str]]:
    """Return the agents that are meant, and by what each was found."""
    from dibs.install.agents.table import AGENTS

    if args.agents == _NONE:
        return [], {}
    if args.agents == _AUTO:
        from dibs.install import manifest
        from dibs.install.inspect.agents import used_here

        shown = used_here(repository.root, os.environ, manifest.load(repository).made())
        return list(shown), shown
    names = [name.strip() for name in args.agents.split(",") if name.strip()]
    if not names:
        raise BadUsage("init: --agents names no agent", hint="say auto, none, or claude,codex,…")
    for name in names:
        if name in {_AUTO, _NONE}:
            raise BadUsage(f"init: --agents {name} stands alone", hint="leave the others out")
        if name not in AGENTS:
            from dibs.core.text.names import closest, quote

            meant = closest(name, AGENTS)
            raise BadUsage(
                f"init: there is no agent {quote(name)}",
                hint=f"did you mean {meant}?" if meant else f"known are {', '.join(AGENTS)}",
            )
    return names, {}


def _plan(args: Namespace, repository: Repository, agents: list[str]) -> InstallPlan:
    from dibs.cli.commands.mcp import has_extra
    from dibs.config import load
    from dibs.install import manifest
    from dibs.install.agents.edits import SETTINGS_FILE, Choice, settings_edit
    from dibs.install.entries.commands import commands
    from dibs.install.plan import plan

    known = manifest.load(repository)
    config = load.load(repository.root, repository.state, os.environ, {}).config
    shared = args.shared or (known.shared and bool(known.agents))
    # On the machines of others the server may start; here it would only fail, in every session.
    no_server = not (args.no_mcp or shared or has_extra())
    choice = Choice(
        repository.root,
        commands(shared=shared),
        shared,
        servers=not (args.no_mcp or no_server),
        instructions=not args.no_instructions,
        reads=config.guard_reads,
    )
    wired = bool(agents) or bool(known.agents)
    ours = SETTINGS_FILE in known.files
    more = [settings_edit()] if wired and (ours or not choice.has(SETTINGS_FILE)) else []
    made = plan(repository, agents, choice, more)
    if not no_server or not made.agents:
        return made
    from dibs.local.installation import install_command

    note = f"no MCP server; to add it, run: {install_command('mcp')} && dibs init"
    return made._replace(notes=(*made.notes, note))


def _wants_gates(args: Namespace, repository: Repository, plan: InstallPlan) -> bool:
    """Tell whether gates of git are to be put in that are not there yet."""
    if args.no_git_gates or not repository.common or not plan.agents:
        return False
    from dibs.guard.git.install import GitHooks

    return not all(hook.current for hook in GitHooks(repository.common, repository.state).look())


def _asks(args: Namespace) -> bool:
    import sys

    return not (args.yes or args.json) and sys.stdin.isatty() and sys.stdout.isatty()


def _done(args: Namespace, report: InitReport) -> InitReport:
    """Make the project, and carry the plan out."""
    from dibs.project.project import create

    project, created = create(args.repo)
    try:
        repository = project.place.repository
        if args.board:
            from dibs.cli.support.session import caller

            with project.board.command(caller(args), makes=True):
                pass
        if report.plan.changes:
            from dibs.install.apply import apply_plan

            apply_plan(repository, report.plan, gates=report.gates)
            if report.gates:
                from dibs.guard.git.install import GitHooks

                GitHooks(repository.common, repository.state).install()
        return report._replace(created=created, engine=project.config.engine)
    finally:
        project.close()


def _show(args: Namespace, report: InitReport, *, planned: bool = False) -> int:
    from dibs.cli.commands.init import text

    if args.json:
        from dibs.cli.support.session import print_json

        print_json(text.shape(report))
    else:
        text.show(report, planned=planned)
    return OK


def _uninstall(args: Namespace, repository: Repository) -> int:
    """Take everything back that init did to files and hooks; claims and their history stay."""
    from dibs.cli.commands.init import text
    from dibs.cli.support.session import careful_caller, print_json
    from dibs.install import manifest
    from dibs.install.apply import plan_uninstall, uninstall

    if not careful_caller(args).human:
        raise NotAllowed(
            "only a human may take the guards away", code="HUMANS_ONLY", hint="ask a human"
        )
    known = manifest.load(repository)
    changes = plan_uninstall(repository)
    left: tuple[str, ...] = ()
    if not args.dry_run:
        asks = _asks(args) and (changes or known.gates)
        if asks and not text.agreed_to_undo(changes, gates=known.gates):
            print("nothing was done")
            return HELD
        if known.gates:  # first: once the files are back, nobody knows of them any more
            from dibs.guard.git.install import GitHooks

            GitHooks(repository.common, repository.state).uninstall()
        done = uninstall(repository)
        changes, left = done.changes, done.left
    if args.json:
        print_json(text.undone_shape(changes, left, gates=known.gates, dry=args.dry_run))
    else:
        text.show_undone(changes, left, gates=known.gates, dry=args.dry_run)
    return OK
