import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embedding.backbone import Backbone
from embedding.image import decode_image
from trainer.errors import BadDataset, CacheError
from trainer.features import default_cache_folder, extract


@pytest.fixture
def pictures(collection: Path, tmp_path: Path) -> list[Path]:
    """Five pictures, the last one a copy of the first, among files that are none."""
    names = sorted(collection.rglob("*.jpg"))[::37]
    for i, name in enumerate(names[:4]):
        shutil.copy(name, tmp_path / f"{i}.jpg")
    shutil.copy(names[0], tmp_path / "copy.jpg")
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "cut.jpg").write_bytes(names[1].read_bytes()[:2000])
    order = ("0.jpg", "text.jpg", "1.jpg", "2.jpg", "none.jpg", "3.jpg", "cut.jpg", "copy.jpg")
    return [tmp_path / name for name in order]


def test_features_belong_to_their_files(pictures: list[Path], backbone: Backbone, tmp_path: Path) -> None:
    extracted = extract(pictures, backbone, tmp_path / "cache")
    assert extracted.positions.tolist() == [0, 2, 3, 5, 7]
    assert extracted.features.dtype == np.float16
    for position, row in zip(extracted.positions, extracted.features, strict=True):
        alone = backbone.features([decode_image(pictures[position].read_bytes())])[0]
        np.testing.assert_allclose(row.astype(np.float32), alone.astype(np.float32), atol=0.01)
    np.testing.assert_array_equal(extracted.features[0], extracted.features[4])
    assert extracted.digests[0] == extracted.digests[4]


def test_bad_files_are_listed_with_reasons(pictures: list[Path], backbone: Backbone, tmp_path: Path) -> None:
    extracted = extract(pictures, backbone, tmp_path / "cache")
    reasons = {path.name: reason for path, reason in extracted.bad}
    assert set(reasons) == {"text.jpg", "none.jpg", "cut.jpg"}
    assert "no image in a supported format" in reasons["text.jpg"]
    assert "No such file" in reasons["none.jpg"]
    assert "truncated or damaged" in reasons["cut.jpg"]


def test_the_cache_is_used_and_equal(pictures: list[Path], backbone: Backbone, tmp_path: Path) -> None:
    first = extract(pictures, backbone, tmp_path / "cache")
    (database,) = (tmp_path / "cache").glob("*.sqlite")
    assert database.stem == backbone.identity.key
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT count(*) FROM features").fetchone() == (4,)
        # A mark that only the cache can have made:
        connection.execute("UPDATE features SET features = ?", (np.full(1280, 2, "<f2").tobytes(),))
    connection.close()
    second = extract(pictures, backbone, tmp_path / "cache")
    assert (second.features == 2).all()
    assert second.positions.tolist() == first.positions.tolist()


def test_changed_content_is_extracted_again(backbone: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    Image.effect_noise((64, 64), 60).save(path)
    first = extract([path], backbone, tmp_path / "cache")
    Image.new("RGB", (64, 64), (200, 10, 10)).save(path)
    second = extract([path], backbone, tmp_path / "cache")
    assert (first.features != second.features).any()


def test_names_that_no_file_can_have_are_bad_files(pictures: list[Path], backbone: Backbone, tmp_path: Path) -> None:
    odd = [Path("nul\0.jpg"), Path("half\ud800.jpg")]
    extracted = extract([*odd, pictures[0]], backbone, tmp_path / "cache")
    assert extracted.positions.tolist() == [2]
    assert len(extracted.bad) == 2


@pytest.mark.parametrize("damage", ["garbage", "another schema", "a folder is a file"])
def test_a_damaged_cache_says_what_to_do(pictures: list[Path], backbone: Backbone, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "cache"
    if damage == "a folder is a file":
        folder.write_text("")
    else:
        folder.mkdir()
        path = folder / f"{backbone.identity.key}.sqlite"
        if damage == "garbage":
            path.write_bytes(b"garbage" * 1000)
        else:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE TABLE features (other TEXT)")
    with pytest.raises(CacheError, match="delete it, which loses time only"):
        extract(pictures, backbone, folder)


def test_not_one_usable_file_is_an_error(backbone: Backbone, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("no picture")
    with pytest.raises(BadDataset, match=r"None of the 1 files is a usable image; the first: .*a\.jpg"):
        extract([tmp_path / "a.jpg"], backbone, tmp_path / "cache")


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRAINER_CACHE", str(tmp_path))
    assert default_cache_folder() == tmp_path
    monkeypatch.delenv("TRAINER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "samekind"
