from pathlib import Path

import pytest

from embedding.errors import BadPairs
from embedding.pairs import Group, Pair, contradictions, read_pairs, write_pairs

PAIRS = [Pair("a", "b", True), Pair("b", 'c/ü, "x".jpg', False)]


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    write_pairs(tmp_path / name, PAIRS)
    assert read_pairs(tmp_path / name) == PAIRS


@pytest.mark.parametrize(("word", "similar"), [("1", True), ("TRUE", True), ("0", False), ("-1", False), ("+1", True)])
def test_words_for_similar(tmp_path: Path, word: str, similar: bool) -> None:
    (tmp_path / "p.csv").write_text(f"left,right,similar\na,b,{word}\n")
    assert read_pairs(tmp_path / "p.csv") == [Pair("a", "b", similar)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "left,right,similar\na,b,maybe\n", "line 2: similar must be 1 or 0.*'maybe'"),
        ("p.csv", "left,right,similar\na,a,1\n", "line 2: A pair of 'a' with itself"),
        ("p.csv", "left,right,similar\n,a,1\n", "line 2: A pair needs two ids"),
        ("p.csv", "left,similar\na,1\n", "line 2: the field 'right' is missing"),
        ("p.csv", "left,right,similar\n", "holds no pairs"),
        ("p.jsonl", '{"left": "a", "right": "b", "similar": true}\n{"left": "a"}\n', "line 2: the field 'right'"),
        ("p.jsonl", '[1]\n', "line 1"),
        ("p.jsonl", '{"left": null, "right": "b", "similar": true}\n', "line 1: an id is a text, got None"),
        ("p.csv", "left,right,similar\na\n", "line 2: an id is a text, got None"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadPairs, match=message):
        read_pairs(tmp_path / name)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"left": "a", "right": "b", "similar": true}\n{nonsense\n')
    with pytest.raises(BadPairs, match="line 2"):
        read_pairs(tmp_path / "p.jsonl")


def test_contradictions_are_found_whatever_the_order() -> None:
    assert contradictions([*PAIRS, Pair("b", "a", False)]) == {("a", "b")}
    assert contradictions([*PAIRS, Pair("b", "a", True)]) == set()


def test_what_a_group_says_of_each_two() -> None:
    group = Group(("a", "b", "c"), ("x", "y"))
    similar, dissimilar = {("a", "b"), ("a", "c"), ("b", "c")}, {(s, d) for s in "abc" for d in "xy"}
    assert {(pair.left, pair.right) for pair in group.pairs if pair.similar} == similar
    assert {(pair.left, pair.right) for pair in group.pairs if not pair.similar} == dissimilar
    assert group.pair_count == len(group.pairs) == 9
    assert Group(("a",), ("x",)).pairs == [Pair("a", "x", False)]


@pytest.mark.parametrize(
    ("same", "different", "message"),
    [
        (("a", "b", "a"), (), "'a' is in a group twice"),
        (("a", "b"), ("x", "x"), "'x' is in a group twice"),
        (("a", "b"), ("b",), "'b' is in both parts of a group"),
        (("a",), (), "says nothing"),
        ((), ("a", "b"), "says nothing"),
        ((), (), "says nothing"),
        (("a", ""), (), "one is empty"),
    ],
)
def test_a_group_that_says_nothing_or_contradicts_itself(
    same: tuple[str, ...], different: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadPairs, match=message):
        Group(same, different)
