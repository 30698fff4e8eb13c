"""Test the opencode plug-in: load it as opencode would, and let it judge a write to a claimed file.

A plug-in in the repository is loaded only if it is the one that ``dibs init`` writes.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile

from dibs.install.inspect.settings import shown
from dibs.install.prove.known_entries import different, may_load_plugin
from dibs.install.prove.run import (
    GuardProof,
    ProofOutcome,
    failed,
    first_line,
    judged,
    run,
    surroundings,
)  # fmt: skip
from dibs.install.prove.trials import SHELL, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.install.inspect.settings import InstalledHook
    from dibs.install.prove.run import Ran
    from dibs.services.guard.trial_claims import TrialClaim

_PATIENCE = 40.0
#: Any of these runs the plug-in; opencode includes its own.
_RUNTIMES = ("node", "bun")
#: Loads the plug-in and prints the result of each call: the text of its refusal, or null.
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


def prove_plugins(
    hooks: Sequence[InstalledHook], root: str, scratch: TrialClaim
) -> Iterator[GuardProof]:
    """Test each installed plug-in."""
    for hook in hooks:
        if hook.file.endswith(".js"):
            yield from _prove(hook, root, scratch)


def _prove(hook: InstalledHook, root: str, scratch: TrialClaim) -> list[GuardProof]:
    file = shown(hook.file, root)
    if not may_load_plugin(hook.file, root):
        return [different(hook.agent, hook.event, file)]
    environ = surroundings(root)
    found = (shutil.which(name, path=environ.get("PATH")) for name in _RUNTIMES)
    runtime = next(filter(None, found), "")
    if not runtime:
        said = f"needs {' or '.join(_RUNTIMES)} to run outside opencode"
        return [GuardProof(hook.agent, hook.event, ProofOutcome.UNTRIED, said, file)]
    path = os.path.join(root, scratch.path)
    beside = os.path.join(os.path.dirname(root) or os.sep, scratch.path)
    calls = [
        ("write", {"filePath": path, "content": "proof"}),
        ("bash", {"command": f"echo proof > {shlex.quote(path)}"}),
        ("write", {"filePath": beside, "content": "proof"}),
    ]
    ran = _call(runtime, hook.file, root, scratch.session, calls)
    try:
        told = json.loads(ran.out)
    except ValueError:
        told = None
    if not isinstance(told, list) or len(told) != len(calls):
        said = first_line(ran.err) or "the plug-in did not answer"
        return [failed(hook.agent, hook.event, said, file)]
    *refused, control = told
    if control is not None:
        said = f"it blocks every write: {first_line(control)}"
        return [failed(hook.agent, hook.event, said, file)]
    return [
        GuardProof(hook.agent, f"{hook.event}, {what}", *judged(reason, scratch.holder), file)
        for what, reason in zip((WRITE, SHELL), refused, strict=True)
    ]


def _call(
    runtime: str, plugin: str, root: str, session: str, calls: list[tuple[str, dict[str, str]]]
) -> Ran:
    """Run the plug-in on some calls; it prints the result of each."""
    given = json.dumps({"directory": root, "session": session, "calls": calls})
    with tempfile.TemporaryDirectory(prefix="dibs-prove-") as folder:
        shutil.copyfile(plugin, os.path.join(folder, "plugin.mjs"))
        driver = os.path.join(folder, "driver.mjs")
        with open(driver, "w", encoding="utf-8") as file:
            file.write(_DRIVER)
        environ = surroundings(root, {"DIBS_PROVE": given})
        # Not in the repository: a runtime loads settings from the current folder, such as bunfig.toml.
        return run([runtime, driver], "", folder=folder, environ=environ, timeout=_PATIENCE)
