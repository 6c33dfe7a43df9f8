"""The whole way with real weights: the demo's command draws, trains, starts a real server; then a user's requests.

The model file that the trainer's command line wrote is the one that the server loads.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from embedding.model_file import load_model
from embedding.pairs import read_pairs
from tests.conftest import ROOT

pytestmark = pytest.mark.timeout(900)


@dataclass
class Demo:
    work: Path
    url: str
    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            self.lines.extend(output)

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(how)
        self.wait()

    def wait(self) -> int:
        """Until the process has ended and all its lines are read."""
        code = self.process.wait(60)
        self._reader.join(60)
        return code

    def wait_for(self, text: str, timeout_s: float = 600) -> None:
        deadline = time.monotonic() + timeout_s
        while not any(text in line for line in self.lines):
            assert self.process.poll() is None, "".join(self.lines[-20:])
            assert time.monotonic() < deadline, "".join(self.lines[-20:])
            time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_demo(work: Path, *arguments: str) -> Demo:
    port = free_port()
    command = [sys.executable, "-m", "demo", "--work", str(work), "--port", str(port), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SAMEKIND_")}
    environment["SAMEKIND_LEARN_EVERY"] = "0"  # the tests know which model answers
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return Demo(work, f"http://127.0.0.1:{port}", process)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    demo = start_demo(tmp_path_factory.mktemp("demo"))
    demo.wait_for("Ctrl-C stops it")
    yield demo
    if demo.process.poll() is None:
        demo.end()


def test_the_table_shows_what_was_gained(demo: Demo) -> None:
    scores = {}
    for line in demo.lines:
        if match := re.match(r"(raw features|PCA|nml-deep).*?(\d+)\s+(\d+)\s+([\d.]+)(?:\s+[\d.]+)?$", line.strip()):
            scores[match[1]] = float(match[4])
    assert scores["nml-deep"] > scores["PCA"] + 10
    assert scores["nml-deep"] > scores["raw features"] + 10
    assert scores["raw features"] < 90, "the drawn collection is too easy"


def test_curl_as_printed_gives_five_neighbours(demo: Demo) -> None:
    (command,) = [line.strip() for line in demo.lines if line.strip().startswith("curl ")]
    answer = json.loads(subprocess.run(["sh", "-c", f"{command} -s"], capture_output=True, check=True).stdout)
    assert len(answer["neighbours"]) == 5
    model = load_model(next(demo.work.glob("runs/*/model.safetensors")))
    assert answer["model"] == model.version
    for neighbour in answer["neighbours"]:
        assert neighbour["same"] == (neighbour["squared_distance"] < model.b)
        assert neighbour["category"]
    distances = [neighbour["squared_distance"] for neighbour in answer["neighbours"]]
    assert distances == sorted(distances)
    assert distances[0] == 0, "the printed picture is in the collection: it is its own nearest neighbour"


def test_neighbours_are_of_the_same_kind(demo: Demo) -> None:
    hits = []
    for category in ("rings", "star", "bricks", "waves"):
        picture = next((demo.work / "images" / category).glob("*.jpg")).read_bytes()
        answer = httpx.post(f"{demo.url}/v1/search", data={"k": 6}, files={"file": picture}, timeout=60).json()
        hits += [neighbour["category"] == category for neighbour in answer["neighbours"][1:]]
    assert sum(hits) / len(hits) >= 0.7


def test_learning_has_a_trainer_there(demo: Demo) -> None:
    job = httpx.post(f"{demo.url}/v1/jobs", json={"kind": "learn"}, timeout=60).json()
    url, deadline = f"{demo.url}/v1/jobs/{job['id']}", time.monotonic() + 60
    while job["phase"] is None:  # what a trainer says
        assert time.monotonic() < deadline
        time.sleep(0.1)
        job = httpx.get(url, timeout=60).json()
    assert httpx.delete(url, timeout=60).json()["state"] == "cancelled"


def test_feedback_on_a_query_comes_back_as_pairs(demo: Demo, tmp_path: Path) -> None:
    picture = next((demo.work / "images" / "spiral").glob("*.jpg")).read_bytes()
    answer = httpx.post(f"{demo.url}/v1/search", data={"k": 2}, files={"file": picture}, timeout=60).json()
    first, second = (neighbour["id"] for neighbour in answer["neighbours"])
    pairs = [
        {"left": answer["query_id"], "right": second, "similar": True},
        {"left": first, "right": second, "similar": False},
    ]
    taken = httpx.post(f"{demo.url}/v1/feedback", json={"pairs": pairs}, timeout=60)
    assert (taken.json()["recorded"], taken.json()["unchanged"]) == (2, 0)
    (tmp_path / "pairs.jsonl").write_text(httpx.get(f"{demo.url}/v1/feedback", timeout=60).text)
    assert {(pair.key, pair.similar) for pair in read_pairs(tmp_path / "pairs.jsonl")} == {
        (tuple(sorted((answer["query_id"], second))), True),
        (tuple(sorted((first, second))), False),
    }


def test_a_second_run_keeps_what_is_there(demo: Demo, tmp_path: Path) -> None:
    """The same folder again: nothing is drawn, learned or stored twice."""
    model = next(demo.work.glob("runs/*/model.safetensors"))
    before = (model.stat().st_mtime_ns, httpx.get(f"{demo.url}/v1/stats").json()["images"])
    demo.end()
    again = start_demo(demo.work)
    try:
        again.wait_for("Ctrl-C stops it")
        assert any("0 new, 640 were there" in line for line in again.lines)
        assert any("kept" in line for line in again.lines)
        assert (model.stat().st_mtime_ns, httpx.get(f"{again.url}/v1/stats").json()["images"]) == before
    finally:
        again.end(signal.SIGTERM)  # `kill` ends demo and service
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{again.url}/healthz")


def test_the_users_own_folder(image_sets: Path, tmp_path: Path) -> None:
    """Real photographs in class folders, a few of them so that it stays quick, one of them broken."""
    for category in ("fabric", "metal", "water"):
        (tmp_path / "photos" / category).mkdir(parents=True)
        for photo in sorted((image_sets / "fmd" / category).glob("*.jpg"))[:16]:
            (tmp_path / "photos" / category / photo.name).write_bytes(photo.read_bytes())
    (tmp_path / "photos" / "metal" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    demo = start_demo(tmp_path / "work", "--images", str(tmp_path / "photos"))
    try:
        demo.wait_for("Ctrl-C stops it")
        assert httpx.get(f"{demo.url}/v1/stats").json()["images"] == 48
        assert any("left out:" in line and "broken.jpg" in line for line in demo.lines)
    finally:
        demo.end()


def test_a_folder_that_cannot_work_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    demo = start_demo(tmp_path / "work", "--images", str(tmp_path / "empty"))
    assert demo.wait() != 0
    assert any("has no class folders" in line for line in demo.lines)
    assert not any("Traceback" in line for line in demo.lines)
