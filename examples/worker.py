"""A worker that claims an unclaimed folder, works in it, and releases it.

Run several at once in one repository: python worker.py NAME FOLDER...
"""

from __future__ import annotations

import sys
import time

from dibs import Dibs, Fenced, Refused


def work(dibs: Dibs, folder: str) -> bool:
    """Work in ``folder`` if no one else does; return whether it is done."""
    try:
        with dibs.claim(f"{folder}/", reason="checking the folder", ttl="30s") as hold:
            print(f"working in {folder} (token {hold.token})")
            for _ in range(3):
                time.sleep(0.2)
                hold.check()
    except Refused as refused:
        print(
            f"{folder} is claimed: {refused.conflicts[0].holder} holds {refused.conflicts[0].held}"
        )
        return False
    except Fenced as fenced:
        print(f"lost {folder}: {fenced.message}")
        return False
    return True


def main(name: str, folders: list[str]) -> int:
    """Work in each folder once; retry those that are claimed."""
    with Dibs.open(agent=name) as dibs:
        waiting = list(folders)
        while waiting:
            waiting = [folder for folder in waiting if not work(dibs, folder)]
            time.sleep(0.1)
        dibs.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
