"""Prove the plug-in of opencode: load it as opencode would, and have it judge a write of another's file."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile

from dibs.install.prove.hooks import SHELL, WRITE, named
from dibs.install.prove.run import GuardProof, ProofOutcome, first_line, run, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.install.inspect.hooks import Wired
    from dibs.services.guard.trial_claims import TrialClaim

_PATIENCE = 40.0
#: Any of these runs the plug-in; opencode brings one of its own.
_RUNTIMES = ("node", "bun")
#: Loads the plug-in and tells what became of each call: refused with which words, or nothing.
_DRIVER = """\
import { Dibs } from "./plugin.mjs"
const { directory, session, calls } = JSON.parse(process.env.DIBS_PROVE)
const client = { session: { get: async () => ({ data: {} }) } }
const hooks = await Dibs({ client, directory, worktree: directory, project: {} })
const said = []
for (const [tool, args] of calls) {
  try {
    await hooks["tool.execute.before"]({ tool, sessionID: session, callID: "prove" }, { args })
    said.push(null)
  } catch (error) {
    said.push(String(error.message ?? error))
  }
}
console.log(JSON.stringify(said))
"""


def prove_plugins(hooks: Sequence[Wired], root: str, scratch: TrialClaim) -> list[GuardProof]:
    """Try each plug-in that is installed."""
    return [
        proof
        for hook in hooks
        if hook.file.endswith(".js")
        for proof in _prove(hook, root, scratch)
    ]


def _prove(hook: Wired, root: str, scratch: TrialClaim) -> list[GuardProof]:
    file = os.path.relpath(hook.file, root) if hook.file.startswith(root + os.sep) else hook.file
    runtime = next(filter(None, map(shutil.which, _RUNTIMES)), "")
    if not runtime:
        said = f"needs {' or '.join(_RUNTIMES)} to be tried outside of opencode"
        return [GuardProof(hook.agent, hook.event, ProofOutcome.UNTRIED, said, file)]
    path = os.path.join(root, scratch.path)
    beside = os.path.join(os.path.dirname(root) or os.sep, scratch.path)
    calls = [
        ("write", {"filePath": path, "content": "proof"}),
        ("bash", {"command": f"echo proof > {shlex.quote(path)}"}),
        ("write", {"filePath": beside, "content": "proof"}),
    ]
    told, why = _call(runtime, hook.file, root, scratch.session, calls)
    if told is None:
        return [GuardProof(hook.agent, hook.event, ProofOutcome.FAILED, why, file)]
    *refused, control = told
    if control is not None:
        said = f"it refuses everything: {first_line(control)}"
        return [GuardProof(hook.agent, hook.event, ProofOutcome.FAILED, said, file)]
    return [
        GuardProof(hook.agent, f"{hook.event}, {what}", *_judged(reason, scratch), file)
        for what, reason in zip((WRITE, SHELL), refused, strict=True)
    ]


def _judged(reason: str | None, scratch: TrialClaim) -> tuple[str, str]:
    if reason is None:
        return ProofOutcome.FAILED, "the write was let pass"
    line = named(reason, scratch.holder)
    if line:
        return ProofOutcome.PROVED, line
    return ProofOutcome.FAILED, f"it refused, but not because of the claim: {first_line(reason)}"


def _call(
    runtime: str, plugin: str, root: str, session: str, calls: list[tuple[str, dict[str, str]]]
) -> tuple[list[str | None] | None, str]:
    """Return what became of each call, or why it cannot be told."""
    given = json.dumps({"directory": root, "session": session, "calls": calls})
    with tempfile.TemporaryDirectory(prefix="dibs-prove-") as folder:
        shutil.copyfile(plugin, os.path.join(folder, "plugin.mjs"))
        driver = os.path.join(folder, "driver.mjs")
        with open(driver, "w", encoding="utf-8") as file:
            file.write(_DRIVER)
        environ = surroundings({"DIBS_PROVE": given})
        ran = run([runtime, driver], "", folder=root, environ=environ, timeout=_PATIENCE)
    try:
        told = json.loads(ran.out)
    except ValueError:
        told = None
    if not isinstance(told, list) or len(told) != len(calls):
        return None, first_line(ran.err) or "the plug-in does not answer"
    return told, ""
