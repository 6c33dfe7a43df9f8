import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from embedding.backbone import Backbone
from embedding.image import decode_image
from trainer.box import Box
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


@pytest.fixture
def group(tmp_path: Path) -> Path:
    """A picture of 96 x 64 with nothing in it twice."""
    Image.effect_noise((96, 64), 90).convert("RGB").save(tmp_path / "group.png")
    return tmp_path / "group.png"


LEFT, RIGHT = Box(0, 8, 40, 60), Box(40, 8, 96, 64)


def test_boxes_of_a_picture_are_as_if_cut_out_before(group: Path, backbone: Backbone, tmp_path: Path) -> None:
    extracted = extract([group] * 3, backbone, tmp_path / "cache", [LEFT, RIGHT, None])
    cut = [tmp_path / f"{i}.png" for i in range(3)]
    for path, box in zip(cut, (LEFT, RIGHT, Box(0, 0, 96, 64)), strict=True):
        Image.open(group).crop(box).save(path)
    alone = extract(cut, backbone, tmp_path / "other cache")
    np.testing.assert_array_equal(extracted.features, alone.features)
    assert len(np.unique(extracted.features, axis=0)) == 3
    assert extracted.positions.tolist() == [0, 1, 2]


def test_a_box_has_a_digest_of_its_own_and_a_whole_picture_keeps_its(
    group: Path, backbone: Backbone, tmp_path: Path
) -> None:
    content = hashlib.sha256(group.read_bytes()).digest()
    extracted = extract([group] * 3, backbone, tmp_path / "cache", [LEFT, None, RIGHT])
    assert extracted.digests == [
        hashlib.sha256(content + b"0 8 40 60").digest(),
        content,
        hashlib.sha256(content + b"40 8 96 64").digest(),
    ]
    without = extract([group], backbone, tmp_path / "cache")
    assert without.digests == [content]
    np.testing.assert_array_equal(without.features[0], extracted.features[1])


def test_the_cache_keeps_boxes_too(group: Path, backbone: Backbone, tmp_path: Path) -> None:
    shutil.copy(group, tmp_path / "copy.png")
    paths, boxes = [group, group, tmp_path / "copy.png"], [LEFT, RIGHT, LEFT]
    first = extract(paths, backbone, tmp_path / "cache", boxes)
    assert first.digests[0] == first.digests[2]
    (database,) = (tmp_path / "cache").glob("*.sqlite")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE features SET features = ?", (np.full(1280, 2, "<f2").tobytes(),))
    second = extract(paths, backbone, tmp_path / "cache", boxes)
    assert (second.features == 2).all()
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM features").fetchone() == (2,)


def test_a_box_is_clipped_and_one_outside_is_bad(group: Path, backbone: Backbone, tmp_path: Path) -> None:
    beyond, clipped, outside = Box(-5, 8, 40, 60), Box(0, 8, 40, 60), Box(96, 0, 120, 64)
    extracted = extract([group] * 3, backbone, tmp_path / "cache", [beyond, outside, clipped])
    assert extracted.positions.tolist() == [0, 2]
    np.testing.assert_array_equal(extracted.features[0], extracted.features[1])
    assert [path for path, _ in extracted.bad] == [group]
    assert "The box (96, 0)-(120, 64) has no pixel of the picture, which is 96 x 64" in extracted.bad[0][1]


def test_a_box_refers_to_the_upright_picture(backbone: Backbone, tmp_path: Path) -> None:
    upright = Image.new("RGB", (40, 60), (200, 0, 0))
    upright.paste((0, 0, 200), (0, 30, 40, 60))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # stored on its left side: to be turned by 90 degrees to the right
    upright.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "stored.png", exif=exif)
    Image.new("RGB", (40, 30), (0, 0, 200)).save(tmp_path / "blue.png")
    turned = extract([tmp_path / "stored.png"], backbone, tmp_path / "cache", [Box(0, 30, 40, 60)])
    blue = extract([tmp_path / "blue.png"], backbone, tmp_path / "cache")
    np.testing.assert_array_equal(turned.features, blue.features)


def test_a_box_of_a_large_jpeg_is_in_pixels_of_all_of_it(backbone: Backbone, tmp_path: Path) -> None:
    """The file is decoded at half its size."""
    colours = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    picture = Image.fromarray(colours.repeat(150, axis=0).repeat(150, axis=1))
    box = Box(1101, 303, 2399, 1799)
    picture.save(tmp_path / "large.jpg", quality=95)
    picture.crop(box).save(tmp_path / "cut.png")
    extracted = extract([tmp_path / "large.jpg", tmp_path / "cut.png"], backbone, tmp_path / "cache", [box, None])
    inside, cut = extracted.features.astype(np.float64)
    assert np.linalg.norm(inside - cut) <= 0.1 * np.linalg.norm(cut)


def test_as_many_boxes_as_paths(group: Path, backbone: Backbone, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        extract([group, group], backbone, tmp_path / "cache", [LEFT])
