"""From a folder to a service that goes on learning: a model of `trainer train` is where updates go on from."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.client import Samekind, Upload
from embedding.metric import parameters_of
from embedding.model_file import Model, load_model
from tests.app.test_serve import serving
from tests.trainer.updates import KINDS, add_pictures, judge, pictures
from trainer.cli import app as trainer_app
from trainer.run import Run
from trainer.update.flow import update
from trainer.update.outcome import Outcome
from trainer.update.reporter import PlainReporter
from trainer.update.settings import UpdateSettings

PER_KIND, ALL = 15, 30  # pictures of a kind at first, and in the end
# Few steps are enough to see who is given what; what comes of it, tests/quality measures.
SETTINGS = UpdateSettings(d=8, time_budget_s=5)

Chosen = list[tuple[str, Path]]


@pytest.fixture(scope="module")
def chosen(image_sets: Path) -> Chosen:
    return pictures(image_sets, PER_KIND)


@pytest.fixture(scope="module")
def first(chosen: Chosen, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that `trainer train` makes of a folder of class folders."""
    folder = tmp_path_factory.mktemp("first")
    for kind, path in chosen:
        (folder / "pictures" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "pictures" / kind / path.name).write_bytes(path.read_bytes())
    command = ["train", str(folder / "pictures"), "--out", str(folder / "run"), "--d", "8", "--time-budget", "5"]
    result = CliRunner().invoke(trainer_app, [*command, "--cache", str(folder / "cache")])
    assert result.exit_code == 0, result.output
    return folder / "run" / "model.safetensors"


@pytest.fixture(scope="module")
def client(first: Path, chosen: Chosen, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Samekind]:
    """A service with the same pictures and categories, searched with that model."""
    data = tmp_path_factory.mktemp("service") / "data"
    with (
        serving(data, SAMEKIND_MODEL=str(first)) as (_process, http),
        Samekind(str(http.base_url), timeout=300) as client,
    ):
        add_pictures(client, chosen, labelled=True)
        yield client


def updated(client: Samekind, folder: Path, **settings: object) -> Outcome:
    return update(client, UpdateSettings(**{"d": 8, "time_budget_s": 5, **settings}), Run(folder), PlainReporter(print))  # type: ignore[arg-type] # the fields of UpdateSettings


def same_weights(one: Model, other: Model) -> bool:
    ours, theirs = parameters_of(one.metric), parameters_of(other.metric)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_the_same_pictures_and_names_give_the_same_model(client: Samekind, first: Path, tmp_path: Path) -> None:
    """From a folder and from a service, to the last bit: so there is nothing to do, and if it is done, nothing new."""
    assert updated(client, tmp_path / "auto").state == "nothing to do"
    again = updated(client, tmp_path / "full", mode="full")
    assert again.verdict == "even"
    assert same_weights(load_model(first), load_model(tmp_path / "full" / "model.safetensors"))


def test_verdicts_that_repeat_the_categories_are_told_to_teach_nothing(
    client: Samekind, chosen: Chosen, tmp_path: Path
) -> None:
    judge(client, chosen, 60, seed=0)
    outcome = updated(client, tmp_path)
    assert outcome.state == "nothing to do"
    assert "60 verdicts only repeat what the categories say" in outcome.summary


def test_more_right_answers_are_not_refused(client: Samekind, chosen: Chosen, image_sets: Path, tmp_path: Path) -> None:
    """The first model had learned from all pictures that it could be measured on; its twins have not."""
    more = [each for each in pictures(image_sets, ALL) if each not in chosen]
    uploads = [Upload(path, id=path.stem, category=kind) for kind, path in more]
    former = client.stats().model
    assert all(item.problem is None for item in client.add_images(uploads))
    outcome = updated(client, tmp_path)
    assert (outcome.state, outcome.version) == ("activated", client.stats().model)
    assert outcome.verdict in ("better", "even")
    model = load_model(tmp_path / "model.safetensors")
    comparison = model.training["comparison"]
    assert comparison["with"] == former
    (measure,) = comparison["measures"]
    assert (measure["name"], measure["count"]) == ("mprec_at_10", len(KINDS) * ALL)
    assert measure["before"] < 0.95, "the first model was measured on what it knew by heart"
    assert model.provenance is not None
    assert len(model.provenance) == len(KINDS) * ALL


def test_a_category_that_is_changed_or_removed_is_something_new(
    client: Samekind, chosen: Chosen, tmp_path: Path
) -> None:
    assert updated(client, tmp_path / "before").state == "nothing to do"
    client.change_image(chosen[0][1].stem, category=None)
    client.change_image(chosen[1][1].stem, category="something else")
    assert updated(client, tmp_path / "after").state in ("activated", "kept")
    provenance = load_model(tmp_path / "after" / "model.safetensors").provenance
    assert provenance is not None
    assert "something else" in provenance.names
    assert len(provenance) == len(KINDS) * ALL, "a verdict names the picture that lost its category"
