"""SIGKILL at any instant of an update: the next start is clean, one whole model serves, and nothing kept is lost."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from app.parts import look_for_damage
from app.settings import Settings
from embedding.backbone import Backbone, load_backbone
from embedding.model_file import Model, save_model
from tests.app.brute import Truth
from tests.app.conftest import make_model
from tests.app.jobs import wait_for
from tests.crash.pictures import draw
from tests.crash.program import Program
from tests.crash.workload import new_client

IMAGES = 12
KILLS = 3  # a start for each takes nearly all the time
_MOST_S = 0.8  # of updates before a kill: about twenty of them


class Updates:
    """One who brings models and reports, activates, rolls back and deletes, and remembers what was acknowledged."""

    def __init__(self, backbone: Backbone, swapped: list[Model], rng: np.random.Generator):
        self._backbone, self._swapped, self._rng = backbone, swapped, rng
        self._seeds = count(100)
        self.files = {model.version: model.to_bytes() for model in swapped}  # by version, of those that must be there
        self.reports: dict[str, set[str]] = {}  # what may be told of each: a put that was cut off came or did not
        self.may_be_there: set[str] = set()  # models of which it is not known
        self.answers = 0

    def run(self, url: str) -> None:
        """Until the service is gone."""
        ways = [self._upload, self._report, self._activate, self._activate, self._roll_back, self._delete]
        with new_client(url) as client:
            try:
                while True:
                    ways[int(self._rng.integers(len(ways)))](client)
                    self.answers += 1
            except httpx.TransportError:
                return  # killed

    def _upload(self, client: httpx.Client) -> None:
        model = make_model(self._backbone, next(self._seeds), d=4)
        self.may_be_there.add(model.version)
        _expect(client.post("/v1/models", files={"file": model.to_bytes()}), 201)
        self.may_be_there.remove(model.version)
        self.files[model.version] = model.to_bytes()

    def _report(self, client: httpx.Client) -> None:
        version = self._any(self.files)
        html = f"<p>{next(self._seeds)}" + "x" * 100_000
        self.reports.setdefault(version, {""}).add(html)
        _expect(client.put(f"/v1/models/{version}/report", files={"file": html.encode()}), 204)
        self.reports[version] = {html}

    def _activate(self, client: httpx.Client) -> None:
        version = self._any(model.version for model in self._swapped)
        _expect(client.post(f"/v1/models/{version}/activate"), 202, 503)  # 100 jobs may wait

    def _roll_back(self, client: httpx.Client) -> None:
        _expect(client.post("/v1/models/rollback"), 202, 409, 503)  # at first no other one was active

    def _delete(self, client: httpx.Client) -> None:
        others = self.files.keys() - {model.version for model in self._swapped}
        if not others:
            return
        version = self._any(others)
        del self.files[version]
        self.reports.pop(version, None)
        self.may_be_there.add(version)
        _expect(client.delete(f"/v1/models/{version}"), 204)
        self.may_be_there.remove(version)

    def _any(self, versions: Iterable[str]) -> str:
        ordered = sorted(versions)
        return ordered[int(self._rng.integers(len(ordered)))]


def _expect(answer: httpx.Response, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text


def test_an_update_that_is_killed_leaves_one_whole_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    backbone = load_backbone()
    models = [make_model(backbone, seed, d=d) for seed, d in ((1, 8), (2, 12))]
    save_model(models[0], tmp_path / "first.safetensors")
    updates = Updates(backbone, models, rng)
    for turn in range(KILLS + 1):
        first = {"model": str(tmp_path / "first.safetensors")} if turn == 0 else {}
        with serving(tmp_path, **first) as (program, url):
            with new_client(url) as client:
                if turn == 0:
                    fill(client, models)
                verify(client, updates, models)
            if turn == KILLS:
                program.ask_to_stop()
                assert program.finished() == 0
            else:
                load_and_kill(updates, url, program, lambda: time.sleep(rng.uniform(0, _MOST_S)))
    assert updates.answers > KILLS
    verify_disk(tmp_path)


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[tuple[Program, str]]:
    """Killed when the block ends, if it still runs; it must have said nothing of trouble."""
    program = Program(
        folder / "serve.log", "serve", "--port", "0", "--data-dir", str(folder / "data"), threads="1",
        keep_models="1000", **settings,  # each start prunes, and this is about what kills lose
    )  # fmt: skip
    try:
        yield program, program.wait_for(r"running on (http://\S+)")
    finally:
        program.kill()
    program.check_log()


def fill(client: httpx.Client, models: list[Model]) -> None:
    for seed in range(IMAGES):
        picture = draw(seed, "models").data
        _expect(client.post("/v1/images", files={"file": picture}, data={"id": f"i{seed}"}), 201)
    _expect(client.post("/v1/models", files={"file": models[1].to_bytes()}), 201)


def load_and_kill(updates: Updates, url: str, program: Program, pause: Callable[[], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(updates.run, url)
        pause()
        assert program.kill()
    client.result()


def verify(client: httpx.Client, updates: Updates, models: list[Model]) -> None:
    """What serves at once is whole; then what was asked for is done, and what was acknowledged is there."""
    truth = Truth.of(client, *models)
    assert len(truth.features) == IMAGES
    verify_searches(client, truth)
    wait_for(lambda: all(each["state"] not in ("waiting", "running") for each in jobs(client)))
    done = jobs(client)
    assert {each["state"] for each in done} <= {"done"}
    verify_searches(client, truth)
    listed = {each["version"]: each for each in client.get("/v1/models").json()}
    (active,) = [version for version, each in listed.items() if each["active"]]
    assert listed[active]["activated"]
    assert not done or active in done[-1]["detail"]
    assert updates.files.keys() <= listed.keys() <= updates.files.keys() | updates.may_be_there
    for version, content in updates.files.items():
        assert client.get(f"/v1/models/{version}/file").content == content
        verify_report(client, version, updates.reports.get(version, {""}), listed[version]["links"]["report"])


def verify_report(client: httpx.Client, version: str, expected: set[str], link: str | None) -> None:
    answer = client.get(f"/v1/models/{version}/report")
    assert (answer.text if answer.status_code == 200 else "") in expected
    assert (answer.status_code == 200) == (link is not None)


def verify_searches(client: httpx.Client, truth: Truth) -> None:
    ready = client.get("/readyz").json()
    assert all(check["ok"] for check in ready["checks"].values()), ready
    assert client.get("/v1/stats").json()["indexed"] == IMAGES
    for name in truth.features:
        answer = client.post("/v1/search", json={"by": "image", "image_id": name, "k": IMAGES})
        truth.check(name, answer.json(), leave_out=True)


def jobs(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/jobs?limit=1000").json()["jobs"]
    return found


def verify_disk(folder: Path) -> None:
    data = folder / "data"
    assert list(data.rglob("*.partial")) == []
    assert list((data / "spool").glob("*")) == []
    assert list(look_for_damage(Settings(data_dir=data), quick=False)) == []
