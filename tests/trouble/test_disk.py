"""A disk that is full or read-only."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embedding.model_file import Model
from tests.app.conftest import Draw
from tests.app.test_serve import run, serving
from tests.trouble.mounts import Mounts
from tests.trouble.subject import Client, Save, Untouched, add, everything, is_unavailable

BIG = (300, 200)  # pixels; 180 kB as a PNG of noise


def fill(client: Client, draw: Draw, first: int, **options: Any) -> list[int]:
    """Add pictures until one is refused; returns the seeds of those that were added."""
    for seed in range(first, first + 1000):
        answer = add(client, f"i{seed}", draw(seed, **options))
        if answer.status_code != 201:
            assert is_unavailable(answer), answer.text
            return list(range(first, seed))
    raise AssertionError("The disk never was full.")


class TestDisk:
    def test_a_full_one_loses_nothing_and_goes_on_when_there_is_room(
        self, mounts: Mounts, tmp_path: Path, draw: Draw, model: Model, save: Save
    ) -> None:
        data = mounts.tmpfs(tmp_path / "data", "6464k")  # what is left when it is full is enough to delete
        with serving(data, "--model", str(save(model)), prefix=mounts.inside) as (_process, client):
            big = fill(client, draw, 1000, size=BIG)
            for seed in (big.pop(), big.pop()):
                assert client.delete(f"/v1/images/i{seed}").status_code == 204
            assert add(client, "i2000", draw(2000, size=BIG)).status_code == 201
            small = fill(client, draw, 1)  # up to the last page
            files = {f"i{seed}": draw(seed, size=BIG) for seed in (*big, 2000)} | {f"i{s}": draw(s) for s in small}
            assert is_whole(client, files)
            mounts.remount(data, "size=12m")
            files["i3000"] = draw(3000, size=BIG)
            assert add(client, "i3000", files["i3000"]).status_code == 201
            assert is_whole(client, files)
        with serving(data, prefix=mounts.inside) as (_process, client):
            assert is_whole(client, files)

    def test_a_run_of_ingest_ends_in_a_line_and_goes_on_when_there_is_room(
        self, mounts: Mounts, tmp_path: Path, draw: Draw, model: Model, save: Save
    ) -> None:
        data, photos = mounts.tmpfs(tmp_path / "data", "8m"), tmp_path / "photos"
        photos.mkdir()
        for seed in range(100):  # of 90 kB; the files of 64 are written before the first 16 get their rows
            (photos / f"{seed}.png").write_bytes(draw(seed, size=(200, 150)))
        options = ("--data-dir", str(data), "--model", str(save(model)), "--failures", str(tmp_path / "failures.csv"))
        full = run("ingest", str(photos), *options, prefix=mounts.inside)
        assert full.returncode == 2
        assert full.stderr.splitlines()[-1].startswith("samekind: ")
        assert full.stderr.count("samekind: ") == 1
        assert "Traceback" not in full.stderr
        mounts.remount(data, "size=20m")
        finished = run("ingest", str(photos), *options, prefix=mounts.inside)
        assert finished.returncode == 0
        added, there = map(int, re.findall(r"\d+", finished.stdout)[:2])
        assert (added > 0, there > 0, added + there) == (True, True, 100)
        assert run("check", "--data-dir", str(data), prefix=mounts.inside).stdout == "Nothing is wrong.\n"

    def test_a_read_only_data_folder_is_refused(self, mounts: Mounts, data: Path) -> None:
        mounts.remount(mounts.bind(data), "ro,bind")
        refused = run("serve", "--port", "0", "--data-dir", str(data), prefix=mounts.inside)
        assert refused.returncode == 2
        assert refused.stderr == f"samekind: The data folder {data} cannot be used: Read-only file system.\n"

    def test_a_blobs_folder_that_becomes_read_only(
        self, mounts: Mounts, data: Path, draw: Draw, untouched: Untouched
    ) -> None:
        blobs = mounts.bind(data / "blobs")
        with serving(data, prefix=mounts.inside) as (_process, client):
            mounts.remount(blobs, "ro,bind")
            assert is_unavailable(add(client, "new", draw(50)))
            assert everything(client) == untouched.said
            mounts.remount(blobs, "rw,bind")
            assert add(client, "new", draw(50)).status_code == 201
            assert client.get("/v1/images/new/file").content == draw(50)


def is_whole(client: Client, files: Mapping[str, bytes]) -> bool:
    """These images are there and no others, byte for byte, and each is the nearest to its own upload."""
    listed = [image["id"] for image in client.get("/v1/images?limit=1000").json()["images"]]
    assert sorted(listed) == sorted(files)
    assert client.get("/v1/stats").json()["indexed"] == len(files)
    for name, file in files.items():
        assert client.get(f"/v1/images/{name}/file").content == file
    name, file = next(iter(files.items()))
    nearest = client.post("/v1/search", files={"file": file}, data={"k": "1"}).json()["neighbours"][0]
    return (nearest["id"], nearest["squared_distance"]) == (name, 0.0)
