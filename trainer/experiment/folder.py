"""The folder of an experiment: what is done stays done, and the tables are there for other programs.

config.json, dataset.json, command.txt, bad-images.csv   as in the folder of a training run
results.csv      one row for each method, d, K and seed
sensitivity.csv  mprec@10 of NML's SGD with m or b moved
pairs.csv        mprec@10 of methods that learned from so many pairs, some of them wrong
done.jsonl       what each fit gave; from it everything else is made again, and a killed experiment goes on
report.html      the report
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from typing import Any

from embedding.durable import write_whole
from trainer.errors import RunFolderError
from trainer.experiment.bench import Fit, Measured
from trainer.experiment.results import PairsPoint, Result, SensitivityPoint
from trainer.run import Run

__all__ = ["ExperimentFolder"]

_DONE = "done.jsonl"


class ExperimentFolder(Run):
    """Reads and writes the files of one experiment."""

    def done(self) -> list[Measured]:
        """The fits that were measured. A line that a crash left in pieces counts as not there.

        Raises: RunFolderError if a whole line is damaged.
        """
        path = self.folder / _DONE
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")
        try:
            found = [_measured(json.loads(line)) for line in lines[:-1]]
        except (ValueError, KeyError, TypeError) as error:
            raise RunFolderError(f"{path} is damaged ({error}): start a new folder.") from error
        if lines[-1]:  # without its end of line
            write_whole(path, b"".join(line + b"\n" for line in lines[:-1]))
        return found

    def add(self, measured: Measured) -> None:
        with (self.folder / _DONE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(measured)) + "\n")

    def write_tables(
        self, results: Sequence[Result], sensitivity: Sequence[SensitivityPoint], pairs: Sequence[PairsPoint]
    ) -> None:
        self.write_rows("results.csv", [part.name for part in fields(Result)], map(astuple, results))
        self.write_rows("sensitivity.csv", [part.name for part in fields(SensitivityPoint)], map(astuple, sensitivity))
        self.write_rows("pairs.csv", [part.name for part in fields(PairsPoint)], map(astuple, pairs))


def _measured(line: dict[str, Any]) -> Measured:
    fit = line["fit"]
    moved = None if fit["moved"] is None else (str(fit["moved"][0]), float(fit["moved"][1]))
    pairs = None if fit["pairs"] is None else (int(fit["pairs"][0]), float(fit["pairs"][1]))
    return Measured(
        Fit(fit["method"], fit["d"], fit["seed"], moved, pairs),
        [Result(**row) for row in line["results"]],
        line["nearest"],
        line["skipped"],
        line["cpu_s"],
    )
