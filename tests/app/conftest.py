"""Real parts for the service's tests: the default backbone, a tiny model on it, pictures drawn in code."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.main import create_app
from app.ports import Repository
from app.settings import PREFIX, Settings
from app.store.database import Database, open_database
from app.store.repository import SqlRepository
from embedding.backbone import Backbone, load_backbone
from embedding.metric import Chi2Metric
from embedding.model_file import Calibration, Model, save_model
from tests.postgresql import Server, running_server
from tests.s3 import S3, running_s3

Draw = Callable[..., bytes]
Start = Callable[..., AbstractContextManager[TestClient]]

BASE_URL = "http://127.0.0.1:8000"  # a host that the service answers to by default


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in os.environ:
        if variable.startswith(PREFIX):
            monkeypatch.delenv(variable)


@pytest.fixture(scope="session")
def backbone() -> Backbone:
    return load_backbone()


def make_model(backbone: Backbone, seed: int, d: int = 8) -> Model:
    """Random landmarks at the scale of l1-normalised features: distances differ, nothing is learned."""
    D = backbone.feature_dim
    landmarks = np.random.default_rng(seed).uniform(-1 / D, 1 / D, (d, D)).astype(np.float32)
    return Model("nml", Chi2Metric(landmarks), backbone.identity, b=0.1, calibration=Calibration(40.0, -4.0))


@pytest.fixture(scope="session")
def model(backbone: Backbone) -> Model:
    return make_model(backbone, seed=1)


@pytest.fixture(scope="session")
def other_model(backbone: Backbone) -> Model:
    return make_model(backbone, seed=2, d=12)


@pytest.fixture(scope="session")
def save(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Model], Path]:
    """Writes a model into a file and returns its path."""
    folder = tmp_path_factory.mktemp("models")

    def save_to_file(model: Model) -> Path:
        path = folder / f"{model.version}.samekind"
        save_model(model, path)
        return path

    return save_to_file


@pytest.fixture(scope="session")
def draw() -> Draw:
    """Draws a picture of coloured noise and stripes: the same seed, the same bytes."""

    def encoded(seed: int, size: tuple[int, int] = (48, 40), format: str = "PNG", **options: Any) -> bytes:  # noqa: A002
        rng = np.random.default_rng(seed)
        stripes = np.tile(rng.integers(0, 256, (1, size[0], 3)), (size[1], 1, 1))
        noise = rng.integers(-30, 31, stripes.shape)
        file = io.BytesIO()
        Image.fromarray(np.clip(stripes + noise, 0, 255).astype(np.uint8)).save(file, format, **options)
        return file.getvalue()

    return encoded


@contextmanager
def running(settings: Settings) -> Iterator[TestClient]:
    """The application with its lifespan run. Errors inside it are answered, as in production, not raised."""
    with TestClient(create_app(settings), base_url=BASE_URL, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def start(tmp_path: Path, model: Model, save: Callable[[Model], Path]) -> Start:
    """Starts the service in this test's own data folder; again after it was left is a restart."""

    def start_with(**settings: Any) -> AbstractContextManager[TestClient]:
        return running(Settings(**{"data_dir": tmp_path / "data", "model": save(model)} | settings))

    return start_with


@pytest.fixture(scope="module")
def client(
    tmp_path_factory: pytest.TempPathFactory, model: Model, save: Callable[[Model], Path]
) -> Iterator[TestClient]:
    """One service for a whole module: tests that share it use pictures of their own."""
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("shared"), model=save(model), max_upload_bytes=200_000, max_pixels=1_000_000
    )
    with running(settings) as client:
        yield client


@pytest.fixture
def add(draw: Draw) -> Callable[..., dict[str, Any]]:
    """Adds the picture of a seed and returns the answer's JSON."""

    def add_picture(client: TestClient, seed: int, **form: str) -> dict[str, Any]:
        response = client.post("/v1/images", files={"file": draw(seed)}, data=form)
        assert response.status_code == 201, response.text
        body: dict[str, Any] = response.json()
        return body

    return add_picture


@pytest.fixture
def with_abc(start: Start, add: Callable[..., dict[str, Any]]) -> Iterator[TestClient]:
    """A service with three images, a, b and c."""
    with start() as client:
        for seed, name in enumerate("abc"):
            add(client, seed, id=name)
        yield client


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with running_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """An S3-compatible server that this process may use."""
    for variable, value in s3_server.environment.items():
        monkeypatch.setenv(variable, value)
    return s3_server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'test.db'}"
    server: Server = request.getfixturevalue("postgresql")
    return server.new_database()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with open_database(database_url) as database:
        yield database


@pytest.fixture
def repository(database: Database) -> Repository:
    return SqlRepository(database)
