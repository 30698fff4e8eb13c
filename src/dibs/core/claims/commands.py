"""The Dibs commands for humans, and those in which a human may name a running agent. Pure.

The command line, the check of agents' shell calls, and the tests of docs/explanation/identity.md use this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Commands that only a human may run. A command with words needs one of them among its arguments: an option,
#: or ``WORD`` for any operand; ``ALONE`` means no operand.
WORD, ALONE = "WORD", "ALONE"
HUMAN_ONLY: dict[str, tuple[str, ...]] = {
    "revoke": (),
    "open": (),
    "init": ("--uninstall", "--purge", "--user", "--new-store"),
    "git uninstall": (),
    "token new": (),
    "token revoke": (),
    "token login": (),
    "serve": ("stop", "--install", "--uninstall"),
    "crew up": (),
    "crew stop": (ALONE,),
    "crew restart": (),
    "crew scale": (),
    "crew pause": (),
    "crew resume": (),
    "engine use": (),
}
#: Commands with which a human may act for an agent whose session runs.
FOR_AGENTS = frozenset({
    "release", "transfer", "answer", "escalate", "commit", "agent leave", "agent stop", "agent join",
    "agent report", "task done", "task fail", "task release", "task block",
})  # fmt: skip
#: Commands that only show something, under any name.
READS = frozenset({
    "status", "who", "check", "log", "explain", "whoami", "agent ls", "agent show", "changes", "diff",
    "forecast", "config", "task ls", "task show", "task graph", "task validate", "decide ls", "decide show",
    "group ls", "group show", "worktree ls", "worktree env", "salvage ls", "salvage show", "alerts",
    "alerts ls", "alerts show", "report", "doctor", "crew ls", "crew show", "crew logs",
})  # fmt: skip
#: Commands whose option ``--agent`` selects what is shown, and not who acts.
FILTERS = frozenset({"log", "changes"})


def is_for_agents(command: str) -> bool:
    """Return whether a human may name a running agent in a command: to act for it, or to see what it sees."""
    return command in FOR_AGENTS or command in READS


def human_only(words: Sequence[str]) -> str:
    """Return the name of a command line that only a human may run; empty for others."""
    if "--help" in words or "-h" in words:
        return ""
    plain = [word for word in words if not word.startswith("-")]
    for name in (" ".join(plain[:2]), plain[0] if plain else ""):
        needs = HUMAN_ONLY.get(name)
        if needs is None:
            continue
        rest = list(words)
        for part in name.split():
            rest.remove(part)
        if not needs:
            return name
        found = next((word for word in needs if _has(word, rest)), "")
        if found:
            return name if found in {WORD, ALONE} else f"{name} {found}"
    return ""


def _has(word: str, rest: Sequence[str]) -> bool:
    if word in {WORD, ALONE}:
        operands = any(not one.startswith("-") for one in rest)
        return operands if word == WORD else not operands
    return any(one == word or one.startswith(f"{word}=") for one in rest)
