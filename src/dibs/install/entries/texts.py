"""The texts that Dibs adds to a repository: instructions for agents, and the settings."""

from __future__ import annotations

import os

#: The line that identifies our skill.
SKILL_MARK = "\nname: dibs\n"

#: Instructions for agents. Enforcement does not depend on them.
BLOCK = """\
## Shared repository: claims

Several agents work here at once. Dibs tracks who holds which files: a hook claims a file at your first edit
and blocks edits to files that another agent holds; the message names the owner, the reason, and the time
left. If an edit is blocked, do other work, wait with `dibs claim PATH --wait 5m`, or request the file with
`dibs ask PATH`. Do not work around the block. `dibs status` shows who holds what, and `dibs brief` shows what
is new for you. `dibs commit` commits only files that you hold.

You are not guarded when your session began without a line such as "Dibs: several agents share this
repository". This happens when your human has not accepted the hooks or trusted the folder (Codex, Copilot),
when Gemini starts in a subfolder or with --skip-trust, and to agents without hooks. Then run
`dibs claim PATH` before each edit, and tell your human to run `dibs doctor --prove`.
"""

#: Added if there is an MCP server.
BLOCK_TOOLS = """\

If a `dibs` command cannot write, as in Codex's sandbox, use the MCP tools of the `dibs` server.
"""


def _read(name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, encoding="utf-8") as file:
        return file.read()


SKILL = _read("skill.md")


#: The sections of settings that people change most.
_SECTIONS = ("", "claims", "gate", "worktree", "merge", "guard")


def settings() -> str:
    """Return a ``dibs.toml`` with the defaults as comments."""
    from dibs.config.table import FIELDS

    lines = [
        "# Dibs settings for this repository. To change one, uncomment its line.",
        "# `dibs config` shows all settings and where each value comes from.",
    ]
    for section in _SECTIONS:
        lines += ["", f"[{section}]"] if section else []
        for field in FIELDS:
            if field.section == section:
                lines += ["", *_commented(field.doc)]
                lines += _commented(f"{field.key} = {_toml(field.default)}", indent="  ")
    return "\n".join(lines) + "\n"


def _commented(text: str, indent: str = "") -> list[str]:
    """Return a text as comments of at most 80 columns."""
    from textwrap import wrap

    return wrap(
        text, 80, initial_indent="# ", subsequent_indent=f"# {indent}", break_on_hyphens=False
    )


def _toml(value: object) -> str:
    import json

    from dibs.core.text.durations import show_span

    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return json.dumps(show_span(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)
