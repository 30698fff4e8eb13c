"""Take the screenshots of the README and the documentation: docs/screenshots/*.png.

    .venv/bin/python scripts/screenshots.py            play the fixed scene and write the files
    .venv/bin/python scripts/screenshots.py -o DIR     write them elsewhere

The scene (scripts/scene.py) is the same in every run. Chromium takes each view in light and dark.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from scene import NOW, make_tree  # noqa: E402 - found in the scripts' folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VIEWS = {"now": "/", "files": "/files", "timeline": "/timeline", "board": "/board"}
THEMES = ("light", "dark")
SIZE = {"width": 1280, "height": 800}
#: A picture in the repository may be this large, in bytes.
MOST = 250_000
SCENE = [sys.executable, str(ROOT / "scripts" / "scene.py")]
#: Milliseconds that a view has to settle.
SETTLE = 2500


def main() -> int:
    """Play the scene, take all pictures, and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "screenshots")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    base = Path(tempfile.mkdtemp(prefix="dibs-shot-", dir="/tmp"))
    try:
        return _take(base, output)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _take(base: Path, output: Path) -> int:
    tree = base / "shop"
    variables = _environment(base)
    os.environ.update({name: variables[name] for name in variables if name.startswith("GIT_")})
    make_tree(tree)
    subprocess.run([*SCENE, "play"], cwd=tree, env=variables, check=True)
    began = time.time()  # nothing more happens: the pictures are taken at the scene's end
    port = str(random.randint(21000, 29999))
    command = [*SCENE, "serve", str(began), "--json", "--port", port]
    server = subprocess.Popen(command, cwd=tree, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        sizes = _pictures(url, tree, variables, output)
    finally:
        server.terminate()
        server.wait(20)
    for name, size in sizes.items():
        print(f"{name:20} {size / 1000:6.0f} KB{'  too large' if size > MOST else ''}")
    return int(any(size > MOST for size in sizes.values()))


def _environment(base: Path) -> dict[str, str]:
    """Return variables under which nothing is shared with the user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DIBS_", "GIT_", "XDG_"))}
    own = {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
    for name in own.values():
        (base / name).mkdir(mode=0o700)
    people = {f"GIT_{who}_NAME": "Sam" for who in ("AUTHOR", "COMMITTER")}
    mail = {f"GIT_{who}_EMAIL": "sam@example.com" for who in ("AUTHOR", "COMMITTER")}
    folders = {variable: str(base / name) for variable, name in own.items()}
    return {**kept, **people, **mail, **folders, "TZ": "UTC", "GIT_CONFIG_GLOBAL": os.devnull}


def _pictures(url: str, tree: Path, variables: dict[str, str], output: Path) -> dict[str, int]:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]
    sizes: dict[str, int] = {}
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        for theme in THEMES:
            link = [sys.executable, "-m", "dibs", "token", "login", "--json"]
            done = subprocess.run(link, cwd=tree, env=variables, check=True, capture_output=True)
            for name, picture in _views(browser, url, json.loads(done.stdout)["url"], theme):
                file = output / f"{name}-{theme}.png"
                file.write_bytes(picture)
                sizes[file.name] = file.stat().st_size
        browser.close()
    return sizes


def _views(browser: Browser, url: str, link: str, theme: str) -> list[tuple[str, bytes]]:
    """Return a picture of each view in one theme."""
    context = browser.new_context(
        viewport=SIZE,
        color_scheme=theme,
        reduced_motion="reduce",
        timezone_id="UTC",
        locale="en-US",
    )
    page = context.new_page()
    page.clock.set_fixed_time(NOW)
    page.goto(link)
    taken = []
    for name, path in VIEWS.items():
        page.goto(url + path)
        page.wait_for_timeout(SETTLE)
        taken.append((name, page.screenshot()))
    context.close()
    return taken


if __name__ == "__main__":
    sys.exit(main())
