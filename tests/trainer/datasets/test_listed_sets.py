"""Sets whose own files say which image is what: their splits are honoured, and odd files are refused."""

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from scipy.io import savemat

from tests.trainer.datasets.layouts import cells, cub200, flowers102, hat, voc2007, write
from trainer.box import Box, cut_out
from trainer.dataset import Source
from trainer.datasets.registry import read_named
from trainer.errors import BadDataset


def rows(source: Source) -> list[tuple[str, str, str]]:
    names = [path.name for path in source.paths]
    return list(zip(names, source.labels or [], source.splits or [], strict=True))


def test_flowers_learns_from_training_and_validation_part(tmp_path: Path) -> None:
    assert rows(read_named("flowers102", flowers102(tmp_path))) == [
        ("image_00001.jpg", "001", "train"),
        ("image_00002.jpg", "001", "test"),
        ("image_00003.jpg", "002", "train"),
        ("image_00004.jpg", "002", "test"),
        ("image_00005.jpg", "102", "train"),
        ("image_00006.jpg", "102", "test"),
    ]


def test_flowers_in_no_part_are_left_out(tmp_path: Path) -> None:
    source = read_named("flowers102", flowers102(tmp_path, tstid=[2, 4]))
    assert source.notes[:2] == [
        "The set has 6 images; as published it has 8189.",
        "1 images are in no part of setid.mat: left out.",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tstid": [2, 7]}, "setid.mat: expected whole numbers from 1 to 6 in tstid, got 7"),
        ({"valid": [0]}, "from 1 to 6 in valid, got 0"),
        ({"valid": [1.5]}, "in valid, got 1.5"),
        ({"tstid": [2, 3]}, r"lists .*image_00003\.jpg twice: an image can be in one part only"),
        ({"tstid": []}, "no images in its test part"),
        ({"trnid": ["a"]}, "expected numbers in trnid"),
        ({"labels": [1, np.nan]}, "imagelabels.mat: expected whole numbers from 1 in labels, got nan"),
    ],
)
def test_flowers_with_odd_numbers(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(BadDataset, match=message):
        read_named("flowers102", flowers102(tmp_path, **change))


def test_damaged_and_foreign_mat_files(tmp_path: Path) -> None:
    path = flowers102(tmp_path) / "setid.mat"
    good = path.read_bytes()
    for content in (b"", b"no MATLAB file", good[:150], b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"):
        path.write_bytes(content)
        with pytest.raises(BadDataset, match=r"setid\.mat is not a MATLAB file .*Unpack the set again"):
            read_named("flowers102", tmp_path)
    savemat(path, {"trnid": [1], "other": [2]})
    with pytest.raises(BadDataset, match="has no valid, tstid: expected trnid, valid, tstid, got other, trnid"):
        read_named("flowers102", tmp_path)


def test_birds_have_their_split_and_class_names(tmp_path: Path) -> None:
    source = read_named("cub200", cub200(tmp_path))
    assert rows(source) == [
        ("A_1.jpg", "001.Albatross", "test"),
        ("A_2.jpg", "001.Albatross", "train"),
        ("B_1.jpg", "002.Blue_Jay", "train"),
        ("B 2.jpg", "002.Blue_Jay", "test"),
    ]
    assert source.paths[0] == tmp_path / "images" / "001.Albatross" / "A_1.jpg"
    assert source.notes == ["The set has 4 images; as published it has 11788."]


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("images.txt", ["1 a.jpg", "2"], r"images\.txt, line 2: expected image id and file name, got '2'"),
        ("images.txt", ["1 a.jpg", "", "1 b.jpg"], "line 3: '1' is listed twice"),
        ("images.txt", [""], "is empty: expected lines of image id and file name"),
        ("images.txt", ["1 a.jpg"], r"labels\.txt lists 4 images and .*images\.txt 1: .* '2' is in one of them only"),
        ("train_test_split.txt", ["1 0", "2 1", "3 1", "5 0"], r"split\.txt lists 4 .* 4: .* '4' is in one"),
        ("train_test_split.txt", ["1 2"], r"line 1: expected image id and mark of training \(0, 1\), got '1 2'"),
        ("image_class_labels.txt", ["1 1", "2 3", "3 1", "4 1"], "names class 3, which classes.txt does not have"),
    ],
)
def test_birds_with_odd_lists(tmp_path: Path, name: str, lines: list[str], message: str) -> None:
    write(cub200(tmp_path) / name, *lines)
    with pytest.raises(BadDataset, match=message):
        read_named("cub200", tmp_path)


