"""The subcommands of ``dibs git`` for hooks: install, uninstall, status, check."""

from __future__ import annotations

import sys

from dibs.cli.support import HELD, OK
from dibs.cli.support.tables import table
from dibs.cli.support.text import green, printable, yellow
from dibs.errors import DibsError, NotFound
from dibs.shapes.commits import blocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.guard.git.install import GitHooks, Hook

_NONE = 6


def _hooks(args: Namespace) -> GitHooks:
    from dibs.guard.git.install import GitHooks
    from dibs.local.repository import find

    repository = find(args.repo)
    if not repository.common:
        raise NotFound("this is not a git repository", code="NO_REPO", hint="create one: git init")
    return GitHooks(repository.common, repository.state)


def _install(args: Namespace) -> int:
    """Install hooks in this repository. Safe to repeat.

    Existing hooks are kept and run first, including core.hooksPath, husky, and the pre-commit framework.
    All worktrees share the hooks.

    Examples:
      dibs git install
    """
    from dibs.git.untrusted import guarded_calls
    from dibs.local.repository import find

    hooks = _hooks(args)
    guarded_calls(find(args.repo).root)  # raises if its files are elsewhere
    hooks.install()
    return _show(args, hooks)


def _uninstall(args: Namespace) -> int:
    """Remove the hooks and restore files, modes, and settings. Your own hooks stay.

    Examples:
      dibs git uninstall
    """
    from dibs.cli.support.session import require_human

    require_human(
        args,
        "only a human may remove the git hooks",
        hint="ask a human to run `dibs git uninstall`",
    )
    hooks = _hooks(args)
    there = hooks.uninstall()
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
    """
    return _show(args, _hooks(args))


def _show(args: Namespace, hooks: GitHooks) -> int:
    found = hooks.look()
    why = _trouble(args)
    if args.json:
        from dibs.cli.support.session import print_json
        from dibs.shapes.checks import git_hooks

        print_json(git_hooks(found, why))
    else:
        _print(found, why)
    return OK if all(hook.installed for hook in found) else _NONE


def _print(found: list[Hook], why: str) -> None:
    rows = []
    for hook in found:
        state = "not installed"
        if hook.installed:
            state = "installed" if hook.current else "outdated"
        rows.append((hook.name, state, printable(hook.before) or "-"))
    print("\n".join(table(("HOOK", "STATE", "RUNS FIRST"), rows)))
    print()
    again = "dibs git install"
    if not any(hook.installed for hook in found):
        print(f"{yellow('not installed')}: to install them, run: {again}")
    elif not all(hook.installed for hook in found):
        print(f"{yellow('incomplete')}: to install the missing hooks, run: {again}")
    elif why:
        print(f"{yellow('store unreachable')}, so commits and pushes are refused: {printable(why)}")
    elif not all(hook.current for hook in found):
        print(f"{yellow('outdated')}: to update the hooks, run: {again}")
    else:
        print(f"{green('active')}: git refuses commits and pushes of files that other agents hold")


def _trouble(args: Namespace) -> str:
    """Return why the store is not reachable, empty if it is."""
    try:
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
    """These subcommands have only the common options."""


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
    "install": (_no_options, _install),
    "uninstall": (_no_options, _uninstall),
    "status": (_no_options, _status),
    "check": (_no_options, _check),
}
