"""What `app.ports.Repository` promises, on a real SQLite file and on a real PostgreSQL."""

from datetime import timedelta

from app.ports import Repository
from app.records import Counts
from embedding.pairs import Pair
from tests.app.records import IDENTITY, NOW, call, features, fill, given_pairs, query


class TestQueries:
    def test_features_of_queries_until_they_expire(self, repository: Repository) -> None:
        for number in range(3):
            repository.queries.add(query(number, NOW + timedelta(seconds=number)), features(number))
        found = repository.queries.named_features(["q_2", "q_1", "ghost", "a\0b"], NOW + timedelta(seconds=1))
        assert {name: each.tolist() for name, each in found.items()} == {"q_2": features(2).tolist()}
        assert repository.queries.named_features([], NOW) == {}

    def test_purge_takes_the_expired_that_nobody_named(self, repository: Repository) -> None:
        fill(repository, 1)
        for number, lifetime_s in enumerate([1, 1, 1, 100]):
            repository.queries.add(query(number, NOW + timedelta(seconds=lifetime_s)), features(number))
        named = [Pair("image-0", "q_0", True), Pair("q_1", "image-0", False)]
        repository.pairs.record(named, call("f"))
        assert repository.queries.purge(NOW + timedelta(seconds=50)) == 1
        assert repository.counts() == Counts(images=1, queries=3, pairs=2, verdicts=2)

    def test_purge_takes_those_whose_verdicts_were_taken_back_with_them(self, repository: Repository) -> None:
        fill(repository, 1)
        for number in range(2):
            repository.queries.add(query(number, NOW + timedelta(seconds=1)), features(number))
        repository.pairs.record([Pair("image-0", "q_0", True)], call("kept", by="a"))
        for id_, similar in [("one", True), ("two", False)]:
            repository.pairs.record([Pair("image-0", f"q_{number}", similar) for number in range(2)], call(id_, by="b"))
            assert repository.pairs.undo(id_, NOW) == 2
        later = NOW + timedelta(seconds=50)
        assert repository.queries.purge(later) == 1
        assert {(each.right, each.feedback_id) for each in given_pairs(repository)} == {
            ("q_0", "kept"), ("q_0", "one"), ("q_0", "two"),
        }  # fmt: skip
        assert repository.pairs.undo("kept", later) == 1
        assert repository.queries.purge(later) == 1
        assert list(repository.pairs.given()) == []


class TestItself:
    def test_it_answers_and_finds_nothing_wrong(self, repository: Repository) -> None:
        fill(repository, 2)
        repository.ping()
        repository.forget_deleted()
        assert repository.damage() == []

    def test_the_backbone_is_remembered(self, repository: Repository) -> None:
        assert repository.backbone() is None
        repository.claim_backbone(IDENTITY)
        assert repository.backbone() == IDENTITY
