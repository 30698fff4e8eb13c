"""What a person can do with a row: which keys apply, what each one asks for, and the call that it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.top.source import CONFIRMED, REJECTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.cli.top.source import Source

#: The name of each action, by its key, and the keys for the rows of each list, decision, or alert.
NAMES = {
    "a": "ask",
    "r": "revoke",
    "m": "message",
    "c": "confirm",
    "x": "reject",
    "o": "acknowledge",
}
ACTIONS = {
    "agents": "m", "claims": "arm", "waits": "rm", "log": "m",
    "decision": "cxm", "conflict": "cxm", "alert": "om",
}  # fmt: skip
#: What confirming and rejecting mean in a conflict between two agents.
IN_CONFLICT = {"c": "revoke the owner's claim", "x": "leave it with the owner"}

Action = tuple[str, str, bool, "Callable[[str], str]"]


def action_for(source: Source, key: str, kind: str, row: dict[str, Any]) -> Action:
    """Return an action's question, its label, whether a text is required, and what runs it."""
    if key == "m":
        to = _agent(kind, row)
        return f"Message to {to}", "text", True, lambda text: source.say(to, text)
    if key in "cx":
        return _decision(source, key, row)
    if key == "o":
        title = f"Acknowledge {row['id']}: {row['text']}"
        return title, "reason, optional", False, lambda text: source.acknowledge(row["id"], text)
    pattern, owner = _target(kind, row)
    if key == "a":
        title = f"Ask {owner} to release {pattern}"
        return title, "why you need it", False, lambda text: source.ask(pattern, text)
    title = f"Revoke {pattern} from {owner}"
    return title, f"reason; {owner} sees it", True, lambda text: source.revoke(pattern, text)


def _decision(source: Source, key: str, row: dict[str, Any]) -> Action:
    outcome = CONFIRMED if key == "c" else REJECTED
    words = IN_CONFLICT if row["conflict"] else NAMES
    word = words[key].capitalize()
    label = "reason, optional" if key == "c" else f"reason; {row['asker']} sees it"
    title = f"{word}: {row['title']}"
    return title, label, key == "x", lambda text: source.decide(row["id"], outcome, text)


def _agent(kind: str, row: dict[str, Any]) -> str:
    """Return the agent that a row is about."""
    if kind == "alert":
        return str((row["agents"] or ["all"])[0])
    return str(
        row["asker"] if kind == "decision" else row["id"] if kind == "agents" else row["agent"]
    )


def _target(kind: str, row: dict[str, Any]) -> tuple[str, str]:
    """Return the claim that an action on a row is about, and its owner."""
    if kind == "claims":
        return row["pattern"], row["agent"]
    held = [one for one in row.get("blocked_by", []) if not one["waiting"]]
    return (held[0]["held"], held[0]["holder"]) if held else (row["patterns"][0], "its owner")
