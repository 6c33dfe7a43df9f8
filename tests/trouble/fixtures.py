"""A collection that nothing has happened to yet, and copies of it for something to happen to."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from embedding.model_file import Model
from embedding.process import use_threads
from tests.app.conftest import Draw, running
from tests.trouble.mounts import Mounts
from tests.trouble.subject import NAMES, Save, Untouched, add, everything, give_feedback


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a busy machine torch's threads wait for each other, a second a picture."""
    monkeypatch.setenv("SAMEKIND_THREADS", "1")
    yield
    use_threads(0)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, model: Model, save: Save, draw: Draw) -> Untouched:
    folder = tmp_path_factory.mktemp("untouched") / "data"
    with running(Settings(data_dir=folder, model=save(model), threads=1)) as client:
        for seed, name in enumerate(NAMES):
            assert add(client, name, draw(seed)).status_code == 201
        give_feedback(client, "i0", "i1")
        return Untouched(folder, everything(client))


@pytest.fixture
def data(untouched: Untouched, tmp_path: Path) -> Path:
    """A copy of it, where `start` looks."""
    return Path(shutil.copytree(untouched.folder, tmp_path / "data"))


@pytest.fixture
def mounts() -> Iterator[Mounts]:
    """Where disks can be mounted that nobody else sees."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", "echo ready && exec cat"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as holder:
        assert holder.stdout
        if holder.stdout.readline() != "ready\n":
            message = "a mount namespace is not permitted here (unshare --user --mount)"
            (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
        yield Mounts(holder)
