"""Prove the hooks of agents: run the very command of the settings as the agent would, and read its answer."""

from __future__ import annotations

import json
import os
import re
import shlex

from dibs.install.prove.run import GuardProof, ProofOutcome, first_line, run, surroundings
from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.install.inspect.hooks import Wired
    from dibs.install.prove.run import Ran
    from dibs.services.guard.trial_claims import TrialClaim

#: How long a hook gets where its settings do not say.
_PATIENCE = 10.0
_BLOCKED = 2
WRITE, SHELL = "write", "shell"


class Trial(Record):
    """One tool call that a hook is asked about."""

    #: What it is for people: write, or shell.
    what: str
    #: The tool's name, as matchers see it; empty for events that are of one tool.
    tool: str
    payload: dict[str, object]


def prove_hooks(hooks: Sequence[Wired], root: str, scratch: TrialClaim) -> list[GuardProof]:
    """Try each hook that can refuse a write; each command of a file and event is tried once."""
    seen = set()
    found = []
    for hook in hooks:
        mark = (hook.file, hook.event, hook.matcher, hook.command)
        if hook.refuses and hook.command and mark not in seen:
            seen.add(mark)
            found += _prove(hook, root, scratch)
    return found


def _prove(hook: Wired, root: str, scratch: TrialClaim) -> list[GuardProof]:
    file = os.path.relpath(hook.file, root) if hook.file.startswith(root + os.sep) else hook.file
    proofs = []
    for trial in trials(hook, os.path.join(root, scratch.path), scratch.session, root):
        if trial.tool and not matches(hook.matcher, trial.tool):
            continue
        outcome, said = _try(hook, trial, root, scratch)
        proofs.append(GuardProof(hook.agent, f"{hook.event}, {trial.what}", outcome, said, file))
    if not proofs:
        said = f"its matcher {hook.matcher!r} fits no tool that writes"
        return [GuardProof(hook.agent, hook.event, ProofOutcome.FAILED, said, file)]
    if all(proof.outcome == ProofOutcome.PROVED for proof in proofs):
        outside = _lets_pass(hook, root, scratch)
        if outside:
            return [GuardProof(hook.agent, hook.event, ProofOutcome.FAILED, outside, file)]
    return proofs


def _try(hook: Wired, trial: Trial, root: str, scratch: TrialClaim) -> tuple[str, str]:
    ran = _run(hook, trial.payload, root)
    if not ran.in_time:
        return ProofOutcome.FAILED, "it did not answer in time; the agent would have written"
    reason = refusal(hook.agent, ran)
    if reason is None:
        said = first_line(ran.err) or first_line(ran.out) or f"exit status {ran.status}"
        return ProofOutcome.FAILED, f"the write was let pass: {said}"
    line = named(reason, scratch.holder)
    if not line:
        return (
            ProofOutcome.FAILED,
            f"it refused, but not because of the claim: {first_line(reason)}",
        )
    return ProofOutcome.PROVED, line


def named(reason: str, holder: str) -> str:
    """Return the line of a refusal that names the holder, without the fence for models; else nothing."""
    lines = (line.strip().removeprefix("- ") for line in reason.splitlines())
    found = next((line for line in lines if holder in line), "")
    return re.sub(r"</?data-[0-9a-f]+[^>]*>", '"', found)


def _lets_pass(hook: Wired, root: str, scratch: TrialClaim) -> str:
    """Return what is wrong if a hook refuses what is nobody's business; empty if it does not."""
    place = os.path.join(os.path.dirname(root) or os.sep, scratch.path)
    ran = _run(hook, trials(hook, place, scratch.session, root)[0].payload, root)
    reason = refusal(hook.agent, ran)
    return "" if reason is None else f"it refuses everything: {first_line(reason)}"


def _run(hook: Wired, payload: dict[str, object], root: str) -> Ran:
    environ = surroundings(_ENVIRONMENTS.get(hook.agent, lambda _: {})(root))
    return run(
        ["/bin/sh", "-c", hook.command],
        json.dumps(payload),
        folder=root,
        environ=environ,
        timeout=hook.timeout or _PATIENCE,
    )


def matches(matcher: str, tool: str) -> bool:
    """Tell whether a matcher fits a tool: nothing and * fit all, plain names are a list, else a pattern."""
    if matcher in {"", "*"}:
        return True
    if re.fullmatch(r"[A-Za-z0-9_ ,|-]+", matcher):
        return tool in {name.strip() for name in re.split(r"[|,]", matcher)}
    try:
        return re.search(matcher, tool) is not None
    except re.error:
        return False


