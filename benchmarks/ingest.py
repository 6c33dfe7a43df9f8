"""Pictures a second of what `samekind ingest` does, beside the extraction of the same pictures and nothing else.

    python -m benchmarks.ingest --pictures 600 --precision bfloat16 --json ingest.json

The pictures are those of clothing10 in $TEST_IMAGE_SETS, or drawn ones of 640 x 480. Both parts decode in one thread a
core and extract sixteen pictures at a time with the same extractor. Ingest also takes checksums, makes thumbnails,
keeps files and rows on disk, and fills the index of a model at d = 16. Each round begins with an empty collection; the
start of the program is in neither.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from app.ingest.pipeline import ingest
from app.ingest.sources import Item, read_source
from app.parts import open_collection
from app.settings import Settings
from benchmarks.load import some_pictures
from benchmarks.measure import header
from benchmarks.start_up import random_model
from embedding.model_file import save_model
from embedding.process import cores, keep_freed_memory, take_short_turns

_SET = "clothing10"


@dataclass(frozen=True)
class Run:
    """One part of one round."""

    per_second: float
    share: float  # of all cores' time, that this process took


@dataclass(frozen=True)
class Round:
    alone: Run
    ingest: Run

    @property
    def ratio(self) -> float:
        return self.ingest.per_second / self.alone.per_second


def main() -> None:
    options = _options()
    keep_freed_memory()
    take_short_turns()
    header("Ingest beside extraction alone")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(random_model(), folder / "model.samekind")
        items = _items(folder, options.pictures)
        rounds = [_round(folder, number, items, options) for number in range(options.rounds + 1)][1:]
    _print(rounds)
    if options.json:
        found = [{"alone": vars(each.alone), "ingest": vars(each.ingest), "ratio": each.ratio} for each in rounds]
        options.json.write_text(json.dumps(found, indent=2) + "\n")


def _round(folder: Path, number: int, items: Sequence[Item], options: argparse.Namespace) -> Round:
    settings = Settings(
        data_dir=folder / f"data-{number}",
        model=folder / "model.samekind",
        engine=options.engine,
        precision=options.precision,
    )
    with open_collection(settings) as collection:
        extractor = collection.extractor

        def alone() -> int:
            with ThreadPoolExecutor(cores()) as pool:
                pictures = pool.map(lambda item: extractor.decode(item.path.read_bytes()), items)
                done = 0
                while batch := list(islice(pictures, extractor.batch_size)):
                    done += len(extractor.features(batch))
                return done

        def whole() -> int:
            return sum(outcome.state != "failed" for outcome in ingest(collection, items))

        return Round(_run(alone), _run(whole))


def _run(work: Callable[[], int]) -> Run:
    wall, processor = time.perf_counter(), time.process_time()
    done = work()
    seconds = time.perf_counter() - wall
    return Run(done / seconds, (time.process_time() - processor) / (seconds * cores()))


def _items(folder: Path, count: int) -> list[Item]:
    real = Path(os.environ.get("TEST_IMAGE_SETS", "")) / _SET
    if not real.is_dir():
        real = folder / "drawn"
        real.mkdir()
        for number, picture in enumerate(some_pictures(count)):
            (real / f"{number}.jpg").write_bytes(picture)
    return list(islice(read_source(str(real), None).items(), count))


def _print(rounds: Sequence[Round]) -> None:
    for name, runs in (("alone", [each.alone for each in rounds]), ("ingest", [each.ingest for each in rounds])):
        found = [each.per_second for each in runs]
        share = statistics.median(each.share for each in runs)
        print(
            f"  {name}: median {statistics.median(found):.1f} pictures/s ({min(found):.1f} to {max(found):.1f}), "
            f"{100 * share:.0f}% of the cores"
        )
    ratios = [each.ratio for each in rounds]
    print(f"  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=("auto", "torch", "openvino"), default="auto")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
