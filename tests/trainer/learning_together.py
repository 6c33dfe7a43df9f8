"""What several processes learn together, to be compared with one: started by torchrun, and imported for the cases.

    torchrun --standalone --nproc-per-node 2 -m tests.trainer.learning_together FOLDER

The first process writes FOLDER/NAME.safetensors for each case and FOLDER/choice.json; then the others fail, and it
writes what it hears of that into FOLDER/trouble.txt. FOLDER/run and FOLDER/choice are run folders that one process has
begun.
"""

import json
import signal
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from embedding.metric import Metric
from tests.trainer.learning_sets import loud_set
from tests.trainer.loud_and_quiet import loud_and_quiet
from trainer.choice import choose
from trainer.config import MiniBatch, Network, TrainConfig
from trainer.errors import RanksError
from trainer.fit import fit_along, fit_metric
from trainer.folds import folds
from trainer.launch import Launch
from trainer.learning_set import LearningSet
from trainer.membership import Membership
from trainer.ranks import Ranks, joined
from trainer.run import Run
from trainer.sampling import draw_pairs
from trainer.training_data import TrainingData

__all__ = ["CASES", "CHOICE", "RESUMED", "arrays", "choice_data"]

# A batch of classes has 21 rows, so that shares differ by one.
NETWORK = TrainConfig(d=3, optimiser=Network(steps=20, hidden_units=16, learning_rate=0.01, images_per_class=7))
MINI_BATCH = TrainConfig(d=3, optimiser=MiniBatch(steps=20, images_per_class=7))

CHOICE = TrainConfig(
    d=3,
    optimiser=Network(steps=20, hidden_units=16, learning_rate=0.01, images_per_class=8),
    time_budget_s=1e6,
)


def _data() -> dict[str, TrainingData]:
    x, labels = loud_and_quiet(0)
    rng = np.random.default_rng(0)
    several = np.eye(3, dtype=bool)[labels]
    several[rng.random(len(labels)) < 0.2, 0] = True
    pairs = draw_pairs(labels, 2000, rng)
    return {
        "labels": TrainingData(x, labels),
        "memberships": TrainingData(x, Membership(several)),
        "pairs": TrainingData(x, pairs),
        "labels and verdicts": TrainingData(x, labels, pairs),
    }


CASES: dict[str, tuple[TrainingData, TrainConfig]] = {
    f"{optimiser}, {known}": (data, config)
    for known, data in _data().items()
    for optimiser, config in (("network", NETWORK), ("mini-batch", MINI_BATCH))
}

# Goes on from the checkpoint in FOLDER/run.
RESUMED = "network, labels"


def choice_data() -> LearningSet:
    return loud_set(n=150)


def arrays(metric: Metric) -> dict[str, npt.NDArray[np.float32]]:
    return {part.name: getattr(metric, part.name) for part in fields(metric)}  # type: ignore[arg-type] # all are dataclasses


def _lead(ranks: Ranks, folder: Path) -> None:
    for name, (data, config) in CASES.items():
        save_file(arrays(fit_metric(data, config, None, "final", ranks)), folder / f"{name}.safetensors")
    data, config = CASES[RESUMED]
    resumed = fit_metric(data, config, Run(folder / "run"), "final", ranks)
    save_file(arrays(resumed), folder / "resumed.safetensors")
    judged = choice_data()
    choice = choose(judged, folds(judged), CHOICE, Run(folder / "choice"), ranks)
    (folder / "choice.json").write_text(json.dumps({"name": choice.name, "compared": choice.compared}))
    ranks.agreed(None)  # dismisses the others from `fit_along`
    fit_metric(data, config, None, "final", ranks)


def _follow(ranks: Ranks) -> None:
    fit_along(ranks)
    raise OSError("the disk is full")


def _main(folder: Path) -> None:
    launch = Launch.of_environment()
    if launch.rank:
        with joined(launch, "cpu") as ranks:
            _follow(ranks)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # by which torchrun ends it before it has found out by itself
    try:
        with joined(launch, "cpu") as ranks:
            _lead(ranks, folder)
    except RanksError as error:
        (folder / "trouble.txt").write_text(str(error))
        sys.exit(2)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
