"""What ``dibs init --board`` writes: folders, pages, templates, validators, and agent profiles.

The names are those of the orchestration document. An existing file is never changed, except that
``dibs.toml`` gets a ``[board]`` table if it has none.
"""

from __future__ import annotations

import os

from dibs.core.tasks import pages
from dibs.core.tasks.rules import ARCHIVE, ASSIGNED, DONE, INBOX
from dibs.core.text.names import check_agent_id
from dibs.install.agents.edits import SETTINGS_FILE, FileEdit
from dibs.install.entries import toml_edit
from dibs.install.entries.pieces import NewTable, WholeFile
from dibs.taskfile.schema import schema_text
from dibs.workdir.folders import ATTRIBUTES, COLLABORATION, LOGS, SCHEMAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dibs.install.agents.edits import Choice

SCRIPTS, TEMPLATES, PROFILES = "scripts", "docs/templates/agent-tasks", ".github/agents"
#: Keeps an otherwise empty folder in git.
KEEP = ".gitkeep"
#: The board's folder in the texts, and the placeholder of a profile's agent.
_WORK, _AGENT = "work", "AGENT"
_PROFILE_ENDING = ".agent.md"
_PROFILE, _VALIDATORS = (
    "agent-profile.md",
    ("validate-task-schema.py", "validate-work-structure.sh"),
)
_TEMPLATES = (
    "task-base.yaml", "task-descriptor.yaml", "task-timestamps.yaml", "task-result.yaml",
    "task-error.yaml", _PROFILE,
)  # fmt: skip


def settings_table() -> FileEdit:
    """Return the edit of ``dibs.toml`` that makes each transition a commit."""
    return FileEdit(SETTINGS_FILE, NewTable(("board",), {"commit": True}), "board settings")


def commit_note(choice: Choice) -> str:
    """Return what to add to the user's own ``[board]`` table, which is not changed; empty if nothing."""
    text = "\n".join(choice.lines(SETTINGS_FILE))
    table = toml_edit.lookup(toml_edit.parse(text, SETTINGS_FILE), ("board",))
    if table is None or "commit" in table:
        return ""
    return f"for a git commit per transition, add `commit = true` under [board] in {SETTINGS_FILE}"


def scaffold(folder: str, agents: Iterable[str] = ()) -> list[FileEdit]:
    """Return the files of a board in ``folder``, with a folder and a profile for each agent."""
    agents = tuple(map(check_agent_id, agents))
    whole = {
        "README.md": _text("README.md", folder),
        ".gitattributes": ATTRIBUTES,
        f"{SCHEMAS}/task.schema.json": schema_text(),
        f"{COLLABORATION}/WORKFLOW_LOG.md": pages.WORKFLOW_HEAD,
        f"{COLLABORATION}/HANDOFFS.md": pages.HANDOFFS_HEAD,
        f"{COLLABORATION}/AGENT_STATUS.md": pages.STATUS_HEAD,
        **{f"{SCRIPTS}/{name}": _text(f"{name}.txt", folder) for name in _VALIDATORS},
        **{f"{place}/{KEEP}": "" for place in (INBOX, ASSIGNED, DONE, ARCHIVE, LOGS)},
        **{f"{ASSIGNED}/{agent}/{KEEP}": "" for agent in agents},
    }
    found = _edits({f"{folder}/{name}": text for name, text in whole.items()}, "task board")
    templates = {f"{TEMPLATES}/{name}": _text(name, folder) for name in _TEMPLATES}
    profiles = {
        f"{PROFILES}/{agent}{_PROFILE_ENDING}": _text(_PROFILE, folder).replace(_AGENT, agent)
        for agent in agents
    }
    return found + _edits(templates, "template") + _edits(profiles, "agent profile")


def board_edits(
    choice: Choice, folder: str, known: Collection[str], agents: Sequence[str] | None
) -> list[FileEdit]:
    """Return the edits for a board; ``known`` are files of earlier calls, which stay without ``agents``.

    ``agents`` is None unless the user asks for a board. Then missing files are created; files that are not
    ours are left alone.
    """
    paths = [path for path in known if path.startswith((f"{folder}/", f"{TEMPLATES}/"))]
    if agents is None and not paths:
        return []
    edits = scaffold(folder, dict.fromkeys((*(agents or ()), *_agents_in(folder, paths))))
    if agents is None:
        return [edit for edit in edits if edit.path in known and choice.has(edit.path)]
    return [edit for edit in edits if edit.path in known or not choice.has(edit.path)]


def _agents_in(folder: str, paths: Iterable[str]) -> list[str]:
    start, end = f"{folder}/{ASSIGNED}/", f"/{KEEP}"
    found = [path for path in paths if path.startswith(start) and path.endswith(end)]
    return [name for path in found if (name := path[len(start) : -len(end)])]


def _edits(texts: Mapping[str, str], what: str) -> list[FileEdit]:
    return [FileEdit(path, WholeFile(text), what) for path, text in texts.items()]


def _text(name: str, folder: str) -> str:
    """Return a text of this package, for a board in ``folder``."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files", name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return text if folder == _WORK else text.replace(f"{_WORK}/", f"{folder}/")
