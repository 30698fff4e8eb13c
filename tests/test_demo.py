"""The demo does what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO = [sys.executable, str(ROOT / "scripts" / "demo"), "--plain", "--pace", "0"]


@pytest.mark.slow
def test_the_demo_comes_to_its_end_and_nothing_is_held_twice(tmp_path):
    variables = {**os.environ, "TMPDIR": str(tmp_path)}

    done = subprocess.run(
        DEMO, check=False, capture_output=True, text=True, timeout=200, env=variables
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"paths held twice\W+0\b", done.stdout)
    assert list(tmp_path.iterdir()) == []
