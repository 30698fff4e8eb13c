"""Run the tests that failed once more, one after another; tests with deadlines can fail on a busy machine.

A test that fails again fails the run. One that passes now is named, because it is unstable and must be fixed.
More than a few failures are never repeated: then the code is wrong, not the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Where pytest records what failed in its last run.
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
#: The most failures that are repeated, and pytest's status if tests failed.
MOST, TESTS_FAILED = 5, 1


def main(words: list[str]) -> int:
    """Repeat what failed; return the status of the whole run."""
    status = int(words[0])
    try:
        failed = sorted(json.loads(FAILED.read_text("utf-8")))
    except (OSError, ValueError):
        failed = []
    if status != TESTS_FAILED or not 0 < len(failed) <= MOST:
        return status
    print(f"running {len(failed)} of the failed tests again, alone", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *failed]
    status = subprocess.run(command, check=False, cwd=ROOT).returncode
    if not status:
        print("unstable, passed the second time: " + ", ".join(failed), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
