"""Damaged files: an error or a repair, never the wrong bytes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.conftest import Draw, Start
from tests.trouble.subject import Untouched, add, blob, everything, flip


class TestFiles:
    def test_an_original_with_a_flipped_bit_is_an_error_until_it_is_added_again(
        self, start: Start, data: Path, untouched: Untouched, draw: Draw
    ) -> None:
        flip(blob(data, "i1"))
        with start() as client:
            answer = client.get("/v1/images/i1/file")
            assert (answer.status_code, answer.json()["code"]) == (500, "file_missing")
            assert add(client, "i1", draw(1)).status_code == 200
            assert everything(client) == untouched.said

    @pytest.mark.parametrize(
        "harm", [flip, Path.unlink, lambda file: file.write_bytes(b"")], ids=["bit", "gone", "cut"]
    )
    def test_a_thumbnail_is_made_anew(
        self, start: Start, data: Path, untouched: Untouched, harm: Callable[[Path], object]
    ) -> None:
        thumbnail = blob(data, "i1", "thumbnail")
        before = thumbnail.read_bytes()
        harm(thumbnail)
        with start() as client:
            assert everything(client) == untouched.said
        assert thumbnail.read_bytes() == before

    def test_no_thumbnail_is_made_of_a_damaged_original(self, start: Start, data: Path) -> None:
        flip(blob(data, "i1"))
        blob(data, "i1", "thumbnail").unlink()
        with start() as client:
            answer = client.get("/v1/images/i1/thumbnail")
            assert (answer.status_code, answer.json()["code"]) == (500, "file_missing")
