"""A snapshot of the index that is cut, garbage, or another collection's never changes an answer."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from embedding.model_file import Model
from tests.app.conftest import Draw, Start
from tests.trouble.subject import NAMES, Save, Untouched, add, everything, flip


class TestSnapshot:
    @pytest.mark.parametrize(
        "harm",
        [
            pytest.param(lambda _: b"", id="empty"),
            pytest.param(lambda content: content[:1], id="one byte"),
            pytest.param(lambda content: content[: content.index(b"\n") + 1], id="header only"),
            pytest.param(lambda content: content[: len(content) // 2], id="half"),
            pytest.param(lambda content: content[:-1], id="all but one byte"),
            pytest.param(lambda content: content + b"\0", id="a byte more"),
            pytest.param(lambda content: bytes(len(content)), id="zeros"),
            pytest.param(lambda _: b"hello\n" * 1000, id="text"),
            pytest.param(lambda _: b"[]\n", id="JSON of another kind"),
        ],
    )
    def test_one_that_is_cut_or_garbage_is_built_anew(
        self,
        start: Start,
        data: Path,
        untouched: Untouched,
        caplog: pytest.LogCaptureFixture,
        harm: Callable[[bytes], bytes],
    ) -> None:
        snapshot = data / "index.snapshot"
        snapshot.write_bytes(harm(snapshot.read_bytes()))
        with start() as client:
            assert everything(client) == untouched.said
        assert "the index is built anew" in caplog.text

    @pytest.mark.parametrize("at", [0.0, 0.2, 0.5, 0.9, 1.0])
    def test_a_flipped_bit(
        self, start: Start, data: Path, untouched: Untouched, caplog: pytest.LogCaptureFixture, at: float
    ) -> None:
        flip(data / "index.snapshot", at)
        with start() as client:
            assert everything(client) == untouched.said
        assert "the index is built anew" in caplog.text

    @pytest.mark.usefixtures("data")
    def test_of_another_model(self, start: Start, untouched: Untouched, other_model: Model, save: Save) -> None:
        with start(model=save(other_model)):
            pass
        with start() as client:
            assert everything(client) == untouched.said

    def test_of_other_pictures_under_the_same_numbers(
        self, start: Start, data: Path, untouched: Untouched, draw: Draw, tmp_path: Path
    ) -> None:
        with start(data_dir=tmp_path / "other") as client:
            for seed, name in enumerate(NAMES):
                add(client, name, draw(100 + seed))
        shutil.copy(tmp_path / "other" / "index.snapshot", data)
        with start() as client:
            assert everything(client) == untouched.said
