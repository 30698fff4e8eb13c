"""Run real agents against a local model, and write the results to docs/reference/e2e.md.

npm installs the agents, pinned in tests/e2e/package.json, into .e2e (or DIBS_E2E_BIN, if they are already
there). They run in a network namespace with only loopback, so nothing leaves the machine and no API key is
needed. Arguments go to pytest. An incomplete run prints its table and writes nothing.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "e2e"
PAGE = ROOT / "docs" / "reference" / "e2e.md"
MARK = "<!-- made by make e2e -->"
#: The files whose tests are the rows of the table.
TABLE = ("test_agents.py", "test_scenes.py", "test_crew.py")
#: Ways to run a command with only the loopback network; the first that works is used.
ALONE = (["unshare", "--net"], ["unshare", "--net", "--map-root-user"])
WORDS = {"passed": "pass", "failed": "**fail**"}

sys.path.insert(0, str(ROOT))


def main(options: list[str]) -> int:
    """Install the agents, run the tests, and report; return the status of the tests."""
    folder = Path(os.environ.get("DIBS_E2E_BIN") or ROOT / ".e2e")
    if not install(folder):
        return 1
    with tempfile.TemporaryDirectory() as place:
        results = Path(place) / "results"
        results.touch()
        before = alone()
        environ = os.environ | {"DIBS_E2E_BIN": str(folder), "DIBS_E2E_RESULTS": str(results)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", str(TESTS), *options]
        status = subprocess.run([*before, *command], check=False, cwd=ROOT, env=environ).returncode
        cells = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    os.environ["DIBS_E2E_BIN"] = str(folder)
    table = render(cells)
    print(table)
    if len({(cell["test"], cell["agent"]) for cell in cells}) == len(titles()) * columns():
        PAGE.write_text(PAGE.read_text("utf-8").partition(MARK)[0] + MARK + "\n\n" + table, "utf-8")
    return status


def install(folder: Path) -> bool:
    """Install the agents into ``folder`` with npm, unless they are there."""
    if (folder / "node_modules" / ".bin").is_dir():
        return True
    npm = shutil.which("npm")
    if npm is None:
        print("e2e: npm is missing (install Node.js 20 or later, then try again)", file=sys.stderr)
        return False
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(TESTS / "package.json", folder)
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
    return subprocess.run(command, check=False, cwd=folder).returncode == 0


def alone() -> list[str]:
    """Return the command prefix that cuts off the network."""
    for words in ALONE:
        try:
            done = subprocess.run(
                [*words, "ip", "link", "set", "lo", "up"], check=False, capture_output=True
            )
        except FileNotFoundError:
            break
        if done.returncode == 0:
            return [*words, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    print(
        "e2e: no network namespace available; using an unreachable proxy instead",
        file=sys.stderr,
    )
    os.environ["DIBS_E2E_PROXY"] = "http://127.0.0.1:9"
    return []


def render(cells: list[dict[str, str]]) -> str:
    """Return the table, with a row for each test and a column for each agent."""
    from tests.e2e.agents import KINDS

    kinds = list(KINDS.values())
    found = {(cell["test"], cell["agent"]): cell for cell in cells}
    ran = sum(cell["outcome"] != "skipped" for cell in cells)
    passed = sum(cell["outcome"] == "passed" for cell in cells)
    rows = titles()
    heads = [f"{kind.title} {kind.version or '(not installed)'}" for kind in kinds]
    whole = len(rows) * len(kinds)
    counted = f"{passed} of {ran} runs passed; {whole - ran} of {whole} cells did not run."
    lines = [
        f"{datetime.now(UTC):%d %B %Y}: {counted}",
        "",
        f"| what | {' | '.join(heads)} |",
        f"|---{'|---' * len(kinds)}|",
    ]
    for test, title in rows.items():
        words = [word_of(found.get((test, kind.name))) for kind in kinds]
        lines.append(f"| {title} | {' | '.join(words)} |")
    return "\n".join(lines) + "\n"


def columns() -> int:
    """Return the number of agents."""
    from tests.e2e.agents import KINDS

    return len(KINDS)


def word_of(cell: dict[str, str] | None) -> str:
    """Return the text of a table cell."""
    if cell is None:
        return "not run"
    if cell["outcome"] == "skipped":
        why = cell["why"].removeprefix("Skipped: ")
        return why if why.startswith("not ") else f"not supported: {why}"
    return WORDS[cell["outcome"]]


def titles() -> dict[str, str]:
    """Return each test's name and row title, in order."""
    trees = [ast.parse((TESTS / name).read_text("utf-8")) for name in TABLE]
    tests = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [node for node in tests if node.name.startswith("test_")]
    return {
        node.name: (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".") for node in named
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
