"""A supervisor in a process of its own, which tests kill."""

from __future__ import annotations

import sys
import time

from dibs.crew.supervisor import Supervisor
from dibs.project.project import open_project


def main(root: str) -> None:
    """Look after the crew of a repository until killed."""
    supervisor = Supervisor(root)
    project = open_project(root)
    while True:
        supervisor.tick(project)
        time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1])
