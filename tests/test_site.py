"""The documentation site builds without warnings and without a network."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")


def test_the_site_builds_offline_without_warnings_and_lists_every_page(tmp_path):
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d"]

    done = subprocess.run(
        [*build, str(tmp_path / "cache"), ".", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, **NO_NETWORK}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    home = (tmp_path / "site" / "README.html").read_text("utf-8")
    sidebar = set(re.findall(r'class="reference internal" href="([^"#]+)\.html"', home))
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    decisions = {page for page in pages if page.startswith("docs/decisions/")}
    assert pages - decisions <= sidebar
    assert "docs/decisions/README" in sidebar
