"""The command line: `trainer train`, `trainer evaluate`, `trainer experiment`. Parses, calls, prints."""

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from embedding.errors import EmbeddingError
from trainer.errors import BadConfig, TrainerError
from trainer.experiment.command import experiment
from trainer.options import (
    BackboneName,
    Cache,
    Device,
    Download,
    Root,
    Source,
    Threads,
    Weights,
    cache_folder,
    loaded_backbone,
)

__all__ = ["main"]

app = typer.Typer(
    help="Learn what 'the same kind' means from images in class folders, from a CSV, or from pairs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
def train(
    source: Source,
    out: Annotated[Path, typer.Option(help="Run folder to make.")],
    root: Root = None,
    d: Annotated[int, typer.Option("--d", help="Embedding dimensions; 4 d bytes a picture.")] = 16,
    optimiser: Annotated[str, typer.Option(help="mini-batch, or one-pair (the paper's SGD).")] = "mini-batch",
    initialisation: Annotated[str, typer.Option(help="data-scaled, or paper (its literal listing).")] = "data-scaled",
    steps: Annotated[int | None, typer.Option(help="Steps; iterations of one pair with one-pair.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    m: Annotated[float | None, typer.Option("--m", help="Margin around b.")] = None,
    b: Annotated[float, typer.Option("--b", help="Threshold on squared distance.")] = 0.1,
    validation_fraction: Annotated[float, typer.Option(help="Share of images held out to measure on.")] = 0.2,
    test_fraction: Annotated[
        float, typer.Option(help="Share kept for `evaluate`, where the source has no split.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    backbone: BackboneName = "efficientnet-lite0",
    weights: Weights = None,
    allow_download: Download = False,
    device: Device = "auto",
    cache: Cache = None,
    threads: Threads = 0,
) -> None:
    """Learn an embedding; writes a run folder with the model file."""
    from trainer.config import MiniBatch, OnePair, TrainConfig
    from trainer.dataset import read_source

    kinds: dict[str, MiniBatch | OnePair] = {"mini-batch": MiniBatch(), "one-pair": OnePair()}
    if optimiser not in kinds:
        raise BadConfig(f"optimiser must be mini-batch or one-pair, got {optimiser!r}.")
    chosen: dict[str, Any] = {"steps": steps, "learning_rate": learning_rate, "m": m}
    config = TrainConfig(
        d=d,
        b=b,
        optimiser=replace(kinds[optimiser], **{name: value for name, value in chosen.items() if value is not None}),
        initialisation=initialisation,  # type: ignore[arg-type] # checked when built
        validation_fraction=validation_fraction,
        test_fraction=test_fraction,
        seed=seed,
    )
    read = read_source(source, root)
    for note in read.notes:
        logging.warning(note)
    # Imported only now: scikit-learn and torch take seconds, and mistakes should be told before.
    from trainer.run import Run
    from trainer.train import train as run_training

    model = run_training(
        read,
        config,
        loaded_backbone(backbone, weights, allow_download, device, threads),
        Run(out),
        cache_folder(cache),
        resume=resume,
    )
    validation = model.training["validation"]
    for name, value in validation.items():
        typer.echo(f"validation {name}: {value:.4g}" if isinstance(value, float) else f"validation {name}: {value}")
    typer.echo(f"model {model.version}: {Run(out).model_path}")


@app.command()
def evaluate(
    source: Source,
    model: Annotated[list[Path], typer.Option(help="Model file; may be given several times.")],
    root: Root = None,
    k: Annotated[str, typer.Option("--K", help="Numbers of results, separated by commas.")] = "10",
    test_fraction: Annotated[
        float | None,
        typer.Option(help="Share of test images, where the source has no split [default: the model's own]."),
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the table to this file too.")] = None,
    weights: Weights = None,
    allow_download: Download = False,
    device: Device = "auto",
    cache: Cache = None,
    threads: Threads = 0,
) -> None:
    """Print mprec@K of raw features, PCA and the models on the test images, by the paper's protocol."""
    from embedding.model_file import load_model
    from trainer.comparison import check_unseen, compare, format_scores, least_test_fraction
    from trainer.dataset import read_source

    models = [(str(path), load_model(path)) for path in model]
    read = read_source(source, root)
    fraction = least_test_fraction(models) if test_fraction is None else test_fraction
    if read.splits is None:
        check_unseen(models, fraction)
    ks = _whole_numbers(k)
    if json_out is not None and (json_out.is_dir() or not json_out.absolute().parent.is_dir()):
        raise BadConfig(f"--json {json_out} cannot be written: name a file in a folder that exists.")
    loaded = loaded_backbone(models[0][1].backbone.name, weights, allow_download, device, threads)
    scores = compare(read, models, loaded, ks, fraction, cache_folder(cache))
    typer.echo(format_scores(scores))
    if json_out is not None:
        rows = [{"method": s.method, "d": s.dimensions, "mprec_at_k": s.mprec_at_k} for s in scores]
        json_out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


app.command()(experiment)


def main() -> None:
    """Entry point: errors with a known cause end in one line and exit code 2, not in a traceback."""
    logging.basicConfig(level=logging.WARNING, format="note: %(message)s")
    try:
        app()
    except (TrainerError, EmbeddingError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _whole_numbers(text: str) -> list[int]:

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise BadConfig(f"--K takes whole numbers separated by commas, got {text!r}.") from error
    if min(numbers) < 1:
        raise BadConfig(f"--K must be at least 1, got {min(numbers)}.")
    return numbers
