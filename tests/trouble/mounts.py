"""Disks that are full or read-only: real ones, in a mount namespace, which no privileges are needed for."""

import subprocess
from pathlib import Path

from tests.app.test_serve import ROOT

__all__ = ["Mounts"]


class Mounts:
    """Mounts that only the commands see which are started inside."""

    def __init__(self, holder: "subprocess.Popen[str]"):
        enter = ["nsenter", f"--target={holder.pid}", "--user", "--mount", "--preserve-credentials"]
        self.inside = [*enter, "env", f"--chdir={ROOT}"]

    def tmpfs(self, folder: Path, size: str) -> Path:
        folder.mkdir()
        self._mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
        return folder

    def bind(self, folder: Path) -> Path:
        self._mount("--bind", str(folder), str(folder))
        return folder

    def remount(self, folder: Path, options: str) -> None:
        self._mount("-o", f"remount,{options}", str(folder))

    def _mount(self, *arguments: str) -> None:
        subprocess.run([*self.inside, "mount", *arguments], check=True)
