"""Runs an experiment: features, the grid of fits, the tables, the report."""

import os
import shlex
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path

import numpy as np
from tqdm import tqdm

from embedding.backbone import Backbone
from embedding.process import use_threads
from trainer.dataset import Source
from trainer.errors import BadDataset
from trainer.experiment.bench import Bench, Fit, Measured
from trainer.experiment.config import PAIR_METHODS, ExperimentConfig
from trainer.experiment.facts import describe
from trainer.experiment.folder import ExperimentFolder
from trainer.experiment.names import SHOWN_FIRST
from trainer.experiment.report import write_report
from trainer.experiment.results import Example, Findings, ImageSetFacts, PairsPoint, SensitivityPoint, Strip
from trainer.experiment.sensitivity import MOVED
from trainer.image_set import ImageSet, load_image_set
from trainer.methods.method import TrainingSet
from trainer.methods.registry import METHODS
from trainer.run import library_versions
from trainer.sampling import are_similar, generator
from trainer.train import fingerprint

__all__ = ["run_experiment"]

# Where the paper shows curves over K and pictures; the nearest of the given d takes its place.
_USUAL_D = 16


def run_experiment(
    source: Source,
    config: ExperimentConfig,
    backbone: Backbone,
    folder: ExperimentFolder,
    cache: Path,
    *,
    resume: bool = False,
    jobs: int = 1,
) -> Findings:
    """Fit every method of the grid on the training part, measure it on the test part, write tables and report.

    What cannot be fitted on these data is skipped with its reason. A killed experiment goes on with resume=True.
    jobs: processes that fit side by side.
    Raises: BadDataset, RunFolderError.
    """
    folder.check_may_begin(config, resume=resume)
    images = load_image_set(source, backbone, cache)
    train = images.part("train", config.test_fraction).without_contradictions()
    test = images.part("test", config.test_fraction)
    bench = _bench(train, test, config)
    facts = describe(source, images, train, test, backbone)
    description = {"sha256": [fingerprint(part) for part in (train, test)], "backbone": backbone.identity.key}
    folder.begin(config, description, resume=resume)
    folder.write_bad_images(images.bad)
    done = _run_grid(bench, config, folder, jobs)
    findings = _findings(done, facts, test, bench, config)
    folder.write_tables(findings.results, findings.sensitivity, findings.pairs)
    write_report(findings, folder.folder / "report.html")
    return findings


def _run_grid(bench: Bench, config: ExperimentConfig, folder: ExperimentFolder, jobs: int) -> list[Measured]:
    """All fits in the order of the grid; those that the folder has are not made again."""
    grid = _grid(config)
    done = {measured.fit: measured for measured in folder.done()}
    missing = [fit for fit in grid if fit not in done]
    with tqdm(total=len(grid), initial=len(grid) - len(missing), desc="fits", unit="fit") as progress:
        for measured in _measure(bench, missing, jobs):
            done[measured.fit] = measured
            folder.add(measured)
            progress.set_postfix_str(f"{measured.fit.method} d={measured.fit.d} seed={measured.fit.seed}")
            progress.update()
    return [done[fit] for fit in grid]


def _bench(train: ImageSet, test: ImageSet, config: ExperimentConfig) -> Bench:
    if len(test.digests) < 3:
        raise BadDataset(
            f"{test.origin} has {len(test.digests)} test images, which leaves nothing to rank: give more images, or "
            "a larger --test-fraction."
        )
    ks = tuple(k for k in config.K if k < len(test.digests))
    if not ks:
        raise BadDataset(f"Every K needs more than K test images, there are {len(test.digests)}: use a smaller --K.")
    return Bench(
        TrainingSet(train.features.astype(np.float32), train.known),
        test.features.astype(np.float32),
        test.classes,
        ks,
        _strip_queries(test, config.strips),
    )


def _strip_queries(test: ImageSet, count: int) -> tuple[int, ...]:
    """Test images drawn at random, of different classes as far as there are: not chosen by how well they do."""
    rng = generator(0, "strips", 0)
    order = rng.permutation(len(test.digests))
    labels = test.labels or []
    first_of_class = {labels[i]: i for i in reversed(order)}
    firsts = [i for i in order if first_of_class[labels[i]] == i]
    chosen = set(firsts)
    return tuple(int(i) for i in [*firsts, *(i for i in order if i not in chosen)][:count])


