"""``dibs init --uninstall``: remove everything that init wrote; with ``--purge``, the state too."""

from __future__ import annotations

import os

from dibs.cli.commands.init import text
from dibs.cli.support import HELD, OK
from dibs.cli.support.consent import confirmed
from dibs.core.text.names import plural
from dibs.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any

    from dibs.install.apply import UninstallResult
    from dibs.install.plan import PlannedChange
    from dibs.install.purge import PurgePlan
    from dibs.local.repository import Repository

#: What the state contains.
_STATE = "claims, tasks, history"


def command(args: Namespace, *more: str) -> str:
    """Return the command line with the options that were typed and ``more``."""
    from shlex import quote

    typed = [
        f"--{name}"
        for name in ("uninstall", "user", "purge", "force", "yes", "json")
        if vars(args)[name]
    ]
    words = list(dict.fromkeys((*typed, *more)))
    for name in ("repo", "agent"):
        words += [f"--{name}", quote(vars(args)[name])] if vars(args)[name] else []
    return " ".join(("dibs init", *words))


def run(args: Namespace, repository: Repository, *, asks: bool) -> int:
    """Plan the removal, show it, ask, and remove."""
    from dibs.cli.support.session import print_json, require_human
    from dibs.install import manifest
    from dibs.install.apply import plan_uninstall
    from dibs.install.purge import plan_purge
    from dibs.install.user_hooks import apply_user_hooks

    hint = "ask a human to run: dibs init --uninstall"
    require_human(args, "only a human may remove the guards", hint=hint, everywhere=args.user)
    gates = manifest.load(repository).gates
    user = _user_changes(repository)
    changes = (*plan_uninstall(repository), *(user if args.user else ()))
    plan = plan_purge(repository, force=args.force) if args.purge else None
    kept = _kept(repository, plan)
    if plan is not None and not args.dry_run:
        _check_purge(args, plan, asks=asks)
    left: tuple[str, ...] = ()
    if not args.dry_run:
        if asks and (changes or gates or plan) and not _agreed(changes, plan, kept, gates=gates):
            print("nothing was changed")
            return HELD
        done = _remove(args, repository, plan, gates=gates)
        if args.user:
            apply_user_hooks(user)
        changes, left = (*done.changes, *(user if args.user else ())), done.left
        kept = _kept(repository, plan)
    if args.json:
        print_json(_shape(changes, left, plan, gates=gates, dry=args.dry_run))
    else:
        kept = {**{f"{folder}/": "contains other files" for folder in left}, **kept}
        _show(args, changes, kept, plan, gates=gates)
        if user and not args.user:
            text.say(
                "kept the hooks in your home folder, which all your repositories use; to remove them too,"
                f" run: `{command(args, '--user')}`"
            )
    return OK


def _user_changes(repository: Repository) -> tuple[PlannedChange, ...]:
    """Return the changes that remove our hooks from the user's own settings."""
    from dibs.install.agents.table import AGENTS
    from dibs.install.user_hooks import plan_user_hooks

    found = plan_user_hooks(repository, AGENTS, os.environ, remove=True)
    return tuple(change for change in found if change.act != "keep")


def _remove(
    args: Namespace, repository: Repository, plan: PurgePlan | None, *, gates: bool
) -> UninstallResult:
    """Remove git hooks and settings, and with a ``plan`` the state."""
    from dibs.cli.support.progress import Progress
    from dibs.install.apply import uninstall
    from dibs.install.purge import purge

    with Progress(quiet=args.json) as progress:
        progress("removing hooks and settings")
        if gates:  # before the manifest, which records them
            from dibs.guard.git.install import GitHooks

            GitHooks(repository.common, repository.state).uninstall()
        done = uninstall(repository)
        if plan is not None:
            progress("deleting the state")
            _stop_server()
            purge(repository, plan)
    return done


def _check_purge(args: Namespace, plan: PurgePlan, *, asks: bool) -> None:
    """Refuse a purge while agents hold claims, or without confirmation."""
    said = () if asks else ("--yes",)
    if not args.force:
        plan.check_unused(command(args, "--force", *said))
    if not (asks or args.yes):
        raise BadUsage("init: --purge needs a confirmation", hint=f"run: {command(args, *said)}")


