"""Build and check the dashboard with Node.js from PyPI.

python scripts/dashboard.py build    build the pages if their sources changed
python scripts/dashboard.py check    generate the API's types, and check the TypeScript sources
python scripts/dashboard.py npm ...  run npm in dashboard/, for example: npm install --save-exact NAME
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "dashboard"
sys.path.insert(0, str(FOLDER))

import hatch_build  # noqa: E402 - found in the dashboard's folder


def main(words: list[str]) -> int:
    """Run one command; return the exit status."""
    match words:
        case ["build"]:
            built = hatch_build.build(ROOT)
            print("dashboard: built" if built else "dashboard: up to date")
        case ["check"]:
            write_description()
            hatch_build.install(FOLDER, for_checks=True)
            hatch_build.npm(FOLDER, "run", "types")
            hatch_build.npm(FOLDER, "run", "check")
        case ["npm", *rest]:
            hatch_build.npm(FOLDER, *rest)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def write_description() -> None:
    """Write the OpenAPI document, from which the types are generated."""
    from dibs.server.rest.app import TABLE
    from dibs.server.rest.openapi import document

    text = json.dumps(document(TABLE), indent=1)
    (FOLDER / "openapi.json").write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
