"""From nothing to a running service: a collection, a trained model, a table of what it gained, pictures loaded.

Everything goes through the front doors: the `trainer` and `samekind` commands and the HTTP API. What a step has made
is kept in the work folder, so that a second run is quick.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tqdm import tqdm

from app.client import Samekind, SamekindError, Upload
from demo.drawing import CATEGORIES, draw_collection
from trainer.dataset import Source, read_source
from trainer.errors import TrainerError

_IMAGES_PER_CATEGORY = 40
_TEST_FRACTION = "0.25"  # of the images; the table is measured on them, the model never sees them
_START_TIMEOUT_S = 180


def main() -> int:
    options = _options()
    work: Path = options.work
    images = options.images or _drawn(work / "images")
    source = _readable(images)
    say("2/4", f"Learning from {images}")
    model = _trained(images, work / "runs")
    say("3/4", "mprec@10 on images that the model has not seen: before (raw features, PCA) and after (nml-deep)")
    run("trainer", "evaluate", str(images), "--model", str(model))
    say("4/4", f"Starting the service on http://{options.host}:{options.port}")
    with _service(work / "service", model, options.host, options.port) as (process, url):
        _upload(source, url)
        _explain(url, source.paths[0])
        code = process.wait()
    if code:
        raise SystemExit(f"demo: the service ended with code {code}, its last words are in {work / 'service'}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--images", type=Path, help="folder of class folders; left out: a collection is drawn")
    parser.add_argument("--work", type=Path, default=Path("demo-data"), help="where everything is kept")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args()


def _drawn(folder: Path) -> Path:
    say("1/4", f"Drawing {len(CATEGORIES)} categories of {_IMAGES_PER_CATEGORY} pictures into {folder}")
    new = draw_collection(folder, _IMAGES_PER_CATEGORY)
    print(f"{new} new, {len(CATEGORIES) * _IMAGES_PER_CATEGORY - new} were there")
    return folder


def _readable(images: Path) -> Source:
    try:
        source = read_source(images)
    except TrainerError as error:
        raise SystemExit(f"demo: {error}") from error
    for note in source.notes:
        print(f"note: {note}")
    return source


def _trained(images: Path, runs: Path) -> Path:
    """The model file; trained anew unless a finished run of the same images is there."""
    folder = runs / _name_of(images)
    model = folder / "model.safetensors"
    newest = max(path.stat().st_mtime for path in images.rglob("*"))
    if model.exists() and model.stat().st_mtime > newest:
        print(f"{model} is newer than the images: kept")
        return model
    if (folder / "config.json").exists():
        folder.rename(folder.with_name(f"{folder.name}-{time.strftime('%Y%m%d-%H%M%S')}"))
    # The defaults as they are: nobody should wait for a choice between settings before seeing anything.
    run(
        "trainer", "train", str(images), "--out", str(folder), "--test-fraction", _TEST_FRACTION, "--method", "nml-deep"
    )
    return model


def _name_of(images: Path) -> str:
    """The folder's whole path as one name, so that two folders called `photos` do not share a run."""
    return "-".join(images.resolve().parts[1:])


@contextmanager
def _service(data: Path, model: Path, host: str, port: int) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    _check_free(host, port)
    command = [_program("samekind"), "serve", "--host", host, "--port", str(port)]
    data.mkdir(parents=True, exist_ok=True)
    log = data / "service.log"
    print(f"its log: {log}")
    with log.open("ab") as file:
        process = subprocess.Popen(
            [*command, "--data-dir", str(data), "--model", str(model)], stdout=file, stderr=subprocess.STDOUT
        )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # `kill` ends the service too
    try:
        url = f"http://{host}:{port}"
        _wait_until_ready(process, url, log)
        yield process, url
    finally:
        process.terminate()
        process.wait()


def _check_free(host: str, port: int) -> None:
    """Whoever listens there already would be taken for our service, and get our pictures."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SystemExit(
                f"demo: {host}:{port} cannot be listened on ({error.strerror}): stop what is there, "
                "or choose another port with make demo PORT=8001"
            ) from error


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            last_lines = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise SystemExit(f"demo: the service ended with code {process.returncode}:\n{last_lines}")
        with suppress(SamekindError), Samekind(url) as samekind:
            samekind.ready()
            return
        time.sleep(0.2)
    raise SystemExit(f"demo: the service was not ready within {_START_TIMEOUT_S} s")


def _upload(source: Source, url: str) -> None:
    """Send every image; those that the service has already come back as they are."""
    labelled = zip(source.paths, source.labels or [], strict=True)
    uploads = [Upload(path, category=category) for path, category in labelled]
    with Samekind(url, timeout=120) as samekind:
        sent = tqdm(samekind.add_images(uploads), total=len(uploads), desc="upload", unit="image")
        problems = [(path, item.problem) for path, item in zip(source.paths, sent, strict=True) if item.problem]
    for path, problem in problems:
        print(f"left out: {path}: {problem.detail}")


def _explain(url: str, picture: Path) -> None:
    print(
        f"\nThe service is answering on {url} (its API page: {url}/docs). Try:\n\n"
        f"  curl -F file=@'{picture}' -F k=5 '{url}/v1/search'\n\n"
        "It learns from what you say there, with the trainer of this environment.\n"
        "Ctrl-C stops it.",
        flush=True,
    )


def run(program: str, *arguments: str) -> None:
    done = subprocess.run([_program(program), *arguments], check=False)
    if done.returncode:
        raise SystemExit(f"demo: {program} {arguments[0]} ended with code {done.returncode}, see above")


def say(step: str, text: str) -> None:
    print(f"\n[{step}] {text}", flush=True)


def _program(name: str) -> str:
    """A command of this virtual environment."""
    return os.fspath(Path(sys.executable).with_name(name))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nStopped.")
