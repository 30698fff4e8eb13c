"""Block a shell command as a whole: for how it moves branches, runs Dibs, or waits for input."""

from __future__ import annotations

import os

from dibs.core.toolcalls.values import Verdict, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.core.toolcalls.values import HookEvent
    from dibs.local.repository import Repository
    from dibs.services.guard.admission import Decided
    from dibs.services.state.rows import Rows
    from dibs.services.state.sessions import SessionRow
    from dibs.services.state.store import Store


def refuse_command(
    store: Store,
    repository: Repository,
    heard: HookEvent,
    decided: Decided,
    draw: Callable[[], str],
) -> Verdict | None:
    """Return why a command is blocked, whatever it writes; None if it is not."""
    agent, command = decided.session.id, heard.command
    why = note = ""
    if _may_move(repository, command):
        from dibs.services.guard.tree_moves import judge_moves

        why = judge_moves(store, repository, agent, command, heard.cwd, draw)
        note = f"blocked {agent} from moving HEAD or a branch"
    if not why and "dibs" in command.lower():
        why = note = _acts_as_another(store, decided.session, command)
    # Codex can type into a running command, and calls no hook for it.
    if not why and heard.agent == "codex" and not decided.refused:
        from dibs.core.shell.interactive import waits_for_input

        program = waits_for_input(command)
        if program:
            from dibs.core.toolcalls.messages import typed_later

            why, note = typed_later(program), f"blocked {agent} from opening {program}"
    return Verdict(Word.DENY, why, f"dibs: {note}", reader=agent) if why else None


def note_own_move(store: Store, repository: Repository, heard: HookEvent, agent: str) -> None:
    """Record the branch for an agent's claims after it moved HEAD itself."""
    if not _may_move(repository, heard.command):
        return
    from dibs.core.shell.writes import writes

    if writes(heard.command, heard.cwd, os.path.expanduser("~")).moves:
        from dibs.services.guard.shared_tree import note_branch

        store.apply(lambda rows: note_branch(rows, agent))


def _may_move(repository: Repository, command: str) -> bool:
    """Return whether a command's text can move HEAD or a branch of a git repository."""
    return bool(repository.common) and ("git" in command or "gh" in command)


def _acts_as_another(store: Store, session: SessionRow, command: str) -> str:
    """Return why an agent may not run a command with Dibs in it; empty if it may.

    A subagent's commands run in its parent's process, so they act as the parent.
    """
    from dibs.core.claims.agents import family
    from dibs.core.shell.dibs_calls import refused_call

    own = session.parent or session.id

    def look(rows: Rows) -> tuple[str, ...]:
        return tuple(family(own, {agent.id: agent.parent for agent in rows.agents()}))

    what, why = refused_call(command, own)
    if what:
        what, why = refused_call(command, own, store.look(look))
    if not what:
        return ""
    instead = (
        "ask a human to run it"
        if "human" in why
        else "act under your own name; to reach another agent, use `dibs ask` or `dibs say`"
    )
    return f"blocked `{what}`: {why}; {instead}"