def test_lists_that_are_no_text(tmp_path: Path) -> None:
    (cub200(tmp_path) / "classes.txt").write_bytes(b"1 \xff\n")
    with pytest.raises(BadDataset, match=r"classes\.txt is not text in UTF-8.*Unpack"):
        read_named("cub200", tmp_path)


def test_voc_joins_the_classes_that_are_surely_there(tmp_path: Path) -> None:
    source = read_named("voc2007", voc2007(tmp_path))
    assert rows(source) == [
        ("000005.jpg", "cat|dog", "train"),
        ("000007.jpg", "cat", "train"),
        ("000009.jpg", "horse", "train"),  # its dog is difficult
        ("000001.jpg", "dog|horse", "test"),
        ("000003.jpg", "cat", "test"),
    ]
    assert source.notes == [
        "The set has 7 images; as published it has 9963.",
        "2 images show no class but difficult ones: left out.",
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["000001 1", "000002 2"], r"sofa_test\.txt, line 2: expected image and mark \(-1, 0, 1\), got '000002 2'"),
        (["000001 1"], r"sofa_test\.txt lists 1 images and .*aeroplane_test\.txt 3: .*'000002' is in one of them"),
        (["000001"], "line 1: expected image and mark"),
    ],
)
def test_voc_with_odd_lists(tmp_path: Path, lines: list[str], message: str) -> None:
    write(voc2007(tmp_path) / "ImageSets/Main/sofa_test.txt", *lines)
    with pytest.raises(BadDataset, match=message):
        read_named("voc2007", tmp_path)


def test_voc_without_the_test_archive(tmp_path: Path) -> None:
    for path in (voc2007(tmp_path) / "ImageSets/Main").glob("*_test.txt"):
        path.unlink()
    with pytest.raises(
        BadDataset, match=r"has no .*boat_test\.txt.* and 15 more\. Expected: .*VOCtest_06-Nov-2007\.tar"
    ):
        read_named("voc2007", tmp_path)


def test_hat_has_every_human_with_its_own_box_attributes_and_part(tmp_path: Path) -> None:
    source = read_named("hat", hat(tmp_path))
    assert rows(source) == [
        ("a.jpg", "female|run", "train"),
        ("b.jpg", "female", "train"),
        ("b.jpg", "young", "train"),
        ("d.jpg", "run", "test"),
        ("d.jpg", "female", "train"),
        ("e.jpg", "female|young", "test"),
    ]
    # Corners (21, 2), (25.4, 9.5) counted from 1 with the last pixel: columns 20 to 24 and rows 1 to 9 counted from 0.
    assert source.boxes is not None
    assert source.boxes[0] == Box(20, 1, 25, 10)
    assert [box.left for box in source.boxes if box] == [20, 0, 10, 40, 50, 60]
    assert source.notes == [
        "The set has 8 humans; as published it has 9344.",
        "1 humans are in no part of anno.mat: left out.",
        "1 pictures show humans of both parts.",
        "1 humans have no attribute that is surely there: left out.",
    ]


def corners(*values: float) -> object:
    return np.array([[1.0, 2, 30, 40, 0]] * 7 + [[*values, 0]]) + [[i, 0, i, 0, 0] for i in range(8)]


def matlab_crop(picture: npt.NDArray[np.int64], x1: float, y1: float, x2: float, y2: float) -> npt.NDArray[np.int64]:
    """imcrop(I, [x1 y1 x2-x1 y2-y1]): rows and columns are found one by one, as MATLAB counts."""
    height, width = picture.shape
    kept = [
        [n for n in range(1, side + 1) if matlab_round(first) <= n <= matlab_round(last)]
        for side, first, last in ((height, y1, y2), (width, x1, x2))
    ]
    return picture[np.ix_([n - 1 for n in kept[0]], [n - 1 for n in kept[1]])]


