"""The `samekind` command in a process group of its own, with its output in a file."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT

__all__ = ["TIMEOUT_S", "Failed", "Program", "Violation"]

TIMEOUT_S = 120  # for what takes seconds, on a machine whose cores are busy
_POLL_S = 0.02
_TROUBLE = re.compile(r"^.*(?:ERROR|WARNING|Traceback|samekind: ).*$", re.MULTILINE)


class Violation(AssertionError):
    """The service did not keep what it promised."""


class Failed(Violation):
    """A program ended by itself, or did not get as far as it should."""


class Program:
    """Started at once; `settings` are SAMEKIND_ variables, of which no other one is passed on."""

    def __init__(self, log: Path, *arguments: str, **settings: str):
        self.log = log
        others = {name: value for name, value in os.environ.items() if not name.startswith("SAMEKIND_")}
        others["SAMEKIND_TRAINER"] = "remote"  # learning is for tests that are about it
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "app.cli", *arguments],
                cwd=ROOT,
                env=others | {f"SAMEKIND_{name.upper()}": value for name, value in settings.items()},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def output(self) -> str:
        """All that it has said so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, pattern: str) -> str:
        """The first group of the pattern, once the program has said it. Raises: Failed."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            has_ended = self._process.poll() is not None
            if found := re.search(pattern, self.output):
                return found[1]
            if has_ended:
                break
            time.sleep(_POLL_S)
        raise Failed(f"it never said {pattern}, but:\n{self.output}")

    def finished(self) -> int:
        """Its exit code, when it has ended by itself. Raises: Failed."""
        try:
            return self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"it has not ended:\n{self.output}") from error

    def ask_to_stop(self) -> None:
        """SIGTERM, as `kill` and every supervisor send it."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> bool:
        """SIGKILL to all of its group; False: it had ended by itself."""
        was_running = self._process.poll() is None
        if was_running:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return was_running

    def check_log(self) -> None:
        """Nothing that it said is trouble. Raises: Violation."""
        if trouble := _TROUBLE.findall(self.output):
            raise Violation(f"{self.log} says: {trouble[0]}")
