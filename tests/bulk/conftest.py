"""A collection that processes share: its database, index and files, and a folder of drawn pictures."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from embedding.model_file import Model
from tests.app.conftest import Draw, _no_settings_from_outside, draw, save
from tests.app.other_backbone import NAME, load_other, other_model, write_weights
from tests.postgresql import Server, running_server

__all__ = ["PASSWORD", "_no_settings_from_outside", "draw", "save"]

PASSWORD = "one-that-the-server-does-not-ask-for"  # noqa: S105


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture
def rays_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where Ray keeps its logs, until the test ends: a folder whose name is short enough for the sockets in it."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        yield Path(folder)


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two tiny backbones."""
    return write_weights(tmp_path_factory.mktemp("weights"), 0, 1)


@pytest.fixture(scope="session")
def model(weights: Path) -> Model:
    return other_model(load_other(weights, 0))


@pytest.fixture
def settings(
    server: Server, weights: Path, model: Model, save: Callable[[Model], Path], tmp_path: Path
) -> dict[str, str]:
    return {
        "database_url": server.new_database().replace("postgres:@", f"postgres:{PASSWORD}@"),
        "index_url": "pgvector",
        "blobs_url": (tmp_path / "blobs").as_uri(),
        "database_connections": "20",
        "backbone": NAME,
        "backbone_weights": str(weights),
        "model": str(save(model)),
    }


@pytest.fixture
def photos(tmp_path: Path, draw: Draw) -> Path:
    """200 pictures in two categories, one of them twice, and two files that are no pictures."""
    folder = tmp_path / "photos"
    for category in ("even", "odd"):
        (folder / category).mkdir(parents=True)
    for seed in range(200):
        (folder / ("odd" if seed % 2 else "even") / f"{seed:03}.png").write_bytes(draw(seed))
    (folder / "odd" / "twice.png").write_bytes(draw(0))
    (folder / "even" / "empty.png").write_bytes(b"")
    (folder / "odd" / "text.png").write_text("no picture")
    return folder
