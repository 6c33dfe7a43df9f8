"""A real Milvus for tests, from a package: a standalone server of its own, of version 2.3.5."""

import os
import socket
import subprocess
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app.index.milvus_server import MilvusPlace

__all__ = ["Milvus", "running_milvus"]

_TRIES = 3  # another process may take a port between our look and its use
_START_S = 120.0  # about 8 on an idle machine
_STOP_S = 5.0

# Of the etcd inside: only by a file can two servers on one machine be kept apart.
_ETCD = """\
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""


class Milvus:
    """A server that was started here."""

    def __init__(self, folder: Path):
        """Raises: RuntimeError if it does not start."""
        from milvus import MilvusServerConfig, _initialize_data_files

        config = MilvusServerConfig(data_dir=str(folder))
        names = [key for key in config.configurable_items if key.endswith("_port")]
        self._ports = dict(zip([*names, "metrics", "peer"], _free_ports(len(names) + 2), strict=True))
        config.configs |= {name: self._ports[name] for name in names}
        config.resolve()
        etcd = folder / "etcd.yaml"
        etcd.write_text(_ETCD.format(client=self._ports["etcd_port"], peer=self._ports["peer"]))
        _initialize_data_files(str(folder))
        self._folder = folder
        self._environment = os.environ | {
            "DEPLOY_MODE": "STANDALONE",
            "ETCD_CONFIG_PATH": str(etcd),
            "LD_LIBRARY_PATH": str(folder / "bin"),
            "METRICS_PORT": str(self._ports["metrics"]),
            "MILVUS_RUN_DIR": str(folder / "run"),
        }
        self.start()

    def new_place(self) -> MilvusPlace:
        """Where no collection is."""
        return MilvusPlace(f"http://127.0.0.1:{self._ports['proxy_port']}", f"t{uuid.uuid4().hex}")

    def start(self) -> None:
        """On the ports that it had. Raises: RuntimeError."""
        with (self._folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                [self._folder / "bin" / "milvus", "run", "standalone"],
                cwd=self._folder,
                env=self._environment,
                stdout=output,
                stderr=output,
            )
        self._wait_until_started()

    def stop(self) -> None:
        """At once; what was acknowledged is in its log."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_until_started(self) -> None:
        deadline = time.monotonic() + _START_S
        while not self._is_healthy():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                end = (self._folder / "output").read_bytes()[-2000:]
                raise RuntimeError(f"Milvus does not start:\n{end.decode(errors='replace')}")
            time.sleep(0.1)

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports['metrics']}/healthz", timeout=5) as answer:
                return b"OK" in answer.read()
        except OSError:
            return False


@contextmanager
def running_milvus() -> Iterator[Milvus]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = _started(Path(folder))
        try:
            yield server
        finally:
            server.stop()


def _started(folder: Path) -> Milvus:
    for attempt in range(_TRIES):
        try:
            return Milvus(folder)
        except RuntimeError:
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("It was tried.")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
