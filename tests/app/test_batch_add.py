"""POST /v1/images/batch: a few files at once, many as a job that survives what happens to the process."""

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.app.jobs import failures, finished, wait_for
from tests.app.test_serve import serving

Add = Callable[..., dict[str, Any]]
URL = "/v1/images/batch"
MANY = 70


def send(client: TestClient | httpx.Client, files: Sequence[tuple[str, bytes]], items: Any = None) -> Any:
    """The answer to a batch of files by name."""
    data = {} if items is None else {"items": items if isinstance(items, str) else json.dumps(items)}
    return client.post(URL, files=[("files", file) for file in files], data=data)


def spooled(data: Path) -> list[Path]:
    return sorted((data / "spool").glob("*"))


def test_a_few_are_added_at_once_and_a_bad_one_fails_alone(client: TestClient, add: Add, draw: Draw) -> None:
    add(client, 1, id="b-there")
    add(client, 2, id="b-taken")
    files = [
        ("new.png", draw(3)),
        ("there.png", draw(1)),
        ("taken.png", draw(4)),
        ("no picture.txt", b"no picture"),
        ("cut.png", draw(5)[:300]),
        ("bad id.png", draw(6)),
        ("plain.png", draw(7)),
    ]
    said = [
        {"id": "b-new", "category": "cups", "metadata": {"shelf": 7}},
        {},
        {"id": "b-taken"},
        {},
        {},
        {"id": "a b"},
        {},
    ]
    answer = send(client, files, said)
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert answer.json()["errors"] is True
    assert [item["name"] for item in items] == [name for name, _ in files]
    assert [item["status"] for item in items] == [201, 200, 409, 415, 422, 422, 201]
    assert [item["problem"] and item["problem"]["code"] for item in items] == [
        None, None, "id_taken", "unsupported_image", "broken_image", "invalid_field", None,
    ]  # fmt: skip
    assert [item["image"] is None for item in items] == [item["problem"] is not None for item in items]
    new = client.get("/v1/images/b-new").json()
    assert (items[0]["image"], new["category"], new["metadata"]) == (new, "cups", {"shelf": 7})
    assert items[1]["image"]["id"] == "b-there"


def test_the_same_bytes_twice_in_one_batch_are_one_image(client: TestClient, draw: Draw) -> None:
    answer = send(client, [("one.png", draw(20)), ("two.png", draw(20))]).json()
    assert sorted(item["status"] for item in answer["items"]) == [200, 201]
    assert len({item["image"]["id"] for item in answer["items"]}) == 1
    assert answer["errors"] is False


@pytest.mark.parametrize(
    "items", ["{", "7", "[7]", "[]", "[{}, {}]", '[{"colour": 1}]', '[{"id": 7}]', '[{"metadata": 7}]', "[" * 100_000]
)
def test_items_that_do_not_fit(client: TestClient, draw: Draw, items: str) -> None:
    answer = send(client, [("one.png", draw(21))], items)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_error")
    assert "items" in answer.json()["detail"]


def test_bodies_that_are_no_batch(client: TestClient, draw: Draw) -> None:
    picture = ("a.png", draw(22))
    assert client.post(URL, json={"files": []}).status_code == 415
    assert client.post(URL, data={"files": "text"}, files={"files": picture}).status_code == 422
    assert client.post(URL, files={"file": picture}).status_code == 422
    assert client.post(URL, files={"files": picture, "items": ("items.json", b"[{}]")}).status_code == 422
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--y", b"--x\r\n\r\n", b"--x\r\nContent-Disposition: form-data\r\n\r\n\r\n--x--"):
        assert client.post(URL, content=body, headers=form).status_code in (400, 422)
    deep = '[{"metadata": {"a": ' + "[" * 900 + "]" * 900 + "}}]"  # some JSON is read that cannot be written
    assert send(client, [picture], deep).status_code in (200, 422)
    assert client.post(URL, content=b"--x--", headers={"Content-Type": "multipart/form-data"}).status_code == 400


def test_more_than_a_thousand_are_refused(client: TestClient) -> None:
    answer = send(client, [("a.png", b"x")] * 1001)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_files")


def test_many_are_a_job_with_the_files_names_in_its_failures(start: Start, draw: Draw, tmp_path: Path) -> None:
    files = [(f"{seed}.png", draw(seed)) for seed in range(66)] + [("../../étc/\0x", b"none"), ("0 again.png", draw(0))]
    said = [{"id": f"i{number}", "metadata": {"n": number}} for number in range(68)]
    with start() as client:
        answer = send(client, files, said)
        assert answer.status_code == 202
        assert answer.headers["Location"] == f"/v1/jobs/{answer.json()['id']}"
        job = finished(client, answer.json())
        assert (job["kind"], job["state"], job["total"], job["done"], job["failed"]) == ("add", "done", 68, 67, 1)
        (name,) = failures(client, job)
        assert "tc" in name
        assert "\0" not in name
        assert client.get("/v1/images/i65").json()["metadata"] == {"n": 65}
        assert client.get("/v1/stats").json()["indexed"] == 66
        wait_for(lambda: not spooled(tmp_path / "data"))
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def test_files_of_a_job_that_never_came_to_be_are_removed_at_a_start(start: Start, tmp_path: Path) -> None:
    stray = tmp_path / "data" / "spool" / "stray"
    stray.mkdir(parents=True)
    (stray / "000000").write_bytes(b"x")
    with start(model=None):
        assert not stray.exists()


def test_what_was_accepted_survives_sigkill(
    tmp_path: Path, draw: Draw, model: Model, save: Callable[[Model], Path]
) -> None:
    data = tmp_path / "data"
    with serving(data, "--model", str(save(model))) as (process, client):
        files = [(f"{seed}.png", draw(seed)) for seed in range(MANY)]
        answer = send(client, files, [{"id": f"i{seed}"} for seed in range(MANY)])
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert answer.status_code == 202
    with serving(data) as (process, client):
        job = finished(client, answer.json())
        assert (job["state"], job["done"], job["failed"]) == ("done", MANY, 0)
        images = client.get("/v1/images", params={"limit": 1000}).json()["images"]
        assert {image["id"] for image in images} == {f"i{seed}" for seed in range(MANY)}
        assert client.get("/v1/stats").json()["indexed"] == MANY
        assert client.get("/v1/images/i7/file").content == draw(7)
        wait_for(lambda: not spooled(data))
        process.terminate()
        assert process.wait(60) == 0
