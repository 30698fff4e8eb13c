"""The verbs of ``dibs git`` for hooks: install, uninstall, status, check."""

from __future__ import annotations

import os
import sys

from dibs.cli.support import HELD, OK
from dibs.cli.support.tables import table
from dibs.cli.support.text import green, printable, yellow
from dibs.errors import BadUsage, DibsError, NotAllowed, NotFound
from dibs.shapes.commits import blocked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.guard.git.install import GitHooks, Hook

_NONE = 6


def _place_options(parser: ArgumentParser) -> None:
    parser.add_argument("--server", metavar="DIR", help="a bare repository that others push to")


def _install_options(parser: ArgumentParser) -> None:
    _place_options(parser)
    parser.add_argument("--engine", metavar="URL", help="the store that the server asks")
    parser.add_argument("--project", metavar="NAME", help="the project's name in that store")
    parser.add_argument("--branch", metavar="NAME", help="the branch of the git engine there")
    parser.add_argument(
        "--each-ref", action="store_true", help="refuse single branches of a push, not all of it"
    )


def _hooks(args: Namespace) -> tuple[GitHooks, str]:
    """Return the hooks that are meant, and the folder they are in."""
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
                hint="git init --bare makes one; in a clone `dibs git install` judges pushes too",
            )
        return GitHooks(folder, os.path.join(folder, "dibs"), SERVER), folder
    repository = find(args.repo)
    if not repository.common:
        raise NotFound(
            "this project is not in a git repository", code="NO_REPO", hint="run git init"
        )
    return GitHooks(repository.common, repository.state, LOCAL), repository.common


def _install(args: Namespace) -> int:
    """Put hooks into this repository, or with --server into a bare one. Safe to repeat.

    Hooks that are there are kept and run first, also those of core.hooksPath, husky and the pre-commit
    framework. All worktrees share them.
    """
    hooks, folder = _hooks(args)
    given = {"engine": args.engine, "project": args.project, "branch": args.branch}
    if args.server is None:
        if args.each_ref or any(given.values()):
            raise BadUsage(
                "git install: --engine, --project, --branch and --each-ref go with --server"
            )
    else:
        from dibs.guard.git.server import set_up

        set_up(folder, {name: value for name, value in given.items() if value})
        hooks.narrow("update" if args.each_ref else "pre-receive")
    hooks.install()
    return _show(args, hooks)


def _uninstall(args: Namespace) -> int:
    """Take the hooks away. Files, modes and settings are as they were before; others' hooks stay."""
    from dibs.cli.support.session import careful_caller

    if not careful_caller(args).human:
        raise NotAllowed(
            "only a human may take the gates away", code="HUMANS_ONLY", hint="ask a human"
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

    print("the hooks are gone; all is as before" if there else "there was nothing to take away")
    for place in hooks.left():
        print(f"  kept, for another hook has taken its place since: {printable(place)}")
    return OK


def _status(args: Namespace) -> int:
    """Show which hooks are in place, what runs before them, and whether the store answers."""
    hooks, _ = _hooks(args)
    return _show(args, hooks)


def _show(args: Namespace, hooks: GitHooks) -> int:
    found = hooks.look()
    if args.server is not None:  # one of the two does the work
        found = [hook for hook in found if hook.installed] or found[:1]
    works, why = _works(args)
    installed = all(hook.installed for hook in found)
    if args.json:
        from dibs.cli.support.session import print_json

        rows = [hook._asdict() for hook in found]
        shape = {"installed": installed, "hooks": rows, "store": why or "answers"}
        print_json({**shape, "works": installed and works})
    else:
        _print(found, why)
    return OK if installed else _NONE


def _print(found: list[Hook], why: str) -> None:
    rows = []
    for hook in found:
        state = "not installed"
        if hook.installed:
            state = "in place" if hook.current else "of another version"
        rows.append((hook.name, state, printable(hook.before) or "-"))
    print("\n".join(table(("HOOK", "STATE", "RUNS FIRST"), rows)))
    print()
    if not all(hook.installed for hook in found):
        print(f"{yellow('not installed')}: `dibs git install` puts in what is missing")
    elif why:
        print(
            f"{yellow('closed')}: the store cannot be asked, so commits are refused: {printable(why)}"
        )
    else:
        print(f"{green('in place')}: git refuses what others have claimed")


def _works(args: Namespace) -> tuple[bool, str]:
    """Tell whether the store answers, and if not, why."""
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
        return False, error.message
    return True, ""


def _no_options(_: ArgumentParser) -> None:
    """``dibs git check`` has the common options alone."""


def _check(args: Namespace) -> int:
    """Ask whether what is staged may be committed; before a push, whether what is pushed may be.

    For the pre-commit framework, which tells by variables what is pushed.
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
            what = "this push" if pushed else "this commit"
            print("\n".join(lines(stopped, what, session.caller)), file=sys.stderr)
    return HELD if stopped else OK


VERBS = {
    "install": (_install_options, _install),
    "uninstall": (_place_options, _uninstall),
    "status": (_place_options, _status),
    "check": (_no_options, _check),
}
