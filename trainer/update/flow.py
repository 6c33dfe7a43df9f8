"""One update: pull, hold out, learn, calibrate, compare, upload, activate, report.

Killed at any instant it leaves the service as it was, but perhaps for a model that is there and not active: only the
activation, which the service does by itself once it is asked to, changes what is searched by.
"""

from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from app.client import Samekind
from embedding.model_file import Model, model_from_bytes, save_model
from trainer.errors import ServiceTrouble
from trainer.run import Run, library_versions
from trainer.training_data import TrainingData
from trainer.update.collection import CollectionData, pull
from trainer.update.doubt import even_distance
from trainer.update.gate import Comparison, compare, figures
from trainer.update.held_out import HeldOut, Shares, hold_out, shares
from trainer.update.learner import Learned, learn
from trainer.update.outcome import Outcome
from trainer.update.outside import outside_pairs
from trainer.update.principal import principal_metric
from trainer.update.reporter import Reporter
from trainer.update.reporting import Reported, bring_report
from trainer.update.settings import UpdateSettings

__all__ = ["update"]


def update(client: Samekind, settings: UpdateSettings, run: Run, reporter: Reporter, *, force: bool = False) -> Outcome:
    """Make the next model from what the service has, and activate it unless it is worse. force: then too.

    Raises: SamekindError, TrainerError, EmbeddingError, among them LeftOff.
    """
    reporter.at("reading the collection", 0.0)
    active = _active(client)
    settings = settings.after(active)
    data = pull(client, settings.max_images)
    share = shares(data, settings.held_out, _collection_of(active).get("held_out"))
    held = hold_out(data, share)
    if active is not None and (reason := _nothing_to_do(data, held, active, settings)) is not None:
        reporter.say(reason)
        return Outcome("nothing to do", None, None, reason, _marks(data))
    reporter.at("learning", 0.2)
    run.begin(settings, _described(client, data, active), resume=False)
    made = _made(data, held, share, active, settings)
    run.write_json("comparison.json", made.comparison.to_json())
    save_model(made.model, run.model_path)
    reporter.at("bringing the model", 0.8)
    version = client.upload_model(run.model_path).version
    told, is_wanted = _told(version, made), force or made.comparison.verdict != "worse"
    reporter.say(told)
    if is_wanted:
        reporter.at("activating the model", 0.85)  # not if it was cancelled
        _activate(client, version, force=force)
    ends = f"model {version} is active" if is_wanted else f"model {version} is kept and not activated: --force would"
    reporter.say(ends)
    bring_report(client, made, run, reporter.say)  # last: its pictures take their time
    state: Literal["activated", "kept"] = "activated" if is_wanted else "kept"
    return Outcome(state, version, made.comparison.verdict, f"{told}; {ends}", _marks(data))


def _active(client: Samekind) -> Model | None:
    """The active model, as far as there is one."""
    version = next((model.version for model in client.models() if model.active), None)
    return None if version is None else model_from_bytes(client.model_file(version), f"model {version}")


def _activate(client: Samekind, version: str, *, force: bool) -> None:
    job = client.wait_for_job(client.activate(version, force=force).id)
    if job.state != "done":
        raise ServiceTrouble(f"Model {version} was not activated: the job {job.id} is {job.state} ({job.detail}).")


def _nothing_to_do(data: CollectionData, held: HeldOut, active: Model, settings: UpdateSettings) -> str | None:
    active.check_backbone(data.backbone)  # it could have been changed between the two requests
    if not _is_learnable(held.learned):
        return "Similar and dissimilar pairs, or two categories, are needed to learn from: nothing to do yet."
    known = _collection_of(active)
    if settings.mode != "full" and all(known.get(name) == count for name, count in _counts(data).items()):
        return f"Nothing is new since model {active.version}; --mode full learns again."
    return None


def _is_learnable(data: CollectionData) -> bool:
    """Whether verdicts or categories, each by themselves, say of some images that they are similar and of some not."""
    unseen = np.empty((len(data), 0), np.float32)
    return TrainingData(unseen, data.pairs).learnable or TrainingData(unseen, data.labels).learnable


def _made(
    data: CollectionData, held: HeldOut, share: Shares, active: Model | None, settings: UpdateSettings
) -> Reported:
    learned = _learned(held.learned, active, settings)
    fitted_to, unused = outside_pairs(held, settings.seed).halves(settings.seed)
    calibration = fitted_to.calibration(learned.metric)
    comparison = compare(held, active, learned.metric, settings.seed)
    model = Model(
        method=learned.method,
        metric=learned.metric,
        backbone=data.backbone,
        b=learned.threshold if calibration is None else calibration.threshold,
        calibration=calibration,
        training=_training(data, share, settings, comparison, even_distance(learned.metric, data))
        | {"validation": figures(held, learned.metric)},
    )
    return Reported(active, model, comparison, held, unused)


def _learned(data: CollectionData, active: Model | None, settings: UpdateSettings) -> Learned:
    if active is None and not _is_learnable(data):
        metric, threshold = principal_metric(data, settings.dimensions, settings.seed)
        return Learned(metric, "pca", threshold)
    return learn(data, active, settings)


def _training(
    data: CollectionData, share: Shares, settings: UpdateSettings, comparison: Comparison, even: float | None
) -> dict[str, Any]:
    """What the manifest says about how the model was made."""
    collection = _counts(data) | {"mode": settings.mode, "held_out": asdict(share), "even_distance": even}
    compared = {} if comparison.former is None else {"comparison": comparison.to_json()}
    return {"config": settings.to_json(), "collection": collection, "versions": library_versions()} | compared


def _counts(data: CollectionData) -> dict[str, Any]:
    return {"last_pair": data.last_pair, "pairs": len(data.pairs), "images": len(data)}


def _marks(data: CollectionData) -> dict[str, int]:
    return {"last_pair": data.last_pair}


def _collection_of(model: Model | None) -> dict[str, Any]:
    """What a manifest says about the collection that the model was made from; it may come from anywhere."""
    found = None if model is None else model.training.get("collection")
    return dict(found) if isinstance(found, dict) else {}


def _described(client: Samekind, data: CollectionData, active: Model | None) -> dict[str, Any]:
    """For the run folder."""
    described = {"service": repr(client), "active": None if active is None else active.version}
    return described | _counts(data) | {"backbone": data.backbone.key}


def _told(version: str, made: Reported) -> str:
    changes = (
        f"{each.name} {each.before:.4f} -> {each.after:.4f} ({each.low:+.4f} to {each.high:+.4f})"
        for each in made.comparison.measures
    )
    parts = [f"model {version}: {made.comparison.verdict}", *changes, *filter(None, [made.comparison.note])]
    return "; ".join(parts)
