"""One method at one d and seed: fitted, timed and measured on the test images."""

import time
from dataclasses import dataclass

import numpy as np

from trainer.errors import BadConfig, BadDataset
from trainer.evaluation import Indices, mean_precisions, nearest_others
from trainer.experiment.results import Result
from trainer.experiment.sensitivity import moved_nml
from trainer.membership import Membership
from trainer.methods.method import Fitted, FloatMatrix, Method, TrainingSet
from trainer.methods.registry import METHODS
from trainer.sampling import Labels
from trainer.threads import one_thread

__all__ = ["Bench", "Fit", "Measured"]

# Images whose transform is timed, and how often: the fastest of a few is what the code needs.
_TIMED_IMAGES = 256
_TIMED_ROUNDS = 3


@dataclass(frozen=True)
class Fit:
    """A point of the grid. d is 0 for raw features, which have their own."""

    method: str
    d: int
    seed: int
    moved: tuple[str, float] | None = None  # a parameter of NML's SGD with a value that is not its default
    pairs: tuple[int, float] | None = None  # learns from so many pairs alone, this share of them wrong

    def make(self) -> Method:
        return moved_nml(*self.moved) if self.moved else METHODS[self.method].make()


@dataclass(frozen=True)
class Measured:
    """What one fit gave, or why there is none."""

    fit: Fit
    results: list[Result]
    nearest: list[list[int]]  # first ten results of each query of the strips, as positions of test images
    skipped: str | None
    cpu_s: float


@dataclass(frozen=True)
class Bench:
    """The image set, ready for any method."""

    train: TrainingSet
    test: FloatMatrix  # (n, D)
    known: Labels | Membership  # of the test images
    ks: tuple[int, ...]
    queries: tuple[int, ...]  # positions of test images whose results the strips show

    def measure(self, fit: Fit) -> Measured:
        """Fit and measure; what the method says of unsuitable data becomes the reason for having no result.

        On one thread, so that times are comparable and experiments may run side by side.
        """
        with one_thread():
            return self._measure(fit)

    def _measure(self, fit: Fit) -> Measured:
        start = time.process_time()
        try:
            train = self.train.as_pairs(*fit.pairs, fit.seed) if fit.pairs else self.train
            fitted = fit.make().fit(train, fit.d, fit.seed)
        except (BadDataset, BadConfig) as error:
            return Measured(fit, [], [], str(error), time.process_time() - start)
        fit_s = time.process_time() - start
        embeddings = fitted.embed(self.test)
        if not np.isfinite(embeddings).all():
            return Measured(
                fit, [], [], "The fit diverged: its embeddings are not finite.", time.process_time() - start
            )
        nearest = nearest_others(embeddings, max(*self.ks, 10), fitted.distance)
        results = self._results(fit, fitted, nearest, fit_s)
        strips = nearest[list(self.queries), :10].tolist() if self.queries else []
        return Measured(fit, results, strips, None, time.process_time() - start)

    def _results(self, fit: Fit, fitted: Fitted, nearest: Indices, fit_s: float) -> list[Result]:
        precisions = mean_precisions(nearest, self.known, self.ks)
        transform_ms = self._transform_ms(fitted)
        return [
            Result(
                method=fit.method,
                d=fit.d or fitted.embedding_dim,
                K=k,
                seed=fit.seed,
                mprec=round(100 * precision, 4),
                fit_s=round(fit_s, 3),
                transform_ms_per_image=round(transform_ms, 5),
                parameters=fitted.parameters,
                bytes_per_image=4 * fitted.embedding_dim,
            )
            for k, precision in precisions.items()
        ]

    def _transform_ms(self, fitted: Fitted) -> float:
        """CPU time for one image, in a batch; whatever is compiled or cached on the first call already is."""
        some = np.ascontiguousarray(self.test[:_TIMED_IMAGES])
        seconds = []
        for _ in range(_TIMED_ROUNDS):
            start = time.process_time()
            fitted.embed(some)
            seconds.append(time.process_time() - start)
        return 1e3 * min(seconds) / len(some)
