"""The command line: `trainer train`, `evaluate`, `experiment` and `update`. Parses, calls, prints."""

import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from embedding.errors import EmbeddingError
from trainer.config import TIME_BUDGET_S
from trainer.errors import BadConfig, TrainerError
from trainer.experiment.command import experiment
from trainer.launch import Launch
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
    check_writable,
    loaded_backbone,
)
from trainer.update.command import update

__all__ = ["main"]

# Torchrun ends all processes when one ends: first comes the one that tells why.
_TELLING_S = 10.0

app = typer.Typer(
    help="Learn what 'the same kind' means from images in class folders, from a CSV, or from pairs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _check_launch(context: typer.Context) -> None:
    if context.invoked_subcommand not in (None, "train"):
        Launch.of_environment().check_alone(str(context.invoked_subcommand))


@app.command()
def train(
    source: Source,
    out: Annotated[Path, typer.Option(help="Run folder to make.")],
    root: Root = None,
    d: Annotated[int, typer.Option("--d", help="Embedding dimensions; 4 d bytes a picture.")] = 16,
    method: Annotated[
        str | None,
        typer.Option(
            help="nml-deep; nml (the paper's one layer); auto: nml-deep, bent from the discriminant as far as held-out "
            "images say [default: auto; nml-deep with --steps or --learning-rate]."
        ),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(help=f"auto: seconds for trying other bends than the size suggests [default: {TIME_BUDGET_S:g}]."),
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's SGD: --method nml --optimiser one-pair.")] = False,
    optimiser: Annotated[str | None, typer.Option(help="NML: mini-batch, or one-pair [default: mini-batch].")] = None,
    initialisation: Annotated[
        str | None, typer.Option(help="NML: data-scaled, or paper (its literal listing) [default: data-scaled].")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps; iterations of one pair with one-pair.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    m: Annotated[float | None, typer.Option("--m", help="NML: margin around b.")] = None,
    b: Annotated[float | None, typer.Option("--b", help="NML: threshold on squared distance [default: 0.1].")] = None,
    validation: Annotated[
        bool, typer.Option(help="Hold out parts first, to choose by, to measure on and to calibrate.")
    ] = True,
    test_fraction: Annotated[
        float, typer.Option(help="Share kept for `evaluate`, where the source has no split.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Same seed, same result, unless the time budget ran out.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    backbone: BackboneName = "efficientnet-lite0",
    weights: Weights = None,
    allow_download: Download = False,
    device: Device = "auto",
    cache: Cache = None,
    threads: Threads = 0,
) -> None:
    """Learn an embedding; writes a run folder with the model file.

    Several processes, also on several machines: torchrun --nproc-per-node N -m -- trainer train ...
    """
    from trainer.config import TrainConfig
    from trainer.dataset import read_source

    config = TrainConfig(
        d=d,
        validation=validation,
        test_fraction=test_fraction,
        seed=seed,
        **_learning(
            _agreed("nml", method, "--method") if paper else method,
            _agreed("one-pair", optimiser, "--optimiser") if paper else optimiser,
            time_budget,
            common={"steps": steps, "learning_rate": learning_rate},
            margin=m,
            nml={"b": b, "initialisation": initialisation},
        ),
    )
    launch = Launch.of_environment()
    launch.check(config)
    if launch.rank:
        _learn_along(launch, device)
        return
    read = read_source(source, root)
    for note in read.notes:
        logging.warning(note)
    # Imported only now: scikit-learn and torch take seconds, and mistakes should be told before.
    from trainer.ranks import joined
    from trainer.run import Run
    from trainer.train import train as run_training

    with joined(launch, device) as ranks:
        model = run_training(
            read,
            config,
            loaded_backbone(backbone, weights, allow_download, device, threads),
            Run(out),
            cache_folder(cache),
            resume=resume,
            ranks=ranks,
        )
    for line in _validation_lines(model.training["validation"]):
        typer.echo(line)
    typer.echo(f"model {model.version}: {Run(out).model_path}")


def _validation_lines(validation: Mapping[str, Any]) -> Iterator[str]:
    for member in validation["compared"]:
        ahead = " ({difference:+.4f} ± {standard_error:.4f})".format(**member) if "difference" in member else ""
        yield f"validation tried {member['name']}: {member['score']:.4f}{ahead}"
    for name, value in validation.items():
        if name != "compared":
            yield f"validation {name}: {value:.4g}" if isinstance(value, float) else f"validation {name}: {value}"


@app.command()
def evaluate(
    source: Source,
    model: Annotated[list[Path], typer.Option(help="Model file; may be given several times.")],
    root: Root = None,
    k: Annotated[str, typer.Option("--K", help="Numbers of results, separated by commas.")] = "10",
    test_fraction: Annotated[
        float | None,
        typer.Option(
            help="Share of test images, where the source has no split [default: all that no model learned from]."
        ),
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the table to this file too.")] = None,
    reliability: Annotated[
        Path | None, typer.Option(help="Draw the reliability diagram of calibrated models into this PNG file.")
    ] = None,
    weights: Weights = None,
    allow_download: Download = False,
    device: Device = "auto",
    cache: Cache = None,
    threads: Threads = 0,
) -> None:
    """Print mprec@K of raw features, PCA and the models on the test images, and the models' calibration errors."""
    from embedding.model_file import load_model
    from trainer.comparison import check_calibrated, compare, format_scores
    from trainer.dataset import read_source

    models = [(str(path), load_model(path)) for path in model]
    read = read_source(source, root)
    ks = _whole_numbers(k)
    check_writable("--json", json_out)
    if reliability is not None:
        check_writable("--reliability", reliability)
        check_calibrated(models)
    loaded = loaded_backbone(models[0][1].backbone.name, weights, allow_download, device, threads)
    scores = compare(read, models, loaded, ks, test_fraction, cache_folder(cache))
    typer.echo(format_scores(scores))
    if json_out is not None:
        json_out.write_text(json.dumps([score.to_json() for score in scores], indent=2) + "\n", encoding="utf-8")
    if reliability is not None:
        from trainer.experiment.reliability_figure import draw_reliability

        draw_reliability({score.method: score.reliability for score in scores if score.reliability}, reliability)


app.command()(experiment)
app.command()(update)


def main() -> None:
    """Entry point: errors with a known cause end in one line and exit code 2, not in a traceback.

    Where several processes have the same one, the others leave the telling to the first of their machine.
    """
    logging.basicConfig(level=logging.WARNING, format="note: %(message)s")
    try:
        app()
    except (TrainerError, EmbeddingError) as error:
        if not Launch.of_environment().tells(error):
            time.sleep(_TELLING_S)
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _learn_along(launch: Launch, device: str) -> None:
    """What a process that is not the first one does. Raises: RanksError."""
    from trainer.fit import fit_along
    from trainer.ranks import joined

    with joined(launch, device) as ranks:
        fit_along(ranks)


def _agreed(value: str, given: str | None, option: str) -> str:
    """What --paper asks for, unless another option asks for something else. Raises: BadConfig."""
    if given not in (None, value):
        raise BadConfig(f"--paper means {option} {value}, got {option} {given}: leave one of the two out.")
    return value


def _learning(
    method: str | None,
    optimiser: str | None,
    time_budget: float | None,
    common: dict[str, Any],
    margin: float | None,
    nml: dict[str, Any],
) -> dict[str, Any]:
    """The fields of TrainConfig that say how to learn. None: not given. Raises: BadConfig."""
    given = _given(common)
    method = method or ("nml-deep" if given else "auto")
    if method not in ("auto", "nml-deep", "nml"):
        raise BadConfig(f"--method must be auto, nml-deep or nml, got {method!r}.")
    if method == "auto" and given:
        name, value = next(iter(given.items()))
        raise BadConfig(f"--method auto chooses {name} itself: leave {_option(name)} {value} out.")
    if method != "auto" and time_budget is not None:
        raise BadConfig(f"--time-budget {time_budget:g} is of --method auto, got --method {method}: leave one out.")
    if method == "nml":
        return _plain(optimiser, given | _given({"m": margin}), _given(nml))
    for name, value in {"optimiser": optimiser, "m": margin, **nml}.items():
        if value is not None:
            raise BadConfig(f"{_option(name)} {value} is of NML: add --method nml, or leave it out.")
    budget = (TIME_BUDGET_S if time_budget is None else time_budget) if method == "auto" else 0.0
    return _deep(given, budget)


def _deep(given: dict[str, Any], time_budget_s: float) -> dict[str, Any]:
    from trainer.config import Network

    return {"optimiser": replace(Network(), **given), "time_budget_s": time_budget_s}


def _plain(optimiser: str | None, given: dict[str, Any], nml: dict[str, Any]) -> dict[str, Any]:
    from trainer.config import MiniBatch, OnePair

    kinds: dict[str, MiniBatch | OnePair] = {"mini-batch": MiniBatch(), "one-pair": OnePair()}
    name = optimiser or "mini-batch"
    if name not in kinds:
        raise BadConfig(f"--optimiser must be mini-batch or one-pair, got {name!r}.")
    return {"optimiser": replace(kinds[name], **given), **nml}


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _whole_numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise BadConfig(f"--K takes whole numbers separated by commas, got {text!r}.") from error
    if min(numbers) < 1:
        raise BadConfig(f"--K must be at least 1, got {min(numbers)}.")
    return numbers
