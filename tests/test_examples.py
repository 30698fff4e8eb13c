"""The examples work."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WORKER = EXAMPLES / "worker.py"


def test_two_workers_process_every_folder_in_turn(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_"))}

    workers = [
        subprocess.Popen(
            [sys.executable, str(WORKER), name, "docs", "src"],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    outputs = [worker.communicate(timeout=60)[0] for worker in workers]

    assert [worker.returncode for worker in workers] == [0, 0]
    for text in outputs:
        assert "working in docs" in text
        assert "working in src" in text
