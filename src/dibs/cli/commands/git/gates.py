"""The subcommands of ``dibs git`` for hooks: install, uninstall, status, check."""

from __future__ import annotations

import os
import sys

from dibs.cli.support import HELD, OK
from dibs.cli.support.tables import table
from dibs.cli.support.text import green, printable, yellow
from dibs.errors import BadUsage, DibsError, NotFound
from dibs.shapes.commits import blocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.guard.git.install import GitHooks, Hook

_NONE = 6


def _place_options(parser: ArgumentParser) -> None:
    parser.add_argument("--server", metavar="DIR", help="bare repository that people push to")


def _install_options(parser: ArgumentParser) -> None:
    _place_options(parser)
    parser.add_argument("--engine", metavar="URL", help="engine that the server uses")
    parser.add_argument("--project", metavar="NAME", help="project name in that engine")
    parser.add_argument("--branch", metavar="NAME", help="the git engine's branch (default: dibs)")
    parser.add_argument(
        "--each-ref",
        action="store_true",
        help="refuse only the affected branches, not the whole push",
    )


def _hooks(args: Namespace) -> tuple[GitHooks, str]:
    """Return the hooks to work on, and their git directory."""
    from dibs.guard.git.install import GitHooks
    from dibs.guard.git.scripts import LOCAL, SERVER
    from dibs.local.repository import find

    if args.server is not None:
        from dibs.guard.git.server import is_bare

        folder = os.path.realpath(args.server)
        if not is_bare(folder):
            raise NotFound(
                f"{args.server} is not a bare repository",
                code="NO_REPO",
                hint="in a clone, use `dibs git install` without --server",
            )
        return GitHooks(folder, os.path.join(folder, "dibs"), SERVER), folder
    repository = find(args.repo)
    if not repository.common:
        raise NotFound("this is not a git repository", code="NO_REPO", hint="create one: git init")
    return GitHooks(repository.common, repository.state, LOCAL), repository.common


def _install(args: Namespace) -> int:
    """Install hooks in this repository, or with --server in a bare one. Safe to repeat.

    Existing hooks are kept and run first, including core.hooksPath, husky, and the pre-commit framework.
    All worktrees share the hooks. If the repository's settings name a hooks folder, git runs it as before,
    and dibs commit refuses to until a human runs `dibs git trust core.hooksPath`.

    Examples:
      dibs git install
      dibs git install --server /srv/project.git
      dibs git install --server /srv/project.git --engine redis://host:6379/0
    """
    from dibs.local.repository import find

    hooks, folder = _hooks(args)
    given = {"engine": args.engine, "project": args.project, "branch": args.branch}
    if args.server is None:
        if args.each_ref or any(given.values()):
            raise BadUsage(
                "git install: --engine, --project, --branch, and --each-ref require --server"
            )
        from dibs.git.untrusted import guarded_calls

        guarded_calls(find(args.repo).root)  # raises if its files are elsewhere
    else:
        from dibs.guard.git.server import set_up

        set_up(folder, {name: value for name, value in given.items() if value})
        hooks.narrow("update" if args.each_ref else "pre-receive")
    hooks.install()
    return _show(args, hooks)


def _uninstall(args: Namespace) -> int:
    """Remove the hooks and restore files, modes, and settings. Your own hooks stay.

    Examples:
      dibs git uninstall
      dibs git uninstall --server /srv/project.git
    """
    from dibs.cli.support.session import require_human

    require_human(
        args,
        "only a human may remove the git hooks",
        hint="ask a human to run `dibs git uninstall`",
    )
    hooks, folder = _hooks(args)
    there = hooks.uninstall()
    if args.server is not None:
        from dibs.guard.git.server import forget

        there = forget(folder) or there
    if args.json:
        from dibs.cli.support.session import print_json

        print_json({"removed": there, "left": hooks.left()})
        return OK

    print("removed the git hooks" if there else "no git hooks to remove")
    for place in hooks.left():
        print(f"  kept your earlier hook, because a newer one replaced it: {printable(place)}")
    return OK


