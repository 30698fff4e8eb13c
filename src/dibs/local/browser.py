"""Take a picture of a page with an installed Chromium, Chrome, or Edge; no window, no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory, TemporaryFile

from dibs.errors import NotFound, Unavailable

#: The programs, as they are named on PATH.
NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "microsoft-edge-stable", "msedge", "brave-browser",
)  # fmt: skip
_MAC_APPS = ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser")
#: No profile, no requests, and no first-run pages.
_FLAGS = (
    "--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--no-default-browser-check", "--disable-extensions", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-crash-reporter",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--run-all-compositor-stages-before-draw", "--virtual-time-budget=5000",
)  # fmt: skip
#: The width in CSS pixels, the height of a window before the page is measured, and the highest picture.
WIDTH, HEIGHT, HIGHEST = 1280, 800, 16_000
#: Seconds for one picture.
PATIENCE = 60.0
_HEIGHT = re.compile(rb'data-height="(\d{1,7})"')


def find_browser() -> str:
    """Return the path of a browser; refuse if there is none."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    if sys.platform == "darwin":
        for folder in ("/Applications", os.path.expanduser("~/Applications")):
            for app in _MAC_APPS:
                path = f"{folder}/{app}.app/Contents/MacOS/{app}"
                if os.access(path, os.X_OK):
                    return path
    raise NotFound(
        "no browser for --png: Chromium, Chrome, or Edge must be installed",
        code="NO_BROWSER",
        hint="install one, or print the page: dibs report -o report.html",
    )


def picture(page: str, browser: str, near: str) -> bytes:
    """Return a PNG of all of a page, whose root element says its height.

    ``near`` is a folder that the browser can read if it cannot read the temporary one, as snaps cannot.
    """
    folder = near if "/snap/" in os.path.realpath(browser) else None
    with TemporaryDirectory(prefix="dibs-report-", dir=folder, ignore_cleanup_errors=True) as place:
        source, image = os.path.join(place, "page.html"), os.path.join(place, "page.png")
        with open(source, "w", encoding="utf-8") as file:
            file.write(page)
        known = _HEIGHT.search(_run(browser, place, source, HEIGHT, "--dump-dom"))
        height = min(HIGHEST, max(HEIGHT, int(known[1]) if known else HEIGHT))
        scale = 2 if height * 2 <= HIGHEST else 1
        shot = (f"--screenshot={image}", f"--force-device-scale-factor={scale}")
        _run(browser, place, source, height, *shot)
        try:
            with open(image, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise _failed(browser, "it wrote no picture") from None


def _run(browser: str, place: str, source: str, height: int, *flags: str) -> bytes:
    from urllib.request import pathname2url

    own = (f"--user-data-dir={place}/profile", f"--window-size={WIDTH},{height}")
    unsafe = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    command = [browser, *_FLAGS, *unsafe, *own, *flags, f"file://{pathname2url(source)}"]
    environ = {**os.environ, "XDG_CONFIG_HOME": place, "XDG_CACHE_HOME": place}
    # Into files: children of the browser could keep a pipe open.
    with TemporaryFile() as out, TemporaryFile() as errors:
        try:
            done = subprocess.run(  # noqa: S603 - a browser of this machine, with a page that we wrote
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, timeout=PATIENCE,
                check=False, env=environ,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise _failed(browser, f"no answer in {PATIENCE:g} seconds") from None
        except OSError as error:
            raise _failed(browser, str(error.strerror)) from error
        out.seek(0)
        errors.seek(0)
        if done.returncode:
            last = errors.read().decode("utf-8", "replace").strip().splitlines()[-1:]
            raise _failed(browser, " ".join(last) or f"exit status {done.returncode}")
        return out.read()


def _failed(browser: str, why: str) -> Unavailable:
    from dibs.core.text.names import cut, printable

    return Unavailable(
        f"{os.path.basename(browser)} took no picture: {cut(printable(why), 200)}",
        code="BROWSER",
        hint="open the report in a browser and print it: dibs report -o report.html",
    )
