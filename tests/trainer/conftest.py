from pathlib import Path

import pytest

from demo.drawing import draw_collection
from embedding.backbone import Backbone, load_backbone
from embedding.engine import EngineOptions


@pytest.fixture(scope="session")
def backbone() -> Backbone:
    return load_backbone(engine=EngineOptions(device="cpu"))


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 categories x 10 drawn pictures in class folders."""
    folder = tmp_path_factory.mktemp("collection")
    draw_collection(folder, 10)
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One feature cache for the session, so that each picture is extracted once."""
    return tmp_path_factory.mktemp("cache")
