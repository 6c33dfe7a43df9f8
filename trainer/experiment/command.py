"""The command `trainer experiment`. Parses, calls, prints."""

from pathlib import Path
from typing import Annotated

import typer

from trainer.errors import BadConfig, BadDataset
from trainer.options import (
    BackboneName,
    Cache,
    Device,
    Download,
    Threads,
    Weights,
    cache_folder,
    loaded_backbone,
)

__all__ = ["experiment"]


def experiment(
    sources: Annotated[
        list[str],
        typer.Argument(help="Folders of class folders, CSVs (path,label[,split]), or image sets by name."),
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder to make for the tables and the report; with several sources one in it for each."),
    ],
    root: Annotated[
        Path | None, typer.Option(help="Folder that the paths of a CSV start from, or that holds the named image set.")
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas; all; paper: those without extra dependencies.")
    ] = "paper",
    d: Annotated[str, typer.Option("--d", help="Embedding dimensions.")] = "8,16,32,64",
    k: Annotated[str, typer.Option("--K", help="Numbers of results.")] = "1..50",
    seeds: Annotated[int, typer.Option(help="Fits of each method that draws at random.")] = 3,
    test_fraction: Annotated[float, typer.Option(help="Share of test images, where the source has no split.")] = 0.5,
    sensitivity: Annotated[bool, typer.Option(help="Vary m and b of NML, as the paper does.")] = True,
    pairs: Annotated[
        str,
        typer.Option(
            help="Learning curves of ml, nml, nml-deep, mlp-contrastive: numbers of pairs to learn from alone."
        ),
    ] = "",
    wrong: Annotated[str, typer.Option(help="Percent of these pairs that are wrong; one curve for each.")] = "0",
    strips: Annotated[int, typer.Option(help="Queries that the report shows with their results.")] = 8,
    jobs: Annotated[int, typer.Option(help="Processes that fit side by side.", min=1, max=256)] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an experiment that was stopped.")] = False,
    backbone: BackboneName = "efficientnet-lite0",
    weights: Weights = None,
    allow_download: Download = False,
    device: Device = "auto",
    cache: Cache = None,
    threads: Threads = 0,
) -> None:
    """Compare methods on one image set by the paper's protocol; writes results.csv and report.html."""
    from trainer.dataset import read_source
    from trainer.datasets.registry import read_named
    from trainer.experiment.config import ExperimentConfig, numbers

    dimensions, ks = numbers(d, "--d"), numbers(k, "--K")
    counts, shares = numbers(pairs, "--pairs") if pairs else (), numbers(wrong, "--wrong", least=0)
    read = [
        read_named(name, _root(name, root)) if _is_name(name) else read_source(Path(name), root) for name in sources
    ]
    # Imported only now: torch and scikit-learn take seconds, and mistakes should be told before.
    from trainer.experiment.folder import ExperimentFolder
    from trainer.experiment.runner import run_experiment
    from trainer.experiment.text import format_summary
    from trainer.methods.registry import chosen_methods

    config = ExperimentConfig(
        methods=chosen_methods(methods),
        d=dimensions,
        K=ks,
        seeds=seeds,
        test_fraction=test_fraction,
        sensitivity=sensitivity,
        strips=strips,
        pairs=counts,
        wrong=shares,
    )
    folders = [out] if len(read) == 1 else [out / Path(name).stem for name in sources]
    if len(set(folders)) < len(folders):
        raise BadConfig(f"Two sources would write to one folder: give them different names, got {', '.join(sources)}.")
    loaded = loaded_backbone(backbone, weights, allow_download, device, threads)
    for one, folder in zip(read, folders, strict=True):
        findings = run_experiment(
            one, config, loaded, ExperimentFolder(folder), cache_folder(cache), resume=resume, jobs=jobs
        )
        typer.echo(f"{findings.facts.name}: {format_summary(findings)}\nreport: {folder / 'report.html'}")


def _is_name(source: str) -> bool:
    """Whether an image set is meant by its name: a file or folder of that name goes before."""
    from trainer.datasets.registry import NAMED

    return source in NAMED and not Path(source).exists()


def _root(name: str, root: Path | None) -> Path:
    from trainer.datasets.registry import NAMED

    if root is None:
        raise BadDataset(f"{name} needs its folder: --root DIR, with {NAMED[name].layout}.")
    return root
