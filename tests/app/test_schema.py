"""Every endpoint does what the OpenAPI document says: drawn requests, good and bad, against the real program."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks

from app.main import create_app
from app.settings import Settings
from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.test_serve import Save, serving


def _description() -> dict[str, Any]:
    """Without keys: none is needed here, and `test_roles.py` tries every endpoint with every role."""
    description = create_app(Settings()).openapi()
    for operations in description["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return description


load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(_description())
# What a drawn request asks for need not exist or be a picture: it may be refused although it is well-formed.
EXCLUDED = ("positive_data_acceptance",)
# Each query of a batch fails alone, within an answer 200.
EXCLUDED_FOR = {"/v1/search/batch": ("negative_data_rejection",)}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, model: Model, save: Save, draw: Draw) -> Iterator[str]:
    """A service with three images."""
    folder = tmp_path_factory.mktemp("schema")
    with serving(folder / "data", "--model", str(save(model))) as (_process, client):
        for seed in range(3):
            _add(client, draw(seed), str(seed))
        yield str(client.base_url)


def _add(client: httpx.Client, picture: bytes, image_id: str) -> None:
    response = client.post("/v1/images", files={"file": picture}, data={"id": image_id, "category": "kind"})
    assert response.status_code == 201, response.text


@SCHEMA.parametrize()
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_it_does_what_its_description_says(case: schemathesis.Case[Any], url: str) -> None:
    excluded: list[Any] = CHECKS.get_by_names([*EXCLUDED, *EXCLUDED_FOR.get(case.operation.path, ())])
    case.call_and_validate(base_url=url, excluded_checks=excluded, timeout=30)
