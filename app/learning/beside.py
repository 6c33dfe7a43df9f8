"""The trainer beside the service: a process of its own, one at a time, which speaks to the service over HTTP.

The trainer is found and started, never imported: it may take all memory there is and die of it alone.
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Thread
from typing import IO

from app.records import JobRecord
from app.services.job_keys import JobKeys

__all__ = ["Beside", "TrainerProcess", "is_installed"]

_log = logging.getLogger(__name__)

# What `trainer update` needs and the service does not: the image of the server has the trainer's own files alone.
_NEEDED = ("trainer", "matplotlib", "scipy", "sklearn", "torch", "typer")

_NICE = 10  # requests come first
_END_S = 5.0  # between asking it to end and ending it
_LAST_LINES = 5  # of what it said, which tell why it died
_OURS = ("SAMEKIND_", "AWS_", "OMP_NUM_THREADS")  # passwords of the stores are none of its business, and it may compute


def is_installed() -> bool:
    """Whether a trainer could be started here."""
    return all(find_spec(name) is not None for name in _NEEDED)


@dataclass(frozen=True)
class Learning:
    """A learn job that the process does."""

    job: JobRecord
    lease: str


class Beside:
    """Starts processes for learn jobs, once it is known where the service listens."""

    def __init__(self, keys: JobKeys):
        self._keys = keys
        self.url: str | None = None  # of this service, from this machine

    def start(self, job: JobRecord, lease: str) -> "TrainerProcess":
        """Raises: OSError if no process can be started."""
        with ExitStack() as stack:
            key = stack.enter_context(self._keys.key_for(job.id))
            folder = tempfile.mkdtemp(prefix="samekind-trainer-")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            variables = {
                "SAMEKIND_KEY": key,
                "SAMEKIND_LEASE": lease,
                "TMPDIR": folder,
                "NO_PROXY": "*",
                "no_proxy": "*",
            }
            process = subprocess.Popen(  # noqa: S603 - our own program
                self._command(job),
                env=_environment() | variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            stack.callback(_ended, process)
            _be_nice_to_others(process)
            return TrainerProcess(Learning(job, lease), process, stack.pop_all())

    def _command(self, job: JobRecord) -> list[str]:
        # The folder that one is in is no place for programs, unless this one was found there too.
        is_here = "" in sys.path or os.getcwd() in sys.path
        force = ["--force"] if job.payload.get("force") else []
        options = ["update", "--server", str(self.url), "--job", job.id, *force]
        return [sys.executable, *([] if is_here else ["-P"]), "-m", "trainer", *options]


class TrainerProcess:
    """One that runs, or has ended."""

    def __init__(self, learning: Learning, process: "subprocess.Popen[bytes]", holds: ExitStack):
        self.learning = learning
        self._process = process
        self._holds = holds  # its key and its folder
        self._said: deque[str] = deque(maxlen=_LAST_LINES)
        self._listener = Thread(target=self._listen, args=(process.stdout,), name="trainer's words", daemon=True)
        self._listener.start()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> str:
        """End it if it runs. Why it ended, in words; its key is good no more."""
        if not self.has_ended():
            _ended(self._process)
        self._listener.join(_END_S)
        self._holds.close()
        return self._why()

    def _listen(self, output: IO[bytes] | None) -> None:
        if output is None:
            return
        with output:
            for line in output:
                text = line.decode("utf-8", "replace").rstrip()
                self._said.append(text)
                _log.info("The trainer of job %s: %s", self.learning.job.id, text)

    def _why(self) -> str:
        code, last_words = self._process.returncode, " ".join(self._said) or "nothing"
        if code == -signal.SIGKILL:
            return f"The trainer was killed, as the system does for want of memory. It said last: {last_words}"
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"The trainer ended {how} without a word about the job. It said last: {last_words}"


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def _be_nice_to_others(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "setpriority"):
        with suppress(OSError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Ask it to end; if it does not, end it and what it started."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
        else:
            process.kill()
        process.wait()