def _kept(repository: Repository, plan: PurgePlan | None) -> dict[str, str]:
    """Return what stays, each with a description."""
    found: dict[str, str] = {}
    if plan is None and os.path.isdir(repository.state):
        found[text.shown(repository.state, repository.root)] = _STATE
    board = _board_folder(repository)
    if board:
        found[f"{board}/"] = "task files"
    if plan is not None:
        found |= dict.fromkeys(plan.kept, "saved work")
        if plan.store:
            found[plan.store] = "store shared with other clones"
    return found


def _board_folder(repository: Repository) -> str:
    """Return the folder of the task files, or an empty text if there is none."""
    from dibs.config import load
    from dibs.config.settings import Config
    from dibs.core.tasks.rules import INBOX
    from dibs.errors import Misconfigured

    try:
        config = load.load(repository.root, repository.state, os.environ, {}).config
    except Misconfigured:  # broken settings must not prevent the removal
        config = Config()
    folder = config.board_folder
    return folder if os.path.isdir(os.path.join(repository.root, folder, INBOX)) else ""


def _agreed(
    changes: Sequence[PlannedChange], plan: PurgePlan | None, kept: dict[str, str], *, gates: bool
) -> bool:
    _print_changes(changes, gates=gates, done=False)
    if plan is not None:
        _print_purge(plan, done=False)
    text.print_changes(("keep", path, what, "") for path, what in kept.items())
    if plan is None:
        return confirmed("remove this?")
    return confirmed("delete all of this?", default=False)


def _stop_server() -> None:
    """Stop the server, which may have the store open; hooks start it again when they need it."""
    import signal
    from contextlib import suppress

    from dibs.local.server_files import server_folder, server_lock

    process = server_lock(server_folder()).holder()
    if process:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)


def _print_changes(changes: Sequence[PlannedChange], *, gates: bool, done: bool) -> None:
    rows = [text.change_row(change, done=done) for change in changes]
    if gates:
        rows.append(("removed" if done else "remove", "git hooks", "", ""))
    text.print_changes(rows)


def _print_purge(plan: PurgePlan, *, done: bool) -> None:
    word = "deleted" if done else "delete"
    contents = ", ".join(
        plural(count, noun.replace("_", " ")) for noun, count in plan.contents.items()
    )
    rows = [(word, folder, "", "") for folder in (*plan.folders[1:], *plan.refs)]
    first = [(word, folder, contents, "") for folder in plan.folders[:1]]
    text.print_changes(first + rows)


def _show(
    args: Namespace, changes: Sequence[PlannedChange], kept: dict[str, str],
    plan: PurgePlan | None, *, gates: bool,
) -> None:  # fmt: skip
    """Print what was removed, or would be, and what stays."""
    dry = args.dry_run
    if not changes and not gates and not (plan and (plan.folders or plan.refs)):
        print("nothing to remove")
    _print_changes(changes, gates=gates, done=not dry)
    if plan is not None:
        _print_purge(plan, done=not dry)
    text.print_changes(("keep" if dry else "kept", path, what, "") for path, what in kept.items())
    if dry:
        if plan is not None and plan.owners and not args.force:
            text.say(f"agents hold claims: {', '.join(plan.owners)}; a purge needs --force")
        print("nothing was changed (--dry-run)")
    elif plan is None and _STATE in kept.values():
        text.say(f"to delete the state too, run: `{command(args, '--purge')}`")
    elif plan is not None and plan.kept:
        how = (
            f"git show --stat {plan.kept[0]}"
            if plan.kept[0].startswith("refs/")
            else "dibs salvage ls"
        )
        text.say(f"saved work stays in git; to see it, run: `{how}`")


def _shape(
    changes: Sequence[PlannedChange], left: Sequence[str], plan: PurgePlan | None,
    *, gates: bool, dry: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what was removed, for programs."""
    shape: dict[str, Any] = {
        "changes": [text.change_shape(change) for change in changes],
        "left": list(left),
        "git_gates": gates,
        "dry_run": dry,
    }
    return shape if plan is None else {**shape, "purged": plan._asdict()}
