"""POST /v1/imports: pictures beside the service, and nothing outside of the folder that it may read."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.api.errors import ROWS
from app.errors import IdTaken
from app.ingest.pipeline import CODES
from tests.app.conftest import Draw, Start
from tests.app.jobs import failures, finished

Add = Callable[..., dict[str, Any]]


@pytest.fixture
def pictures(tmp_path: Path, draw: Draw) -> Path:
    """A folder of two categories, with something that is none of them."""
    folder = tmp_path / "pictures"
    for seed, name in enumerate(["cups/a.png", "cups/deep/b.png", "hats/c.png", "d.png"]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(draw(seed))
    (folder / "hats" / "notes.txt").write_text("no picture by its name")
    (folder / "hats" / "broken.png").write_bytes(draw(9)[:200])
    return folder


def imported(client: TestClient, path: str) -> dict[str, Any]:
    answer = client.post("/v1/imports", json={"path": path})
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/v1/jobs/{answer.json()['id']}"
    return finished(client, answer.json())


def categories(client: TestClient) -> list[str | None]:
    return [image["category"] for image in client.get("/v1/images").json()["images"]]


def test_a_folder_of_categories(start: Start, pictures: Path) -> None:
    with start(import_dir=pictures) as client:
        job = imported(client, ".")
        assert (job["state"], job["total"], job["done"], job["failed"]) == ("done", 5, 4, 1)
        assert job["detail"] == "Added 4 pictures; 0 were there already. 1 other files were passed over."
        assert failures(client, job) == {"hats/broken.png": "broken_image"}
        assert sorted(map(str, categories(client))) == ["None", "cups", "cups", "hats"]
        again = imported(client, ".")
        assert again["detail"].startswith("Added 0 pictures; 4 were there already.")
        assert client.get("/v1/stats").json()["indexed"] == 4


def test_a_list_with_ids_and_metadata(start: Start, pictures: Path, add: Add) -> None:
    rows = [
        "path,id,category,shelf",
        "cups/a.png,first,cup,7",
        "hats/c.png,taken,hat,",
        "hats/c.png,q_1,hat,",
        "gone.png,gone,,",
        "d.png,a b,,",
    ]
    (pictures / "list.csv").write_text("\n".join(rows), encoding="utf-8")
    with start(import_dir=pictures) as client:
        add(client, 50, id="taken")
        job = imported(client, "list.csv")
        assert (job["total"], job["done"], job["failed"]) == (5, 1, 4)
        assert failures(client, job) == {
            "hats/c.png": "reserved_id",
            "gone.png": "unreadable",
            "d.png": "invalid_field",
        }
        assert "id_taken" in client.get(f"/v1/jobs/{job['id']}/failures").text
        assert client.get("/v1/images/first").json()["metadata"] == {"shelf": "7"}


def test_codes_of_failures_are_those_of_the_api() -> None:
    assert all(ROWS[error].code == code for error, code in CODES.items())
    assert ROWS[IdTaken].code == "id_taken"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("..", "leads out"),
        ("../secret", "leads out"),
        ("/etc", "leads out"),
        ("cups/../../secret", "leads out"),
        ("link", "leads out"),
        ("gone", "put it there first"),
        ("a\0b", "no path"),
        ("x" * 4000, "File name too long"),
        ("circle/x", "in a circle"),
    ],
)
def test_what_lies_elsewhere_or_nowhere_is_refused(start: Start, pictures: Path, path: str, said: str) -> None:
    (pictures.parent / "secret").mkdir()
    (pictures / "link").symlink_to(pictures.parent / "secret")
    (pictures / "circle").symlink_to(pictures / "circle")
    with start(import_dir=pictures, model=None) as client:
        answer = client.post("/v1/imports", json={"path": path})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
        assert said in answer.json()["detail"]
        assert str(pictures.parent) not in answer.text
        assert client.get("/v1/jobs").json()["jobs"] == []


def test_neither_lists_nor_links_reach_out_of_the_folder(start: Start, pictures: Path, draw: Draw) -> None:
    secret = pictures.parent / "secret.png"
    secret.write_bytes(draw(30))
    (pictures / "list.csv").write_text(f"path\n../secret.png\n{secret}\ncups/a.png\n", encoding="utf-8")
    (pictures / "cups" / "linked.png").symlink_to(secret)
    (pictures / "cups" / "inside.png").symlink_to(pictures / "d.png")
    with start(import_dir=pictures) as client:
        job = imported(client, "list.csv")
        assert (job["done"], job["failed"]) == (1, 2)
        assert failures(client, job) == {"../secret.png": "invalid_field", str(secret): "invalid_field"}
        job = imported(client, "cups")
        assert (job["done"], failures(client, job)) == (3, {"linked.png": "invalid_field"})


def test_what_lies_behind_a_link_out_of_the_folder_is_not_listed(start: Start, pictures: Path, draw: Draw) -> None:
    (pictures.parent / "secret" / "deep").mkdir(parents=True)
    for name in ("hidden.png", "deep/hidden.png"):
        (pictures.parent / "secret" / name).write_bytes(draw(30))
    (pictures / "cups" / "out").symlink_to(pictures.parent / "secret")
    (pictures / "cups" / "in").symlink_to(pictures / "hats")
    with start(import_dir=pictures) as client:
        job = imported(client, "cups")
        assert (job["total"], job["done"], job["failed"]) == (5, 3, 2)
        assert failures(client, job) == {"in/broken.png": "broken_image", "out": "invalid_field"}


def test_no_answer_says_where_the_folder_lies(start: Start, pictures: Path) -> None:
    (pictures / "empty").mkdir()
    (pictures / "none.csv").write_text("name\nx\n", encoding="utf-8")
    long = "x" * 300
    (pictures / "list.csv").write_text(f"path\ngone.png\n{long}.png\ncups\ncircle\n", encoding="utf-8")
    (pictures / "circle").symlink_to(pictures / "circle")
    with start(import_dir=pictures, model=None) as client:
        said = ""
        for path in ("empty", "none.csv", "list.csv"):
            job = imported(client, path)
            said += str(job["detail"]) + client.get(f"/v1/jobs/{job['id']}/failures").text
    assert "empty holds no pictures" in said
    assert "none.csv has the columns name" in said
    assert "cannot be read: No such file or directory" in said
    assert "cannot be read: File name too long" in said
    assert str(pictures.parent) not in said


def test_a_list_that_is_none(start: Start, pictures: Path) -> None:
    (pictures / "list.csv").write_text("name\nx\n", encoding="utf-8")
    with start(import_dir=pictures, model=None) as client:
        job = imported(client, "list.csv")
        assert job["state"] == "failed"
        assert "it needs path" in job["detail"]


@pytest.mark.parametrize("body", [{}, {"path": ""}, {"path": 7}, {"path": "x", "more": 1}, {"path": "x" * 5000}])
def test_a_body_that_is_no_import(start: Start, pictures: Path, body: dict[str, Any]) -> None:
    with start(import_dir=pictures, model=None) as client:
        assert client.post("/v1/imports", json=body).json()["code"] == "validation_error"


def test_without_the_setting_there_are_no_imports(start: Start) -> None:
    with start(model=None) as client:
        answer = client.post("/v1/imports", json={"path": "."})
        assert (answer.status_code, answer.json()["code"]) == (409, "imports_disabled")
        assert re.search("SAMEKIND_IMPORT_DIR", answer.json()["detail"])