def _status(args: Namespace) -> int:
    """Show which hooks are installed, what runs before them, and whether the store is reachable.

    Examples:
      dibs git status
      dibs git status --server /srv/project.git
    """
    hooks, _ = _hooks(args)
    return _show(args, hooks)


def _show(args: Namespace, hooks: GitHooks) -> int:
    found = hooks.look()
    if args.server is not None:  # a server needs only one of the two
        found = [hook for hook in found if hook.installed] or found[:1]
    why = _trouble(args)
    if args.json:
        from dibs.cli.support.session import print_json
        from dibs.shapes.checks import git_hooks

        print_json(git_hooks(found, why))
    else:
        _print(found, why, args.server)
        if args.server is None:
            _print_foreign(args)
    return OK if all(hook.installed for hook in found) else _NONE


def _print_foreign(args: Namespace) -> None:
    """Say which hooks of the repository need consent."""
    from dibs.git.untrusted import foreign_hooks
    from dibs.local.repository import find

    if note := foreign_hooks(find(args.repo)):
        print(f"{yellow('note')}: {printable(note)}")


def _print(found: list[Hook], why: str, server: str | None) -> None:
    from shlex import quote

    rows = []
    for hook in found:
        state = "not installed"
        if hook.installed:
            state = "installed" if hook.current else "outdated"
        rows.append((hook.name, state, printable(hook.before) or "-"))
    print("\n".join(table(("HOOK", "STATE", "RUNS FIRST"), rows)))
    print()
    again = "dibs git install" if server is None else f"dibs git install --server {quote(server)}"
    if not any(hook.installed for hook in found):
        print(f"{yellow('not installed')}: to install them, run: {again}")
    elif not all(hook.installed for hook in found):
        print(f"{yellow('incomplete')}: to install the missing hooks, run: {again}")
    elif why:
        print(f"{yellow('store unreachable')}, so commits and pushes are refused: {printable(why)}")
    elif not all(hook.current for hook in found):
        print(f"{yellow('outdated')}: to update the hooks, run: {again}")
    else:
        what = "commits and pushes" if server is None else "pushes"
        print(f"{green('active')}: git refuses {what} of files that other agents hold")


def _trouble(args: Namespace) -> str:
    """Return why the store is not reachable, empty if it is."""
    try:
        if args.server is not None:
            from dibs.guard.git.server import open_bare, read_settings

            folder = os.path.realpath(args.server)
            project = open_bare(folder, read_settings(folder))
        else:
            from dibs.project.project import open_project

            project = open_project(args.repo)
        try:
            project.store.now()
        finally:
            project.close()
    except DibsError as error:
        return error.message
    return ""


def _no_options(_: ArgumentParser) -> None:
    """``dibs git check`` has only the common options."""


def _check(args: Namespace) -> int:
    """Check whether you may commit the staged files, or push the commits that pre-commit passes.

    Meant for the pre-commit framework, in its pre-commit and pre-push stages.

    Examples:
      dibs git check
    """
    from dibs.cli.support.session import Session
    from dibs.guard.git.messages import lines
    from dibs.guard.git.updates import staged_or_pushed

    with Session(args) as session:
        made = staged_or_pushed(session.project.place.repository)
        pushed = any(one.commit for one in made)
        judge = session.project.gating.judge
        stopped = judge(session.caller, made, making=not pushed) if made else []
        if args.json:
            from dibs.cli.support.session import print_json

            print_json({"allowed": not stopped, "stopped": blocked(stopped)})
        elif stopped:
            what = "push" if pushed else "commit"
            print("\n".join(lines(stopped, what, session.caller)), file=sys.stderr)
    return HELD if stopped else OK


VERBS = {
    "install": (_install_options, _install),
    "uninstall": (_place_options, _uninstall),
    "status": (_place_options, _status),
    "check": (_no_options, _check),
}
