"""Test the agents' hooks: run the command in their settings as the agent would, and read its answer.

A command in the repository's files is run only if it is the one that ``dibs init`` writes.
"""

from __future__ import annotations

import json
import os
import re

from dibs.install.inspect.settings import shown
from dibs.install.prove.known_entries import different, may_run_hook
from dibs.install.prove.run import (
    GuardProof,
    ProofOutcome,
    failed,
    first_line,
    judged,
    run,
    surroundings,
)  # fmt: skip
from dibs.install.prove.trials import trials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from dibs.install.inspect.settings import InstalledHook
    from dibs.install.prove.run import Ran
    from dibs.services.guard.trial_claims import TrialClaim

#: The timeout of a hook whose settings name none, in seconds.
_PATIENCE = 10.0
_BLOCKED = 2
_ENVIRONMENTS = {
    "claude": ("CLAUDE_PROJECT_DIR", "CLAUDECODE"),
    "copilot": ("COPILOT_PROJECT_DIR", "COPILOT_CLI"),
}


def prove_hooks(
    hooks: Sequence[InstalledHook], root: str, scratch: TrialClaim
) -> Iterator[GuardProof]:
    """Test each hook that can block a write; each command of a file and event once."""
    able = [hook for hook in hooks if hook.refuses and hook.command]
    once = {(hook.file, hook.event, hook.matcher, hook.command): hook for hook in reversed(able)}
    for hook in reversed(once.values()):
        yield from _prove(hook, root, scratch)


def _prove(hook: InstalledHook, root: str, scratch: TrialClaim) -> list[GuardProof]:
    file = shown(hook.file, root)
    if not may_run_hook(hook, root):
        return [different(hook.agent, hook.event, file)]
    proofs = []
    for trial in trials(hook, os.path.join(root, scratch.path), scratch.session, root):
        if not trial.tool or matches(hook.matcher, trial.tool):
            outcome, said = _try(hook, trial.payload, root, scratch)
            what = f"{hook.event}, {trial.what}"
            proofs.append(GuardProof(hook.agent, what, outcome, said, file))
    if not proofs:
        said = f"its matcher {hook.matcher!r} matches no tool that writes"
        return [failed(hook.agent, hook.event, said, file)]
    if all(proof.outcome == ProofOutcome.PROVED for proof in proofs):
        outside = os.path.join(os.path.dirname(root) or os.sep, scratch.path)
        unclaimed = trials(hook, outside, scratch.session, root)[0]
        reason = refusal(hook.agent, _run(hook, unclaimed.payload, root))
        if reason is not None:
            said = f"it blocks every write: {first_line(reason)}"
            return [failed(hook.agent, hook.event, said, file)]
    return proofs


def _try(
    hook: InstalledHook, payload: dict[str, Any], root: str, scratch: TrialClaim
) -> tuple[str, str]:  # fmt: skip
    ran = _run(hook, payload, root)
    if not ran.in_time:
        return ProofOutcome.FAILED, "no answer before the timeout, so the agent would have written"
    said = first_line(ran.err) or first_line(ran.out) or f"exit status {ran.status}"
    return judged(refusal(hook.agent, ran), scratch.holder, f": {said}")


def _run(hook: InstalledHook, payload: dict[str, Any], root: str) -> Ran:
    names = _ENVIRONMENTS.get(hook.agent, ())
    return run(
        ["/bin/sh", "-c", hook.command],
        json.dumps(payload),
        folder=root,
        environ=surroundings(root, dict(zip(names, (root, "1"), strict=False))),
        timeout=hook.timeout or _PATIENCE,
    )


def matches(matcher: str, tool: str) -> bool:
    """Return whether a matcher matches a tool; empty and * match all, names form a list, else a regex."""
    if matcher in {"", "*"}:
        return True
    if re.fullmatch(r"[A-Za-z0-9_ ,|-]+", matcher):
        return tool in {name.strip() for name in re.split(r"[|,]", matcher)}
    try:
        return re.search(matcher, tool) is not None
    except re.error:
        return False


def covers(hook: InstalledHook, what: str) -> bool:
    """Return whether a hook checks writes, or shell commands."""
    if not hook.command:  # a plug-in checks every tool
        return True
    asked = (trial for trial in trials(hook, "", "", "") if trial.what == what)
    return any(not trial.tool or matches(hook.matcher, trial.tool) for trial in asked)


def refusal(agent: str, ran: Ran) -> str | None:
    """Return why the agent would block the call after this answer; None if it would not."""
    if ran.status == _BLOCKED:
        return ran.err or ran.out or "no reason"
    if ran.status and agent == "copilot":
        return "the hook failed"
    if ran.status:
        return None
    try:
        said = json.loads(ran.out)
    except ValueError:
        return None
    return _denied(agent, said) if isinstance(said, dict) else None


def _denied(agent: str, said: dict[str, Any]) -> str | None:
    specific = said.get("hookSpecificOutput")
    if agent == "gemini":
        pairs = [(said.get("decision"), said.get("reason"))]
    elif agent == "cursor":
        pairs = [(said.get("permission"), said.get("agent_message") or said.get("user_message"))]
    else:
        places = [specific] if isinstance(specific, dict) else []
        places += [said] if agent == "copilot" else []
        pairs = [(p.get("permissionDecision"), p.get("permissionDecisionReason")) for p in places]
    for word, reason in pairs:
        if word in {"deny", "block"} and isinstance(reason, str):
            return reason
    return None
