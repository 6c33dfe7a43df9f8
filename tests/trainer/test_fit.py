from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import save_file

from embedding.metric import Chi2Metric, Metric
from trainer import fit
from trainer.config import MiniBatch, Network, OnePair, TrainConfig
from trainer.errors import RunFolderError
from trainer.evaluation import mean_precision_at_k
from trainer.fit import fit_metric
from trainer.initialisation import initial_landmarks
from trainer.mini_batch import _squared_distances
from trainer.run import Checkpoint, Run
from trainer.sampling import PairIndices, draw_pairs
from trainer.training_data import TrainingData

N, D = 60, 40
MINI_BATCH = TrainConfig(d=4, optimiser=MiniBatch(steps=60))
ONE_PAIR = TrainConfig(d=4, optimiser=OnePair(steps=3000, learning_rate=0.01, pairs=5000))
NETWORK = TrainConfig(d=4, optimiser=Network(steps=60, hidden_units=16, images_per_class=8))
each_optimiser = pytest.mark.parametrize(
    "config", [NETWORK, MINI_BATCH, ONE_PAIR], ids=["network", "mini-batch", "one-pair"]
)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bit for bit holds on one thread; reports come often, so that a short run can stop between two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(fit, "_MINI_BATCH_REPORT", 10)
    monkeypatch.setattr(fit, "_ONE_PAIR_REPORT", 500)
    yield
    torch.set_num_threads(threads)


def labelled(seed: int = 0) -> TrainingData:
    """Three classes that differ in a few bins of noisy histograms."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % 3
    x = rng.exponential(size=(N, D)) * (rng.random((N, D)) > 0.4)
    for label in range(3):
        x[labels == label, 5 * label : 5 * label + 5] += 1.2
    return TrainingData((x / x.sum(1, keepdims=True)).astype(np.float32), labels.astype(np.int64))


def paired() -> TrainingData:
    data = labelled()
    assert isinstance(data.known, np.ndarray)
    return TrainingData(data.histograms, draw_pairs(data.known, 400, np.random.default_rng(1)))


def arrays(metric: Metric) -> list[npt.NDArray[np.float32]]:
    return [getattr(metric, part.name) for part in fields(metric)]  # type: ignore[arg-type] # all are dataclasses


def check_equal(left: Metric, right: Metric) -> None:
    for a, b in zip(arrays(left), arrays(right), strict=True):
        np.testing.assert_array_equal(a, b)


def new_run(folder: Path, config: TrainConfig) -> Run:
    run = Run(folder)
    run.begin(config, {"images": N}, resume=False)
    return run


class Stop(Exception):
    """The power went off."""


@each_optimiser
@pytest.mark.parametrize("data", [labelled(), paired()], ids=["labels", "pairs"])
def test_learning_beats_the_start(config: TrainConfig, data: TrainingData, tmp_path: Path) -> None:
    learned = fit_metric(data, config, new_run(tmp_path / "run", config), "final")
    start = Chi2Metric(initial_landmarks("data-scaled", 4, D, np.random.default_rng(0)))
    unseen = labelled(seed=9)
    assert isinstance(unseen.known, np.ndarray)
    before, after = (
        mean_precision_at_k(metric.embed(unseen.histograms), unseen.known, 10) for metric in (start, learned)
    )
    assert after > before + 0.15


@each_optimiser
def test_same_seed_same_result(config: TrainConfig, tmp_path: Path) -> None:
    first, second = (fit_metric(labelled(), config, new_run(tmp_path / name, config), "final") for name in "ab")
    check_equal(first, second)
    other = replace(config, seed=1)
    third = fit_metric(labelled(), other, new_run(tmp_path / "c", other), "final")
    assert any((a != b).any() for a, b in zip(arrays(third), arrays(first), strict=True))


@pytest.mark.parametrize(
    "optimiser",
    [MiniBatch(steps=30, images_per_class=20, classes_per_batch=3), Network(steps=30, classes_per_batch=3)],
    ids=["mini-batch", "network"],
)
def test_the_number_of_threads_changes_nothing(tmp_path: Path, optimiser: MiniBatch | Network) -> None:
    """Enough pairs and dimensions for torch to share a step's sums among threads, if it were let."""
    config = TrainConfig(d=16, optimiser=optimiser)
    results: list[Metric] = []
    for threads in (1, 2, 2):
        torch.set_num_threads(threads)
        results.append(fit_metric(labelled(), config, new_run(tmp_path / str(len(results)), config), "final"))
        assert torch.get_num_threads() == threads
    check_equal(results[0], results[1])
    check_equal(results[1], results[2])


