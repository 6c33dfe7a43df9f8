"""Model files for tests: with a comparison, brought, activated."""

from dataclasses import replace
from typing import Any

from starlette.testclient import TestClient

from app.services.collection import ActiveModel, Collection
from embedding.model_file import Model
from tests.app.jobs import finished

__all__ = ["active_of", "compared", "comparison", "details", "post", "take_over", "upload"]


def comparison(verdict: str) -> dict[str, Any]:
    """As the trainer writes it."""
    low, high = {"better": (0.01, 0.03), "even": (-0.01, 0.03), "worse": (-0.03, -0.01)}[verdict]
    change = {"before": 0.5, "after": 0.52, "difference": 0.02, "low": low, "high": high, "count": 90}
    category = {"category": "cups", "before": 0.4, "after": 0.5, "count": 9}
    measures = [{"name": name} | change for name in ("mprec_at_10", "pair_auc")]
    return {"with": "0123456789abcdef", "verdict": verdict, "measures": measures, "categories": [category]}


def compared(model: Model, held_against: Any) -> Model:
    """The model with that in the place of a comparison."""
    return replace(model, training={"comparison": held_against})


def upload(client: TestClient, *models: Model) -> None:
    for model in models:
        assert client.post("/v1/models", files={"file": model.to_bytes()}).status_code == 201


def post(client: TestClient, path: str, **body: Any) -> Any:
    """An answer of an endpoint below /v1/models."""
    return client.post(f"/v1/models/{path}", json=body or None)


def take_over(client: TestClient, model: Model, **body: Any) -> dict[str, Any]:
    """The job, when it is over."""
    answer = post(client, f"{model.version}/activate", **body)
    assert answer.status_code == 202, answer.text
    return finished(client, answer.json())


def details(client: TestClient, model: Model) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/v1/models/{model.version}").json()
    return answer


def active_of(collection: Collection) -> ActiveModel:
    """The active model, without asking other replicas."""
    assert collection.active is not None
    return collection.active
