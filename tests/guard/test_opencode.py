"""The opencode plugin and what it does with the hook's answers; node plays opencode."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dibs as dibs_package
from dibs.project.project import create

PACKAGE = Path(dibs_package.__file__).parent
TEMPLATE = (PACKAGE / "install" / "agents" / "opencode.js").read_text()
NODE = shutil.which("node") or ""

pytestmark = pytest.mark.skipif(not NODE, reason="needs node, which runs the plugin here")

#: Plays opencode: calls the plugin hooks that a script lists, and prints the result of each.
PLAYER = """
import { Dibs } from "./dibs.js"
const sessions = { ses_child: "ses_main" }
const client = { session: { get: async ({ path }) => ({ data: { parentID: sessions[path.id] } }) } }
const hooks = await Dibs({ client, directory: process.cwd() })
const done = []
for (const [name, input, output] of JSON.parse(process.argv[2])) {
  try {
    await hooks[name](input, output)
    done.push(output ?? "done")
  } catch (error) {
    done.push({ thrown: error.message })
  }
}
console.log(JSON.stringify(done))
"""


@pytest.fixture
def repo(tmp_path, monkeypatch):
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    create(str(root))[0].close()
    monkeypatch.delenv("DIBS_AGENT", raising=False)
    (root / "package.json").write_text('{"type": "module"}')
    (root / "player.js").write_text(PLAYER)
    install(root, [sys.executable, "-I", "-S", str(PACKAGE / "guard" / "run.py"), "opencode"])
    return root


def install(root, command, patience="20_000"):
    text = TEMPLATE.replace('"@DIBS_HOOK@"', json.dumps(command))
    (root / "dibs.js").write_text(text.replace("20_000", patience))


def play(root, *calls):
    command = [NODE, "player.js", json.dumps(calls)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def write(path, session="ses_main", tool="write"):
    said = {"tool": tool, "sessionID": session, "callID": "c1"}
    return ["tool.execute.before", said, {"args": {"filePath": path, "content": "x"}}]


def test_the_template_has_its_placeholder_once_and_names_dibs():
    assert TEMPLATE.count('"@DIBS_HOOK@"') == 1
    assert "dibs:opencode" in TEMPLATE.splitlines()[0]


def test_another_agents_file_throws_and_an_unclaimed_one_is_allowed(repo):
    free, held = play(repo, write("a.txt", "ses_other"), write("a.txt"))

    assert free == {"args": {"filePath": "a.txt", "content": "x"}}
    assert "a.txt: opencode-" in held["thrown"]


def test_a_session_with_a_parent_is_its_subagent(repo):
    play(repo, write("a.txt", "ses_child"))

    found = subprocess.run(
        [sys.executable, "-m", "dibs", "agent", "ls", "--all", "--json"],
        cwd=repo,
        capture_output=True,
        text=True,
        check=True,
    )
    agents = {agent["id"]: agent["parent"] for agent in json.loads(found.stdout)["agents"]}

    child = next(name for name in agents if "." in name)
    assert child.startswith("opencode-")
    assert agents[child] == child.partition(".")[0]


def test_a_session_is_briefed_once_and_its_system_prompt_keeps_it(repo):
    system = ["experimental.chat.system.transform", {"sessionID": "ses_main"}, {"system": ["own"]}]

    play(repo, write("a.txt", "ses_other"))
    first, second = play(repo, system, system)

    assert first["system"][0] == "own"
    assert "a.txt" in first["system"][1]
    assert second == first


def test_a_prompt_delivers_news(repo):
    system = ["experimental.chat.system.transform", {"sessionID": "ses_main"}, {"system": []}]
    prompt = ["chat.message", {"sessionID": "ses_main"}, {}]

    first, _, _, _, later = play(
        repo, system, system, write("new.txt", "ses_other"), prompt, system
    )

    assert len(later["system"]) == len(first["system"]) + 1
    assert "new.txt" in later["system"][-1]


@pytest.mark.parametrize("command", [["/nowhere/python"], [sys.executable, "-c", "raise SystemExit(1)"],
                                     [sys.executable, "-c", "print('no JSON')"],
                                     [sys.executable, "-c", "import sys; sys.exit('why not')"]])  # fmt: skip
def test_a_failing_hook_blocks_tools_and_nothing_else(repo, command):
    install(repo, command)
    after = [
        "tool.execute.after",
        {"tool": "write", "sessionID": "s", "callID": "c"},
        {"output": "x"},
    ]
    system = ["experimental.chat.system.transform", {"sessionID": "s"}, {"system": []}]
    idle = ["event", {"event": {"type": "session.idle", "properties": {"sessionID": "s"}}}, None]

    before, told, listed, ended = play(repo, write("a.txt"), after, system, idle)

    assert "thrown" in before
    assert (told, listed, ended) == ({"output": "x"}, {"system": []}, "done")


def test_a_hanging_hook_is_killed_and_blocks(repo):
    install(repo, [sys.executable, "-c", "import time; time.sleep(60)"], patience="300")

    (found,) = play(repo, write("a.txt"))

    assert "timed out" in found["thrown"]


def test_a_read_only_tool_starts_no_hook(repo):
    install(repo, ["/nowhere/python"])

    (found,) = play(repo, write("a.txt", tool="grep"))

    assert "thrown" not in found


def test_the_end_of_a_session_releases_its_claims(repo):
    deleted = {"type": "session.deleted", "properties": {"info": {"id": "ses_other"}}}

    *_, free = play(
        repo, write("a.txt", "ses_other"), ["event", {"event": deleted}, None], write("a.txt")
    )

    assert "thrown" not in free