@each_optimiser
@pytest.mark.parametrize("stop_at", [1, 3, 5])
def test_resumed_equals_uninterrupted(
    config: TrainConfig, stop_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = new_run(tmp_path / "whole", config)
    expected = fit_metric(labelled(), config, whole, "final")
    run = new_run(tmp_path / "cut", config)
    save, saved = Run.save_checkpoint, []

    def save_and_stop(self: Run, checkpoint: Checkpoint) -> None:
        saved.append(checkpoint.step)
        if len(saved) > stop_at:
            raise Stop
        save(self, checkpoint)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "save_checkpoint", save_and_stop)
        with pytest.raises(Stop):
            fit_metric(labelled(), config, run, "final")
    check_equal(fit_metric(labelled(), config, run, "final"), expected)
    assert (run.folder / "metrics.jsonl").read_text() == (whole.folder / "metrics.jsonl").read_text()


def test_a_checkpoint_of_another_phase_is_not_taken(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    fit_metric(labelled(), MINI_BATCH, run, "validation")
    alone = fit_metric(labelled(), MINI_BATCH, new_run(tmp_path / "alone", MINI_BATCH), "final")
    check_equal(fit_metric(labelled(), MINI_BATCH, run, "final"), alone)


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    (run.folder / "checkpoint.safetensors").write_bytes(b"half a checkp")
    with pytest.raises(RunFolderError, match=r"checkpoint\.safetensors is damaged"):
        fit_metric(labelled(), MINI_BATCH, run, "final")


@pytest.mark.parametrize(
    ("arrays", "metadata"),
    [
        ({"landmarks": np.zeros((2, 2), np.float32)}, {"phase": "final", "step": "10"}),
        ({"landmarks": np.zeros((4, D), np.float32)}, {"phase": "final", "step": "ten"}),
        ({"landmarks": np.zeros((4, D), np.float32)}, {"step": "10"}),
    ],
    ids=["shape", "step", "no phase"],
)
def test_a_checkpoint_that_does_not_fit_is_named(
    arrays: dict[str, npt.NDArray[np.float32]], metadata: dict[str, str], tmp_path: Path
) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    save_file(arrays, run.folder / "checkpoint.safetensors", metadata)
    with pytest.raises(RunFolderError, match="start a new run"):
        fit_metric(labelled(), MINI_BATCH, run, "final")


@pytest.mark.parametrize("content", ["[]", "null", "{", '"text"'])
def test_damaged_files_of_a_run_are_named(tmp_path: Path, content: str) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    (run.folder / "validation.json").write_text(content)
    with pytest.raises(RunFolderError, match=r"validation\.json is damaged"):
        run.read_json("validation.json")
    (run.folder / "config.json").write_text(content)
    with pytest.raises(RunFolderError):
        run.begin(MINI_BATCH, {"images": N}, resume=True)


def test_a_log_in_pieces_is_taken_up(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    row = b'{"phase": "validation", "step": 10}'
    (run.folder / "metrics.jsonl").write_bytes(row + b'\n{"phase": "fin\n{}\n\xff\xfe}\n[1]\n')
    run.forget_after("final", 0)
    assert (run.folder / "metrics.jsonl").read_bytes() == row + b"\n"


@each_optimiser
def test_even_the_greatest_rate_gives_finite_parameters(config: TrainConfig, tmp_path: Path) -> None:
    greatest = 1 / Network().weight_decay if isinstance(config.optimiser, Network) else 1e6
    wild = replace(config, optimiser=replace(config.optimiser, learning_rate=greatest))
    learned = fit_metric(labelled(), wild, new_run(tmp_path / "run", wild), "final")
    assert all(np.isfinite(array).all() for array in arrays(learned))


def test_metrics_are_logged_by_sign(tmp_path: Path) -> None:
    run = new_run(tmp_path / "run", MINI_BATCH)
    fit_metric(labelled(), MINI_BATCH, run, "final")
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert all(name in lines[-1] for name in ("loss", "similar_violations", "dissimilar_violations", '"step": 60'))


def test_run_folder_refuses_other_settings_and_data(tmp_path: Path) -> None:
    new_run(tmp_path / "run", MINI_BATCH)
    with pytest.raises(RunFolderError, match=r"already holds a run.*--resume"):
        new_run(tmp_path / "run", MINI_BATCH)
    run = Run(tmp_path / "run")
    run.begin(MINI_BATCH, {"images": N}, resume=True)
    with pytest.raises(RunFolderError, match="started with d = 4, now it is 5"):
        run.begin(replace(MINI_BATCH, d=5), {"images": N}, resume=True)
    with pytest.raises(RunFolderError, match="started with images = 60, now it is 61"):
        run.begin(MINI_BATCH, {"images": N + 1}, resume=True)


@pytest.mark.parametrize(("kind", "scale"), [("paper", 0.5), ("data-scaled", 1 / D)])
def test_initial_landmarks_fill_their_range(kind: str, scale: float) -> None:
    landmarks = initial_landmarks(kind, 50, D, np.random.default_rng(0))  # type: ignore[arg-type]
    assert landmarks.shape == (50, D)
    assert landmarks.dtype == np.float32
    assert scale * 0.99 < np.abs(landmarks).max() <= scale
    assert abs(landmarks.mean()) < scale * 0.05


def test_parts_keep_features_and_knowledge_together() -> None:
    data = labelled()
    chosen = np.arange(N) % 2 == 0
    part = data.within(chosen)
    np.testing.assert_array_equal(part.known, np.asarray(data.known)[chosen])
    pairs = TrainingData(data.histograms, PairIndices(np.array([0, 0]), np.array([2, 1]), np.array([True, False])))
    assert isinstance(inside := pairs.within(chosen).known, PairIndices)
    assert (inside.left.tolist(), inside.right.tolist()) == ([0], [1])
    assert not pairs.within(chosen).learnable
    assert data.learnable
    assert not data.within(np.zeros(N, bool)).learnable


def test_almost_all_features_may_drop_out() -> None:
    data = labelled()
    narrow = TrainingData(np.ascontiguousarray(data.histograms[:, :2]), data.known)
    for optimiser in (MiniBatch(steps=40, feature_dropout=0.95), Network(steps=40, feature_dropout=0.999)):
        learned = fit_metric(narrow, TrainConfig(d=2, optimiser=optimiser), None, "final")
        assert all(np.isfinite(array).all() for array in arrays(learned))


@pytest.mark.parametrize("pairs_given", [False, True], ids=["all pairs of a batch", "few pairs of many images"])
def test_distances_within_a_batch_equal_differences(pairs_given: bool) -> None:
    rng = np.random.default_rng(0)
    embeddings = torch.from_numpy(rng.normal(size=(20, 3)) + 50).requires_grad_()  # far from the origin
    left, right = np.triu_indices(20, k=1)
    pairs = PairIndices(left, right, rng.random(len(left)) < 0.5)
    pairs = pairs.take(np.arange(9)) if pairs_given else pairs
    found = _squared_distances(embeddings, pairs)
    expected = (embeddings[pairs.left] - embeddings[pairs.right]).square().sum(1)
    torch.testing.assert_close(found, expected)
    slopes = [torch.autograd.grad(values.square().sum(), embeddings)[0] for values in (found, expected)]
    torch.testing.assert_close(*slopes)
