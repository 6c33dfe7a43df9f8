import hashlib
from pathlib import Path

import numpy as np
import pytest

from trainer.dataset import held_out, read_source
from trainer.errors import BadDataset


def make_files(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    return root


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_folder(tmp_path: Path) -> None:
    make_files(tmp_path, "cat/1.jpg", "cat/deep/2.PNG", "cat/notes.txt", "dog/3.webp", "dog/4.heic", ".hidden/5.jpg")
    (tmp_path / "fish").mkdir()
    source = read_source(tmp_path)
    assert source.labels == ["cat", "cat", "dog", "dog"]
    assert [path.name for path in source.paths] == ["1.jpg", "2.PNG", "3.webp", "4.heic"]
    assert source.splits is None
    assert source.boxes is None
    assert source.notes == ["The class folder fish has no images."]


def test_csv_with_split_and_the_folder_beside_it(tmp_path: Path) -> None:
    make_files(tmp_path, "set/a/1.jpg")
    source = read_source(
        write(tmp_path / "set.csv", "\ufeffpath,label,split\na/1.jpg,ä b,train\nb/2.jpg,c,test\nb/3.jpg,c,train\n")
    )
    assert source.paths[0] == tmp_path / "set" / "a" / "1.jpg"
    assert (source.labels, source.splits) == (["ä b", "c", "c"], ["train", "test", "train"])


def test_csv_without_split_and_with_a_root(tmp_path: Path) -> None:
    path = write(tmp_path / "list.csv", "label,path\nx,1.jpg\nx,2.jpg\ny,3.jpg\n")
    assert read_source(path).paths[0] == tmp_path / "1.jpg"
    assert read_source(path, Path("/elsewhere")).paths[0] == Path("/elsewhere/1.jpg")
    assert read_source(path).splits is None


def test_pairs(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pairs.csv", "left,right,similar\na.jpg,b.jpg,1\na.jpg,c.jpg,0\nc.jpg,d.jpg,1\nd.jpg,c.jpg,0\n"
    )
    source = read_source(path)
    assert source.labels is None
    assert [p.name for p in source.paths] == ["a.jpg", "b.jpg", "c.jpg"]
    assert source.pairs == [(0, 1, True), (0, 2, False)]
    assert source.notes == ["1 pairs are called both similar and dissimilar (c.jpg, d.jpg, ...): left out."]


def test_pairs_as_json_lines(tmp_path: Path) -> None:
    lines = '{"left": "a", "right": "b", "similar": true}\n{"left": "a", "right": "c", "similar": false}\n'
    assert len(read_source(write(tmp_path / "pairs.jsonl", lines)).pairs) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,label\na.jpg,\nb.jpg,x\n", "line 2: path and label must not be empty"),
        ("path, label\na.jpg,x\nb.jpg\n", "line 3: path and label must not be empty"),
        ("path,label\na.jpg,x\nb.jpg,x\n", "one class only, 'x'"),
        ("path,label\na.jpg,x\nb.jpg,y\n", "every class has a single image"),
        ("path,label,split\na.jpg,x,valid\n", "line 2: split must be train or test, got 'valid'"),
        ("path,label\n", "holds no images"),
        ("file,class\na,b\n", "has the columns class, file: it needs path, label"),
        ("", "has the columns none"),
        ("left,right,similar\na,b,1\n", "1 usable pairs, none of them dissimilar"),
        ("left,right,similar\na,b,1\nb,a,0\n", "0 usable pairs"),
        ("left,right,similar\na,a,1\n", "pair of 'a' with itself"),
        ("left,right,similar\n", "holds no pairs"),
    ],
)
def test_what_cannot_be_learned_from_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadDataset, match=message):
        read_source(write(tmp_path / "source.csv", text))


def test_folders_that_cannot_be_learned_from(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="has no class folders"):
        read_source(tmp_path)
    with pytest.raises(BadDataset, match="There is no file or folder"):
        read_source(tmp_path / "none")
    with pytest.raises(BadDataset, match="one class only"):
        read_source(make_files(tmp_path, "only/1.jpg", "only/2.jpg"))
    with pytest.raises(BadDataset, match="not a CSV file"):
        read_source(make_binary(tmp_path / "x.csv"))


def test_rows_that_are_no_utf8_are_named(tmp_path: Path) -> None:
    for name, text in (("x.csv", b"path,label\na.jpg,\xff\n"), ("y.jsonl", b'{"left": "\xff"}\n')):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(BadDataset, match="UTF-8"):
            read_source(tmp_path / name)


def make_binary(path: Path) -> Path:
    path.write_bytes(b"\xff\xfe\x00\xd8")
    return path


def test_a_lonely_image_is_noted(tmp_path: Path) -> None:
    source = read_source(make_files(tmp_path, "a/1.jpg", "a/2.jpg", "b/3.jpg"))
    assert source.notes == ["Classes with a single image teach only what is different: b."]


def digests(n: int) -> list[bytes]:
    return [hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(n)]


def test_held_out_is_a_share_of_each_class_and_keeps_copies_together() -> None:
    contents = digests(100)
    contents[1] = contents[0]
    labels = ["a"] * 60 + ["b"] * 39 + ["c"]
    mask = held_out(contents, labels, 0.2, "test")
    assert mask[0] == mask[1]
    assert (mask[:60].sum(), mask[60:99].sum(), mask[99]) in {(12, 8, False), (13, 8, False)}
    np.testing.assert_array_equal(mask, held_out(contents, labels, 0.2, "test"))
    assert (mask != held_out(contents, labels, 0.2, "validation")).any()


def test_one_content_in_two_classes_stays_on_one_side() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        contents = [digests(20)[i] for i in rng.integers(20, size=60)]
        labels = rng.choice(["a", "b", "c"], 60).tolist()
        mask = held_out(contents, labels, 0.3, "test")
        sides: dict[bytes, set[bool]] = {}
        for content, side in zip(contents, mask.tolist(), strict=True):
            sides.setdefault(content, set()).add(side)
        assert all(len(side) == 1 for side in sides.values())


def test_held_out_does_not_depend_on_the_order_of_files() -> None:
    contents = digests(50)
    order = np.random.default_rng(0).permutation(50)
    mask = held_out(contents, None, 0.3, "test")
    np.testing.assert_array_equal(held_out([contents[i] for i in order], None, 0.3, "test"), mask[order])
    assert mask.sum() == 15


def test_nothing_is_held_out_at_zero() -> None:
    assert not held_out(digests(9), ["a"] * 9, 0.0, "test").any()
