"""Set up Dibs in this repository and guard the coding agents that are used here.

Creates the state in the git directory, where all worktrees share it. Adds hooks, an MCP server, a short block
of instructions, and a skill to each agent's files in this repository, installs git hooks, and creates
dibs.toml. Everything already in those files stays as it is. On a terminal, Dibs shows the plan and asks
first. Safe to run again.

--board creates a task board in work/: folders, templates, validators, and a profile for each agent that you
name. In dibs.toml, it turns on a git commit per transition. Existing files stay as they are.

--user also adds hooks to your own settings of Gemini CLI and Copilot CLI, which skip a repository's hooks
when they start in a subfolder or do not trust the folder. Outside of Dibs projects these hooks do nothing.
They stay until `dibs init --uninstall --user`.

--uninstall restores every file byte for byte. --purge also deletes the state: claims, tasks, messages, and
history. It refuses while agents hold claims, and it never deletes saved work (refs/salvage).

--new-store gives the store another name, with the date, and starts a new one; it deletes nothing, and refuses
while agents hold claims. Copies of saved work stay restorable.

Examples:
  dibs init                         guard the agents found here
  dibs init --agents claude,codex   guard these agents
  dibs init --dry-run               show what would change
  dibs init --agents none           create the state only
  dibs init --user                  also guard agents that start in a subfolder
  dibs init --board                 create a task board
  dibs init --uninstall             remove everything that init wrote
  dibs init --uninstall --purge     delete the state too
  dibs init --new-store             start again with an empty store

exit status: 0 done or nothing to do, 3 you answered no, 65 a file cannot be read and nothing was changed,
77 only a human may do this
"""

from __future__ import annotations

import os

from dibs.cli.support import HELD, OK
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.commands.init.text import InitReport
    from dibs.config.settings import Config
    from dibs.install.agents.edits import Choice, FileEdit
    from dibs.install.plan import InstallPlan, PlannedChange
    from dibs.local.repository import Repository

_AUTO, _NONE = "auto", "none"


