"""Write guard/agents/modules.py: the modules that a hook loads when an agent edits its own file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "dibs"
LIST = PACKAGE / "guard" / "agents" / "modules.py"
#: These run before the list is loaded or after the reply.
APART = {"dibs.startup.pack", "dibs.guard.agents.start", "dibs.guard.agents.modules"}


def plain_modules() -> tuple[str, ...]:
    """Return the Dibs modules that the hook loads without a pack, in load order."""
    with tempfile.TemporaryDirectory(prefix="dibs") as scratch:
        package, repo = Path(scratch) / "site-packages" / "dibs", Path(scratch) / "repo"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / "guard" / "__pycache__").write_bytes(b"")  # so no pack can be written
        subprocess.run(["git", "init", "-q", repo], check=True)
        (repo / "dibs.toml").write_bytes(b"")
        os.utime(
            repo / "dibs.toml", (0, 0)
        )  # settings are cached once the file is a few seconds old
        event = {
            "session_id": "s1",
            "cwd": str(repo),
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": str(repo / "own.py"), "content": "x"},
            "tool_use_id": "toolu_1",
        }
        words = ["-X", "importtime", "-I", "-S", str(package / "guard" / "run.py"), "claude"]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": scratch,
            "XDG_RUNTIME_DIR": f"{scratch}/none",
        }
        for _ in range(3):  # create the store, claim the file, edit the own file
            done = subprocess.run(
                [sys.executable, *words],
                input=json.dumps(event).encode(),
                cwd=repo,
                env=environ,
                capture_output=True,
                check=True,
            )
    names = re.findall(r"\| +(dibs[\w.]*)$", done.stderr.decode(), re.MULTILINE)
    return tuple(name for name in names if name not in APART)


def main() -> None:
    """Rewrite the list in the source."""
    listed = "".join(f'    "{name}",\n' for name in plain_modules())
    text = re.sub(r"(?s)(PLAIN = \(\n).*?(\n?\)\n)", rf"\g<1>{listed})\n", LIST.read_text())
    LIST.write_text(text)


if __name__ == "__main__":
    main()
