"""Helpers for tests of ``dibs init``: the files of a tree, and our handlers in them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

from dibs.install.entries.commands import is_our_hook

SETTINGS = ".claude/settings.local.json"
#: A user's settings file, with its own order, indentation, line endings, and hooks.
THEIRS = (
    b'{\r\n    "permissions": {"allow": ["Bash(ls:*)"]},\r\n    "hooks": {\r\n        "PreToolUse": [\r\n'
    b'            {"matcher": "Write", "hooks": [{"type": "command", "command": "lint"}]}\r\n        ]\r\n'
    b'    },\r\n    "model": "opus"\r\n}'
)


def tree(root):
    """Return every file outside the git directory, with its bytes and mode."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        for name in [*files, *names]:
            path = Path(folder, name)
            content = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(root))] = (content, stat.S_IMODE(path.lstat().st_mode))
    return found


def put(root, path, content):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def our_handlers(path):
    hooks = json.loads(path.read_bytes())["hooks"]
    return [h for groups in hooks.values() for g in groups for h in g["hooks"] if is_our_hook(h)]