def matlab_round(value: float) -> int:
    return int(Decimal(value).quantize(Decimal(1), ROUND_HALF_UP))


@pytest.mark.parametrize(
    "box", [(1, 1, 8, 6), (2.5, 1.49, 4.5, 3.51), (-0.5, -3, 5, 99), (-1.5, 0.5, 2, 2), (8, 6, 9, 7), (3, 3, 3.2, 3.1)]
)
def test_hat_cuts_out_what_the_authors_cut_out(tmp_path: Path, box: tuple[float, float, float, float]) -> None:
    rng = np.random.default_rng(0)
    objbbs = np.vstack([np.column_stack([np.arange(7), np.ones(7), np.full((7, 2), 50), np.ones(7)]), [[*box, 1]]])
    source = read_named("hat", hat(tmp_path, objbbs=objbbs, testidx=[[5.0, 7.0, 8.0]]))
    assert source.boxes is not None
    picture = rng.integers(256, size=(6, 8))
    cut = cut_out(Image.fromarray(picture.astype(np.uint8)), source.boxes[-1])
    np.testing.assert_array_equal(np.asarray(cut), matlab_crop(picture, *box))


def test_hat_with_one_human_twice(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match=r"lists .*b\.jpg \(0, 1\)-\(4, 9\) twice: an image can be in one part"):
        read_named("hat", hat(tmp_path, objbbs=np.array([[1.0, 2, 4, 9, 0]] * 8)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"drop": "validx"},
            "anno.mat has no validx: expected classes, files, objbbs, y, trainidx, validx, testidx, got",
        ),
        ({"y": np.ones((2, 8))}, r"expected anno\.y of 3 x 8 \(classes x files\), got \(2, 8\)"),
        ({"y": np.ones((8, 3))}, r"expected anno\.y of 3 x 8 \(classes x files\), got \(8, 3\)"),
        ({"y": np.full((3, 8), 2.0)}, r"expected -1, 0 and 1 in anno\.y, got 2"),
        ({"y": cells(["a", "bc"])}, r"expected numbers in anno\.y"),
        ({"drop": "objbbs"}, "anno.mat has no objbbs: expected classes, files, objbbs, y"),
        ({"objbbs": np.ones((5, 8))}, r"expected anno\.objbbs of 8 x 5 \(humans x numbers\), got \(5, 8\)"),
        ({"objbbs": np.ones((8, 5))}, r"corners x1, y1, x2, y2 with x1 < x2 and .* got 1, 1, 1, 1 for human 1\."),
        ({"objbbs": corners(30, 9, 20, 15)}, r"in anno\.objbbs, got 37, 9, 27, 15 for human 8\."),  # width and height
        ({"objbbs": corners(1, 9, 20, 9)}, "got 8, 9, 27, 9 for human 8"),
        ({"objbbs": corners(1, 2, 20, np.inf)}, "got 8, 2, 27, inf for human 8"),
        ({"objbbs": corners(np.nan, 2, 20, 30)}, "got nan, 2, 27, 30 for human 8"),
        ({"objbbs": cells(["1 2 3 4"] * 8)}, r"expected numbers in anno\.objbbs"),
        ({"testidx": [[5.0, 9.0]]}, r"from 1 to 8 in anno\.testidx, got 9"),
        ({"testidx": [[3.0, 5.0]]}, r"human 3 is in two parts or twice in anno\.testidx"),
        ({"classes": cells(["a|b", "c", "d"])}, r"expected attributes without '\|', got 'a\|b'"),
        ({"files": cells(["a.jpg", 3.0])}, r"expected texts in anno\.files, got 3"),
    ],
)
def test_hat_with_odd_annotation(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(BadDataset, match=message):
        read_named("hat", hat(tmp_path, **change))  # type: ignore[arg-type]


def test_hat_whose_anno_is_no_structure(tmp_path: Path) -> None:
    savemat(hat(tmp_path) / "anno.mat", {"anno": [1.0, 2.0]})
    with pytest.raises(BadDataset, match=r"anno\.mat has no classes, files, objbbs, y, .* got none"):
        read_named("hat", tmp_path)
