"""A real S3-compatible server for tests, from a package: rclone serves a folder; a bucket for each test."""

import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import fsspec

__all__ = ["S3", "running_s3"]

_TIMEOUT_S = 60  # on a machine whose cores are busy
_STARTED = re.compile(r"Starting s3 server on \[http://([\d.]+:\d+)/\]")


class S3:
    """A server that was started here."""

    def __init__(self, folder: Path):
        self.folder = folder / "buckets"
        self.folder.mkdir()
        self._log = folder / "log"
        self._address = "127.0.0.1:0"  # the first start takes a free port, and later ones the same
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which a client finds the server and is let in."""
        return {
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "only-for-tests",
            "AWS_ENDPOINT_URL": f"http://{self._address}",
            "AWS_DEFAULT_REGION": "us-east-1",
            # Nothing of the machine that the tests run on.
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def new_bucket(self) -> str:
        """The URL of a place in an empty bucket."""
        name = f"test-{uuid.uuid4().hex}"
        self._client.mkdir(name)
        return f"s3://{name}/samekind"

    @cached_property
    def _client(self) -> Any:
        environment = self.environment
        return fsspec.filesystem(
            "s3",
            key=environment["AWS_ACCESS_KEY_ID"],
            secret=environment["AWS_SECRET_ACCESS_KEY"],
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            skip_instance_cache=True,
        )

    def stop(self) -> None:
        """As if its machine were gone; what was answered is on disk."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def start(self) -> None:
        key = f"{self.environment['AWS_ACCESS_KEY_ID']},{self.environment['AWS_SECRET_ACCESS_KEY']}"
        command: list[str | Path] = [Path(sys.executable).with_name("rclone"), "serve", "s3", "--config", os.devnull]
        command += ["--auth-key", key, "--addr", self._address, self.folder]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._address = self._started()

    def _started(self) -> str:
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            said = self._log.read_text()
            if found := _STARTED.search(said):
                return found[1]
            assert self._process, said
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.01)


@contextmanager
def running_s3() -> Iterator[S3]:
    with tempfile.TemporaryDirectory() as folder:
        server = S3(Path(folder))
        try:
            yield server
        finally:
            server.stop()
