"""Updates against a real service with real pictures: the first model, a better one, a worse one, kills, no key."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.client import Samekind
from embedding.metric import LinearMetric, l2_normalised
from embedding.model_file import Model, load_model
from tests.app.test_serve import run as run_samekind
from tests.app.test_serve import serving
from tests.conftest import ROOT
from tests.trainer.updates import KINDS, add_pictures, judge, pictures
from trainer.cli import app as trainer_app
from trainer.errors import BadConfig, ServiceTrouble, TrainerError
from trainer.run import Run
from trainer.update.collection import CollectionData, pull
from trainer.update.flow import NOTHING_TO_LEARN, update
from trainer.update.reporter import PlainReporter
from trainer.update.settings import UpdateSettings

PER_KIND = 12
TIMEOUT_S = 300  # for what takes seconds, on a machine whose cores are busy
SETTINGS = UpdateSettings(d=8, time_budget_s=0.0)

Chosen = list[tuple[str, Path]]


@dataclass
class Service:
    url: str
    key: str
    client: Samekind


@pytest.fixture(scope="module")
def chosen(image_sets: Path) -> Chosen:
    return pictures(image_sets, PER_KIND)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, chosen: Chosen) -> Iterator[Service]:
    """With pictures and a key, without a model. Each test goes on from what the one before it left."""
    data = tmp_path_factory.mktemp("update") / "data"
    key = run_samekind("keys", "create", "--name", "a", "--role", "admin", "--data-dir", str(data)).stdout.strip()
    quick = {"SAMEKIND_LEARN_LEASE_S": "5"}  # so that nobody waits long for a trainer that was killed
    with serving(data, **quick) as (_process, http), Samekind(str(http.base_url), key) as client:
        add_pictures(client, chosen, labelled=False)
        yield Service(str(http.base_url), key, client)


def started(service: Service, *options: str, **variables: str) -> "subprocess.Popen[str]":
    """The real command."""
    command = [sys.executable, "-W", "error", "-m", "trainer", "update", "--server", service.url, "--d", "8", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | variables, stdout=pipe, stderr=pipe, text=True)


def called(service: Service, *options: str) -> int:
    """The same command within this process, which is quicker. The exit code; raises what the program would print."""
    result = CliRunner().invoke(trainer_app, ["update", "--server", service.url, "--d", "8", *options])
    if isinstance(result.exception, TrainerError):
        raise result.exception
    return result.exit_code


def active_metric(service: Service, metric: LinearMetric, data: CollectionData) -> str:
    """Have the service search by this metric."""
    version = service.client.upload_model(Model("pca", metric, data.backbone, b=0.1).to_bytes()).version
    assert service.client.wait_for_job(service.client.activate(version).id).state == "done"
    return version


def test_as_long_as_nobody_said_anything_there_is_nothing_to_do(service: Service, tmp_path: Path) -> None:
    """By the real command, with a key from a file."""
    (tmp_path / "key").write_text(service.key + "\n")
    former = service.client.stats().model
    process = started(service, "--key-file", str(tmp_path / "key"))
    said, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, errors
    assert NOTHING_TO_LEARN in said
    assert service.client.stats().model == former


def test_what_is_wrong_is_said_in_one_line(service: Service, tmp_path: Path) -> None:
    with pytest.raises(ServiceTrouble, match="key"):
        called(service)
    with pytest.raises(BadConfig, match="no key here"):
        called(service, "--key-file", str(tmp_path / "no key here"))
    with pytest.raises(BadConfig, match="mode must be one of auto, full"):
        called(service, "--mode", "half")
    with pytest.raises(BadConfig, match="no address"):
        called(replace(service, url="nowhere"))


def test_too_little_to_learn_from_changes_nothing(service: Service, chosen: Chosen, tmp_path: Path) -> None:
    former = service.client.stats().model
    service.client.give_feedback([(chosen[0][1].stem, chosen[1][1].stem, True)])
    said: list[str] = []
    assert update(service.client, SETTINGS, Run(tmp_path), PlainReporter(said.append)).state == "nothing to do"
    assert said == [NOTHING_TO_LEARN]
    assert service.client.stats().model == former


def test_better_than_a_blind_model_is_activated(service: Service, chosen: Chosen, tmp_path: Path) -> None:
    judge(service.client, chosen, 300, seed=1)
    query_id = service.client.search(chosen[0][1]).query_id
    assert query_id is not None
    service.client.give_feedback([(query_id, chosen[1][1].stem, True)])
    data = pull(service.client)
    assert dict(zip(data.ids, data.categories, strict=True))[query_id] is None
    blind = np.zeros((1, data.features.shape[1]), np.float32)
    blind[0, 0] = 1
    former = active_metric(service, LinearMetric(blind, np.zeros(1, np.float32)), data)
    assert (
        update(service.client, replace(SETTINGS, mode="full"), Run(tmp_path), PlainReporter(print)).state == "activated"
    )
    version = service.client.stats().model
    assert version is not None
    found = next(model for model in service.client.models() if model.active)
    assert found.comparison is not None
    assert (found.comparison.compared_with, found.comparison.verdict) == (former, "better")
    assert found.comparison.model_dump() == service.client.model(version).comparison.model_dump()  # type: ignore[union-attr]
    assert found.links.report is not None
    assert "</html>" in service.client.report(version)
    training = service.client.model(version).manifest["training"]
    assert training["collection"].items() >= {"last_pair": data.last_pair, "pairs": len(data.pairs)}.items()
    assert load_model(tmp_path / "model.safetensors").version == version
    assert json.loads((tmp_path / "comparison.json").read_text())["verdict"] == "better"
    assert service.client.stats().new.verdicts == 0
    said: list[str] = []
    again = update(service.client, SETTINGS, Run(tmp_path / "again"), PlainReporter(said.append))
    assert (again.state, again.marks["last_pair"]) == ("nothing to do", data.last_pair)
    assert "Nothing is new" in said[0]


def test_worse_than_an_oracle_is_kept_and_activated_by_force(service: Service, chosen: Chosen, tmp_path: Path) -> None:
    """The oracle maps each picture to its kind, by heart: also those held out. One dimension has two sides."""
    data = pull(service.client)
    kinds = {path.stem: KINDS.index(kind) for kind, path in chosen}
    known = np.array([image_id in kinds for image_id in data.ids])
    target = np.eye(len(KINDS))[[kinds[image_id] for image_id in data.ids if image_id in kinds]]
    weights = np.linalg.lstsq(l2_normalised(data.features[known].astype(np.float32)), target, rcond=None)[0].T
    former = active_metric(service, LinearMetric(weights.astype(np.float32), np.zeros(4, np.float32)), data)
    (tmp_path / "key").write_text(service.key)
    assert called(service, "--mode", "full", "--d", "1", "--time-budget", "0", "--key-file", str(tmp_path / "key")) == 3
    assert service.client.stats().model == former
    worst = service.client.models()[0]
    assert worst.comparison is not None
    assert (worst.comparison.verdict, worst.active) == ("worse", False)
    again = Run(tmp_path / "run")
    assert (
        update(service.client, replace(SETTINGS, d=1, mode="full"), again, PlainReporter(print), force=True).state
        == "activated"
    )
    assert service.client.stats().model == worst.version


@pytest.mark.parametrize("instant", ["when all is pulled", "when it is uploaded"])
def test_killed_at_any_instant_it_leaves_the_service_as_it_was(service: Service, tmp_path: Path, instant: str) -> None:
    before, models = service.client.stats(), len(service.client.models())

    def is_reached() -> bool:
        if instant == "when all is pulled":
            return (tmp_path / "run" / "config.json").exists()
        return len(service.client.models()) > models

    process = started(service, "--mode", "full", "--out", str(tmp_path / "run"), SAMEKIND_KEY=service.key)
    deadline = time.monotonic() + TIMEOUT_S
    while not is_reached() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    process.kill()
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == -9, errors
    # An activation that it had asked for is the service's own by then.
    over = [service.client.wait_for_job(job.id) for job in service.client.jobs() if job.kind == "activate"]
    assert all(job.state == "done" for job in over)
    after = service.client.stats()
    assert (after.images, after.pairs) == (before.images, before.pairs)
    assert after.model == before.model or instant == "when it is uploaded"  # then it may be asked to take over
    assert len(service.client.models()) <= models + 1
    assert service.client.ready().model == after.model


def test_the_next_update_is_clean(service: Service, tmp_path: Path) -> None:
    assert update(service.client, replace(SETTINGS, mode="full"), Run(tmp_path), PlainReporter(print)).state in {
        "activated",
        "kept",
    }
