"""The texts that Dibs puts into a repository: for agents that read instructions, and the settings."""

from __future__ import annotations

import os

#: The line that identifies our skill.
SKILL_MARK = "\nname: dibs\n"

#: Facts for the reader. Enforcement does not rest on it: hooks and gates do that.
BLOCK = """\
## Shared repository: claims

Several agents work here at once. Dibs keeps who holds which files: a hook claims a file at your first edit
of it, and refuses an edit of what another agent holds, with its name, its reason and the time left. After a
refusal do other work, wait with `dibs claim PATH --wait 5m`, or ask with `dibs ask PATH`; do not write the
file in another way. `dibs status` shows who has what, `dibs brief` what is new for you; `dibs commit` commits
what you hold, and nothing else. The same are tools of the MCP server `dibs`.
"""


def _read(name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, encoding="utf-8") as file:
        return file.read()


SKILL = _read("skill.md")


#: Of the settings, those that people change most.
_SECTIONS = ("", "claims", "gate", "worktree", "merge", "guard")


def settings() -> str:
    """Return a ``dibs.toml`` with the settings and their defaults as comments."""
    from dibs.config.table import FIELDS

    lines = [
        "# Settings of Dibs for this repository. What stands here as a comment is the default.",
        "# `dibs config` shows all settings, what holds, and where each value comes from.",
    ]
    for section in _SECTIONS:
        lines += ["", f"[{section}]"] if section else [""]
        for field in FIELDS:
            if field.section == section:
                lines += [f"# {field.doc}", f"# {field.key} = {_toml(field.default)}"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    import json

    from dibs.core.text.durations import show_span

    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return json.dumps(show_span(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)