def configure(parser: ArgumentParser) -> None:
    """Add the options of ``dibs init``."""
    parser.add_argument(
        "--agents",
        default=_AUTO,
        metavar="LIST",
        help="auto (those found here), none, or a list: claude,codex",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument(
        "--shared",
        action="store_true",
        help="write files that you commit for the whole team",
    )
    parser.add_argument(
        "--board",
        nargs="?",
        const="",
        metavar="NAMES",
        help="create a task board, with a folder and a profile for each agent: --board curator,writer",
    )
    parser.add_argument(
        "--user",
        action="store_true",
        help="also add hooks to your home folder (with --uninstall: remove them)",
    )
    parser.add_argument(
        "--new-store",
        action="store_true",
        help="set the store aside and start a new one (humans only)",
    )
    parser.add_argument("--no-git-gates", action="store_true", help="do not install git hooks")
    parser.add_argument("--no-mcp", action="store_true", help="do not register the MCP server")
    parser.add_argument(
        "--no-instructions", action="store_true", help="do not add instructions or a skill"
    )
    parser.add_argument(
        "--uninstall", action="store_true", help="remove everything that init wrote (humans only)"
    )
    parser.add_argument(
        "--purge", action="store_true", help="with --uninstall: delete the state too"
    )
    parser.add_argument(
        "--force", action="store_true", help="with --purge: delete it even while agents hold claims"
    )


def run(args: Namespace) -> int:
    """Plan, show, ask, and apply; or uninstall."""
    from dibs.cli.commands.init import text
    from dibs.cli.support.consent import ask_consent

    _check_options(args)
    if args.new_store:
        return _start_again(args)
    repository = _repository(args)
    if args.uninstall:
        from dibs.cli.commands.init import uninstall

        return uninstall.run(args, repository, asks=_asks(args))
    agents, found = _agents(args, repository)
    plan = _plan(args, repository, agents)
    gates = _wants_gates(args, repository, plan)
    user = _user_hooks(args, repository, plan)
    report = text.InitReport(repository, plan, found, gates=gates, dry=args.dry_run, user=user)
    if args.dry_run:
        return _show(args, report)
    asks = _asks(args) and (report.pending or gates)
    if asks and not text.agreed(report):
        print("nothing was changed")
        return HELD
    status = _show(args, _done(args, report), planned=bool(asks))
    ask_consent(args, _repository(args), asks=_asks(args), agreed=args.yes)
    return status


def _check_options(args: Namespace) -> None:
    if args.purge and not args.uninstall:
        from dibs.cli.commands.init.uninstall import command

        raise BadUsage(
            "init: --purge needs --uninstall", hint=f"run: {command(args, '--uninstall')}"
        )
    if args.force and not args.purge:
        raise BadUsage("init: --force needs --purge", hint="leave --force out")


def _repository(args: Namespace) -> Repository:
    """Return the repository of the project, even if the project does not exist yet."""
    from dibs.project.location import locate

    return locate(args.repo).repository


def _agents(args: Namespace, repository: Repository) -> tuple[list[str], dict[str, str]]:
    """Return the requested agents, and the evidence for those that were found."""
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
        raise BadUsage(
            "init: --agents names no agent", hint="use auto, none, or a list: claude,codex"
        )
    for name in names:
        if name in {_AUTO, _NONE}:
            raise BadUsage(
                f"init: --agents {name} cannot be combined", hint=f"run: dibs init --agents {name}"
            )
        if name not in AGENTS:
            from dibs.core.text.names import closest, quote

            meant = closest(name, AGENTS)
            raise BadUsage(
                f"init: unknown agent {quote(name)}",
                hint=f"did you mean '{meant}'?" if meant else f"agents are {', '.join(AGENTS)}",
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
    # Shared files also serve machines that have the packages; here the server would fail in every session.
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
    board, note = _board_edits(args, repository, choice, config)
    wired = wired or bool(board)
    more = [settings_edit()] if wired and (ours or not choice.has(SETTINGS_FILE)) else []
    made = plan(repository, agents, choice, [*more, *board])
    notes = [note] if note else []
    if no_server and made.agents:
        notes.append("no MCP server; to add it, install dibs[mcp] and run `dibs init` again")
    return made._replace(notes=(*made.notes, *notes))


def _board_edits(
    args: Namespace, repository: Repository, choice: Choice, config: Config
) -> tuple[list[FileEdit], str]:
    """Return the edits for a board, one that is asked for or one of an earlier call, and a note."""
    from dibs.install import manifest
    from dibs.install.board.scaffold import board_edits, commit_note, settings_table
    from dibs.install.working_tree import WorkingTree, is_main

    wanted = args.board is not None
    if not is_main(repository):
        note = (
            "the board is in the main working tree: run this there to add templates and validators"
        )
        return [], note if wanted else ""
    names = [name for part in (args.board or "").split(",") if (name := part.strip())]
    known = manifest.load(repository).files
    found = board_edits(choice, config.board_folder, known, names if wanted else None)
    if not wanted:
        return found, ""
    if WorkingTree(repository).is_ignored(f"{config.board_folder}/README.md"):
        return found, f"git ignores {config.board_folder}/, so transitions are not committed"
    return [*found, settings_table()], commit_note(choice)


def _wants_gates(args: Namespace, repository: Repository, plan: InstallPlan) -> bool:
    """Return whether git hooks are wanted and not all installed yet."""
    if args.no_git_gates or not plan.agents:
        return False
    from dibs.guard.git.install import GitHooks

    return not all(hook.current for hook in GitHooks(repository.common, repository.state).look())


def _user_hooks(
    args: Namespace, repository: Repository, plan: InstallPlan
) -> tuple[PlannedChange, ...]:
    """Return the changes in the home folder, if they are wanted."""
    if not args.user:
        return ()
    from dibs.cli.support.session import require_human
    from dibs.install.user_hooks import plan_user_hooks

    message = "only a human may change settings in the home folder"
    require_human(args, message, hint="ask a human to run: dibs init --user", everywhere=True)
    found = plan_user_hooks(repository, plan.agents, os.environ)
    if not found:
        raise BadUsage(
            "init: --user is for Gemini CLI and Copilot CLI, and neither is set up here",
            hint="run: dibs init --user --agents gemini,copilot",
        )
    return found


def _start_again(args: Namespace) -> int:
    """Set the store aside, start a new one, and say where the old one is."""
    from dibs.cli.commands.init import text
    from dibs.cli.support.session import print_json, require_human
    from dibs.cli.support.text import printable
    from dibs.project.location import locate
    from dibs.project.project import create
    from dibs.project.switching import set_aside

    message = "only a human may set the store aside"
    require_human(args, message, hint="ask a human to run: dibs init --new-store")
    name = set_aside(locate(args.repo))
    project, _ = create(args.repo)
    project.close()
    engine = text.engine_name(project.config.engine)
    if args.json:
        print_json({"engine": engine, "set_aside": name})
    else:
        kept = f"the old one is kept as {printable(name)}" if name else "there was none before"
        print(f"started a new store ({printable(engine)}); {kept}")
    return OK


def _asks(args: Namespace) -> bool:
    import sys

    return not (args.yes or args.json) and sys.stdin.isatty() and sys.stdout.isatty()


def _done(args: Namespace, report: InitReport) -> InitReport:
    """Create the project and apply the plan."""
    from dibs.project.project import create

    project, created = create(args.repo)
    try:
        repository = project.place.repository
        if args.board is not None:
            project.board.there()  # raises if its folder is unusable
        if report.plan.changes:
            from dibs.install import manifest
            from dibs.install.apply import apply_plan

            created = created or not manifest.load(repository).files
            apply_plan(repository, report.plan, gates=report.gates)
            if report.gates:
                from dibs.guard.git.install import GitHooks

                GitHooks(repository.common, repository.state).install()
        if report.user:
            from dibs.install.user_hooks import apply_user_hooks

            apply_user_hooks(report.user)
        if args.board is not None:
            from dibs.cli.support.session import caller

            with project.board.command(caller(args), makes=True):
                pass
        notes = (*report.plan.notes, *(finding.text for finding in project.check_queue()))
        plan = report.plan._replace(notes=notes)
        return report._replace(created=created, engine=project.config.engine, plan=plan)
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
