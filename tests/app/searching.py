"""Searches over HTTP and what they should find: a brute force over the stored features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from starlette.testclient import TestClient

from embedding.model_file import Model

__all__ = ["add_all", "by_examples", "by_image", "distances", "embeddings", "found", "post"]


def post(client: TestClient, body: Mapping[str, Any]) -> Any:
    return client.post("/v1/search", json=body)


def by_image(image_id: str, **options: Any) -> dict[str, Any]:
    return {"by": "image", "image_id": image_id} | options


def by_examples(positives: list[str], negatives: list[str] | None = None, **options: Any) -> dict[str, Any]:
    return {"by": "examples", "positives": positives, "negatives": negatives or []} | options


def found(client: TestClient, body: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Ids and squared distances."""
    response = post(client, body)
    assert response.status_code == 200, response.text
    return [(each["id"], each["squared_distance"]) for each in response.json()["neighbours"]]


def embeddings(client: TestClient, model: Model) -> dict[str, npt.NDArray[np.float64]]:
    """Of every stored image, in the order of addition."""
    images = client.app.state.collection.repository.images  # type: ignore[attr-defined]
    features = {image.id: images.features(image.id) for image in images.all()}
    return {name: model.metric.embed(each[None])[0].astype(np.float64) for name, each in features.items()}


def distances(
    points: Mapping[str, npt.NDArray[np.float64]], origin: npt.NDArray[np.float64]
) -> list[tuple[str, float]]:
    """Nearest first; equal ones in the order of addition."""
    each = [(name, float(np.square(point - origin).sum())) for name, point in points.items()]
    return sorted(each, key=lambda pair: pair[1])


def add_all(client: TestClient, files: Mapping[str, bytes], **form: str) -> None:
    for name, file in files.items():
        response = client.post("/v1/images", files={"file": file}, data={"id": name} | form)
        assert response.status_code == 201, response.text
