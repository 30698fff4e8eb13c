"""The crew as JSON."""

from __future__ import annotations

from dibs.core.crew.members import host_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from dibs.core.crew.members import CrewStatus, Member
    from dibs.core.crew.roles import CrewConfig, CrewRole


def member(value: Member, task: str = "") -> dict[str, Any]:
    """Shape an agent of the crew; null where something is unknown or does not apply."""
    return {
        "agent": value.agent, "role": value.role, "state": value.state, "parent": value.parent or None,
        "task": task or None, "pid": value.pid or None, "since": value.since, "tree": value.tree,
        "branch": value.branch or None, "restarts": value.restarts,
        "restart_at": value.restart_at if value.restart_at and not value.gave_up else None,
        "cause": value.cause,
        "tokens": value.tokens, "context": value.context if value.context >= 0 else None,
        "host": host_of(value.realm),
    }  # fmt: skip


def role(value: CrewRole) -> dict[str, Any]:
    """Shape a role, without its command: that is the configuration's."""
    return {
        "name": value.name, "agent": value.agent, "driver": value.driver, "model": value.model,
        "limit": value.limit, "worktree": value.worktree,
    }  # fmt: skip


def crew(
    state: CrewStatus, config: CrewConfig | None, limit: int, members: Iterable[Member],
    tasks: Mapping[str, str], waiting: Sequence[tuple[str, str]], *, supervisor: bool,
) -> dict[str, Any]:  # fmt: skip
    """Shape the whole crew; ``supervisor`` says whether a server looks after it."""
    return {
        "up": state.up, "paused": state.paused, "limit": limit, "supervisor": supervisor,
        "roles": [role(one) for one in config.roles] if config is not None else [],
        "members": [member(one, tasks.get(one.agent, "")) for one in members],
        "waiting": [{"task": task, "why": why} for task, why in waiting],
    }  # fmt: skip


def crash(value: Mapping[str, Any]) -> dict[str, Any]:
    """Shape a crash record."""
    return {
        "at": float(value.get("at", 0.0)), "cause": str(value.get("cause", "")),
        "output": str(value.get("output", "")), "tasks": [str(one) for one in value.get("tasks", ())],
        "claims": [str(one) for one in value.get("claims", ())], "tree": str(value.get("tree", "")),
    }  # fmt: skip