def _grid(config: ExperimentConfig) -> list[Fit]:
    grid = []
    for name in config.methods:
        kind = METHODS[name]
        seeds = range(config.seeds if kind.seeded else 1)
        grid += [Fit(name, d, seed) for d in (config.d if kind.sized else (0,)) for seed in seeds]
    if config.sensitivity:
        d = _usual_d(config)
        points = [(parameter, value) for parameter, values in MOVED.items() for value in values]
        grid += [Fit("nml-sgd", d, seed, point) for point in points for seed in range(config.seeds)]
    learners = [name for name in PAIR_METHODS if name in config.methods]
    grid += [
        Fit(name, _usual_d(config), seed, pairs=(count, wrong / 100))
        for name in learners
        for wrong in config.wrong
        for count in config.pairs
        for seed in range(config.seeds)
    ]
    return grid


def _usual_d(config: ExperimentConfig) -> int:
    return min(config.d, key=lambda d: (abs(d - _USUAL_D), d))


def _measure(bench: Bench, fits: Sequence[Fit], jobs: int) -> Iterator[Measured]:
    if jobs == 1 or len(fits) < 2:
        yield from map(bench.measure, fits)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _take_bench, (bench,)) as pool:
        for future in as_completed([pool.submit(_measure_here, fit) for fit in fits]):
            yield future.result()


# The bench of a worker process, sent once and not with every fit.
_here: list[Bench] = []


def _take_bench(bench: Bench) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_threads(1)
    _here.append(bench)


def _end_with_parent() -> None:
    """A killed experiment must not leave its workers waiting for ever: their queue does not tell them."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _measure_here(fit: Fit) -> Measured:
    return _here[0].measure(fit)


def _findings(
    done: Sequence[Measured], facts: ImageSetFacts, test: ImageSet, bench: Bench, config: ExperimentConfig
) -> Findings:
    plain = [measured for measured in done if measured.fit.moved is None and measured.fit.pairs is None]
    return Findings(
        facts=facts,
        results=[row for measured in plain for row in measured.results],
        sensitivity=list(_sensitivity(done)),
        strips=_strips(plain, test, bench, _usual_d(config)),
        skipped=_skipped(done),
        command=shlex.join(["trainer", *sys.argv[1:]]),
        versions=library_versions(),
        cpu_s=sum(measured.cpu_s for measured in done),
        pairs=list(_pairs(done)),
    )


def _sensitivity(done: Iterable[Measured]) -> Iterator[SensitivityPoint]:
    for measured in done:
        if measured.fit.moved is not None and measured.results:
            yield SensitivityPoint(*measured.fit.moved, measured.fit.seed, _at_10(measured))


def _pairs(done: Iterable[Measured]) -> Iterator[PairsPoint]:
    for measured in done:
        fit = measured.fit
        if fit.pairs is not None and measured.results:
            count, wrong = fit.pairs
            yield PairsPoint(fit.method, fit.d, count, round(100 * wrong), fit.seed, _at_10(measured))


def _at_10(measured: Measured) -> float:
    """mprec@10, or at the nearest K that was measured."""
    return min(measured.results, key=lambda row: abs(row.K - 10)).mprec


def _skipped(done: Iterable[Measured]) -> list[tuple[str, int, str]]:
    """Each method and d with its reason once, not for every seed."""
    found = {(fit.fit.method, fit.fit.d): fit.skipped for fit in done if fit.skipped is not None}
    return [(method, d, reason) for (method, d), reason in found.items()]


def _strips(done: Iterable[Measured], test: ImageSet, bench: Bench, d: int) -> list[Strip]:
    first_seed = {fit.fit.method: fit for fit in done if (fit.fit.d, fit.fit.seed) == (d, 0) and not fit.skipped}
    shown = [first_seed[name] for name in SHOWN_FIRST if name in first_seed]
    if not shown:
        return []
    labels = test.labels or []
    return [
        Strip(
            Example(test.paths[query], labels[query], True, test.boxes[query]),
            {fit.fit.method: [_example(test, bench, query, i) for i in fit.nearest[place]] for fit in shown},
        )
        for place, query in enumerate(bench.queries)
    ]


def _example(test: ImageSet, bench: Bench, query: int, result: int) -> Example:
    relevant = are_similar(bench.known, np.array([query]), np.array([result]))
    return Example(test.paths[result], (test.labels or [])[result], bool(relevant[0]), test.boxes[result])
