"""Compare the size of the sources, the tests, and the documentation with the table in pyproject.toml.

    scripts/size.py            print what grew; fail above a number of the table
    scripts/size.py --lower    lower the numbers of what shrank; no number is raised

A file belongs to the longest folder of the table that contains it, whatever its kind, so that moving lines
to another kind of file does not hide them. To raise a number, edit the table, and give the reason in the
commit message.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Folders whose words are counted instead of lines: prose is wrapped at any width.
PROSE = ("docs",)


def main(words: list[str]) -> int:
    """Check the sizes, or lower the table; return the exit status."""
    if words not in ([], ["--lower"]):
        print(__doc__, file=sys.stderr)
        return 2
    table = _table()
    sizes = _sizes(table)
    if sizes is None:
        print("size: not a git checkout, nothing compared")
        return 0
    if words:
        _lower(table, sizes)
        table = _table()
    grown = [folder for folder, most in table.items() if sizes[folder] > most]
    for folder in grown:
        size, most = sizes[folder], table[folder]
        print(f"size: {folder} has {size:,} {_unit(folder)}, {size - most:,} more than {most:,}")
    if grown:
        print(
            "size: remove something, or raise these numbers in pyproject.toml and say why in the commit"
        )
        return 1
    print("size: " + ", ".join(f"{name} {text}" for name, text in _totals(sizes).items()))
    return 0


def _table() -> dict[str, int]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found: dict[str, int] = project["tool"]["dibs"]["size"]
    return found


def _sizes(table: dict[str, int]) -> dict[str, int] | None:
    """Return the size of each folder of ``table``, or None outside git."""
    tops = sorted({folder.split("/")[0] for folder in table})
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *tops]
    listed = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if listed.returncode:
        return None
    sizes = dict.fromkeys(table, 0)
    for path in {name.decode() for name in listed.stdout.split(b"\0") if name}:
        folder = _folder(path, table)
        if folder and (ROOT / path).is_file():
            sizes[folder] += _size(path, folder)
    return sizes


def _folder(path: str, table: dict[str, int]) -> str:
    """Return the longest folder of ``table`` that contains ``path``, or nothing."""
    return max((name for name in table if path.startswith(f"{name}/")), key=len, default="")


def _size(path: str, folder: str) -> int:
    data = (ROOT / path).read_bytes()
    if b"\0" in data:
        return 0
    if folder in PROSE:
        return len(data.split()) if path.endswith(".md") else 0
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _lower(table: dict[str, int], sizes: dict[str, int]) -> None:
    """Write the sizes of what shrank into the table; folders without files leave it."""
    path = ROOT / "pyproject.toml"
    text = path.read_text("utf-8")
    for folder, most in table.items():
        size = sizes[folder]
        line = f'"{folder}" = {size}\n' if size else ""
        if size < most:
            text = re.sub(
                rf'^"{re.escape(folder)}" = \d+\n', line, text, count=1, flags=re.MULTILINE
            )
            print(f"size: {folder} {most:,} -> {size:,}")
    path.write_text(text, "utf-8")


def _totals(sizes: dict[str, int]) -> dict[str, str]:
    found: dict[str, int] = {}
    for folder, size in sizes.items():
        name = "/".join(folder.split("/")[: 2 if folder.startswith("src/") else 1])
        found[name] = found.get(name, 0) + size
    return {name: f"{size:,} {_unit(name)}" for name, size in found.items()}


def _unit(folder: str) -> str:
    return "words" if folder in PROSE else "lines"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