def covers(hook: Wired, what: str) -> bool:
    """Tell whether a hook is asked about a write, or about a shell command."""
    if not hook.command:  # a plug-in is asked about every tool
        return True
    asked = (trial for trial in trials(hook, "", "", "") if trial.what == what)
    return any(not trial.tool or matches(hook.matcher, trial.tool) for trial in asked)


def refusal(agent: str, ran: Ran) -> str | None:
    """Return the reason with which an agent would refuse the call after this answer; None if it would not."""
    if ran.status == _BLOCKED:
        return ran.err or ran.out or "no reason"
    if ran.status and agent == "copilot":
        return "the hook failed"
    if ran.status or agent == "windsurf":
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


def trials(hook: Wired, path: str, session: str, root: str) -> list[Trial]:
    """Return the calls of a hook: a write of ``path`` by the agent's tool, and one by its shell."""
    command = f"echo proof > {shlex.quote(path)}"
    if hook.agent == "gemini":
        common = _claude_shape(session, root, hook.event) | {"timestamp": "2026-01-01T00:00:00Z"}
        return [
            _trial(common, WRITE, "write_file", {"file_path": path, "content": "proof"}),
            _trial(common, SHELL, "run_shell_command", {"command": command}),
        ]
    if hook.agent == "codex":
        common = _claude_shape(session, root, hook.event) | {"turn_id": "1", "model": "none"}
        patch = f"*** Begin Patch\n*** Add File: {path}\n+proof\n*** End Patch\n"
        return [
            _trial(common, WRITE, "apply_patch", {"command": patch}),
            _trial(common, SHELL, "Bash", {"command": command}),
        ]
    if hook.agent in _OTHER_SHAPES:
        return _OTHER_SHAPES[hook.agent](hook.event, path, command, session, root)
    common = _claude_shape(session, root, hook.event)
    return [
        _trial(common, WRITE, "Write", {"file_path": path, "content": "proof"}),
        _trial(common, SHELL, "Bash", {"command": command}),
    ]


def _claude_shape(session: str, root: str, event: str) -> dict[str, object]:
    return {
        "session_id": session, "transcript_path": "", "cwd": root, "hook_event_name": event,
        "permission_mode": "default", "tool_use_id": "prove",
    }  # fmt: skip


def _trial(common: dict[str, object], what: str, tool: str, given: dict[str, str]) -> Trial:
    return Trial(what, tool, {**common, "tool_name": tool, "tool_input": given})


def _copilot(event: str, path: str, command: str, session: str, root: str) -> list[Trial]:
    calls = [
        (WRITE, "create", "Write", {"path": path, "file_text": "proof"}),
        (SHELL, "bash", "Bash", {"command": command, "description": "prove", "mode": "sync"}),
    ]
    if event == "PreToolUse":
        common = _claude_shape(session, root, event)
        return [_trial(common, what, tool, given) for what, _, tool, given in calls]
    common = {"sessionId": session, "timestamp": 0, "cwd": root}
    return [
        Trial(what, tool, {**common, "toolName": tool, "toolArgs": given})
        for what, tool, _, given in calls
    ]


def _cursor(event: str, path: str, command: str, session: str, root: str) -> list[Trial]:
    common: dict[str, object] = {
        "conversation_id": session, "generation_id": "1", "model": "none", "hook_event_name": event,
        "cursor_version": "0", "workspace_roots": [root], "cwd": root,
    }  # fmt: skip
    if event == "beforeShellExecution":
        return [Trial(SHELL, "", {**common, "command": command})]
    return [
        _trial(common, WRITE, "Write", {"file_path": path, "content": "proof"}),
        _trial(common, SHELL, "Shell", {"command": command}),
    ]


def _windsurf(event: str, path: str, command: str, session: str, root: str) -> list[Trial]:
    common: dict[str, object] = {
        "agent_action_name": event, "trajectory_id": session, "execution_id": "1", "timestamp": "",
    }  # fmt: skip
    if event == "pre_run_command":
        told: dict[str, object] = {"command_line": command, "cwd": root}
        return [Trial(SHELL, "", {**common, "tool_info": told})]
    return [Trial(WRITE, "", {**common, "tool_info": {"file_path": path, "edits": []}})]


_OTHER_SHAPES = {"copilot": _copilot, "cursor": _cursor, "windsurf": _windsurf}
_ENVIRONMENTS = {
    "claude": lambda root: {"CLAUDE_PROJECT_DIR": root, "CLAUDECODE": "1"},
    "copilot": lambda root: {"COPILOT_PROJECT_DIR": root, "COPILOT_CLI": "1"},
}
