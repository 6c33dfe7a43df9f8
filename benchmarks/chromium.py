"""A Chromium for the benchmark and the tests of the page: the one that is there, or one that is installed now.

    python -m benchmarks.chromium

prints its path. One of the system is taken first, then playwright's own. Where there is neither, root gets the package
of the system, others playwright's own, which it fetches. The shell without a window is preferred: the whole browser
draws its own tabs and buttons too, for nobody.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["VARIABLE", "chromium", "flags"]

VARIABLE = "CHROMIUM"  # the path of another one

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_APT = ["apt-get", "install", "--yes", "--no-install-recommends", "fonts-liberation"]
_PACKAGES = ("chromium-headless-shell", "chromium")  # Debian has both, others perhaps the second
_PLAYWRIGHT = [sys.executable, "-m", "playwright", "install", "chromium"]  # into the person's own cache


def chromium() -> str | None:
    """The path of its program, None if there is none."""
    if given := os.environ.get(VARIABLE):
        return given
    return next((path for name in _NAMES if (path := shutil.which(name))), None) or _of_playwright()


def flags() -> list[str]:
    """Chromium's sandbox does not start as root; the pages are our own."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def _of_playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _install() -> None:
    """Nobody's system is changed but by root: that is a container, or somebody who knows."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "--quiet"], check=False)
        if any(subprocess.run([*_APT, package], check=False).returncode == 0 for package in _PACKAGES):
            return
    subprocess.run(_PLAYWRIGHT, check=False)


def main() -> int:
    if not chromium():
        _install()
    if not (found := chromium()):
        print(f"The page's tests need Chromium: install it, or set {VARIABLE} to its path.", file=sys.stderr)
        return 1
    print(f"Chromium: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
