"""What `app.ports.Images` promises, on a real SQLite file and on a real PostgreSQL."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from sqlalchemy import event, update

from app.errors import StoreUnavailable, UnknownImage
from app.ports import Repository
from app.records import Fields, ImageFilter
from app.store import tables
from app.store.database import Database, open_database
from app.store.images import SqlImages
from tests.app.records import IDENTITY, NOW, add_one, features, fill, image, run_in_threads


class TestImages:
    def test_what_goes_in_comes_out(self, repository: Repository) -> None:
        stored, is_new = add_one(repository, image(1, category="cat"), features(1))
        assert is_new
        assert repository.images.get("image-1") == stored == repository.images.with_sha256(f"{1:064x}")
        assert (stored.category, stored.metadata, stored.created) == ("cat", {"nested": {"ä": [1, None, "x"]}}, NOW)
        assert stored.byte_size == 5_000_000_000
        np.testing.assert_array_equal(repository.images.features("image-1"), features(1))

    def test_the_same_bytes_again_give_the_first_one(self, repository: Repository) -> None:
        first, _ = add_one(repository, image(1), features(1))
        assert add_one(repository, image(1, id="other"), features(1)) == (first, False)
        assert repository.counts().images == 1

    def test_the_same_id_for_other_bytes_is_refused(self, repository: Repository) -> None:
        add_one(repository, image(1), features(1))
        assert repository.images.add_many([(image(1, sha256="f" * 64), features(1))]) == [None]

    def test_concurrent_adds_of_the_same_bytes_give_one_row(self, repository: Repository) -> None:
        barrier, outcomes = Barrier(8), []

        def add(number: int) -> None:
            barrier.wait()
            outcomes.append(add_one(repository, image(1, id=f"by-{number}"), features(1)))

        run_in_threads([lambda n=n: add(n) for n in range(8)])  # type: ignore[misc]
        assert [is_new for _, is_new in outcomes].count(True) == 1
        assert len({stored.seq for stored, _ in outcomes}) == 1

    def test_seqs_grow_and_are_never_given_twice(self, repository: Repository) -> None:
        first, _ = add_one(repository, image(1), features(1))
        last, _ = add_one(repository, image(2), features(2))
        repository.images.delete(last.id)
        after, _ = add_one(repository, image(3), features(3))
        assert first.seq < last.seq < after.seq

    def test_pages_cover_everything_once_in_order(self, repository: Repository) -> None:
        fill(repository, 7)
        seen, after = [], 0
        while page := repository.images.page(3, after=after):
            assert len(page) <= 3
            seen += [stored.id for stored in page]
            after = page[-1].seq
        assert seen == [f"image-{number}" for number in range(7)]

    def test_pages_of_a_category(self, repository: Repository) -> None:
        for number in range(6):
            add_one(repository, image(number, category="ab"[number % 2]), features(number))
        assert [stored.id for stored in repository.images.page(9, where=ImageFilter("b"))] == [
            "image-1",
            "image-3",
            "image-5",
        ]
        assert repository.images.page(9, where=ImageFilter("c")) == []

    def test_some_without_category(self, repository: Repository) -> None:
        rng = np.random.default_rng(0)
        assert repository.images.without_category(5, rng).tolist() == []
        called = [None if number % 3 else "cups" for number in range(60)]
        added = [add_one(repository, image(i, category=name), features(i)) for i, name in enumerate(called)]
        seqs = [stored.seq for stored, _ in added]
        free = {seq for number, seq in enumerate(seqs) if number % 3}
        assert set(repository.images.without_category(100, rng).tolist()) == free
        some = [repository.images.without_category(8, rng).tolist() for _ in range(20)]
        assert all(len(each) == 8 and free.issuperset(each) for each in some)
        assert len({seq for each in some for seq in each}) > len(free) / 2, "from several places"

    def test_with_seqs_leaves_out_what_is_gone(self, repository: Repository) -> None:
        fill(repository, 3)
        assert {seq: stored.id for seq, stored in repository.images.with_seqs([3, 99, 1]).items()} == {
            1: "image-0",
            3: "image-2",
        }

    def test_with_seqs_takes_more_than_a_database_takes_parameters(self, repository: Repository) -> None:
        fill(repository, 2)
        assert len(repository.images.with_seqs(range(100_000))) == 2

    def test_feature_blocks_hold_every_row_in_order(self, repository: Repository) -> None:
        fill(repository, 7)
        blocks = list(repository.images.feature_blocks(3))
        assert [len(block.seqs) for block in blocks] == [3, 3, 1]
        assert np.concatenate([block.seqs for block in blocks]).tolist() == list(range(1, 8))
        everything = np.concatenate([block.features for block in blocks])
        np.testing.assert_array_equal(everything, np.stack([features(number) for number in range(7)]))
        assert everything.dtype == np.float16

    def test_feature_blocks_from_somewhere_on(self, repository: Repository) -> None:
        fill(repository, 7)
        assert [block.seqs.tolist() for block in repository.images.feature_blocks(2, after=4)] == [[5, 6], [7]]

    def test_features_of_some(self, repository: Repository) -> None:
        fill(repository, 4)
        block = repository.images.features_of([4, 99, 2])
        assert block.seqs.tolist() == [2, 4]
        np.testing.assert_array_equal(block.features, np.stack([features(1), features(3)]))
        assert repository.images.features_of([]).features.shape == (0, 0)

    def test_features_by_name(self, repository: Repository) -> None:
        fill(repository, 4)
        repository.images.delete("image-1")
        names = ["image-3", "image-1", "ghost", "a\0b", "image-0"]
        found = repository.images.named_features(names + [f"none-{number}" for number in range(1000)])
        assert {name: seq for name, (seq, _) in found.items()} == {
            name: repository.images.get(name).seq for name in ("image-0", "image-3")
        }
        np.testing.assert_array_equal(found["image-3"][1], features(3))
        assert repository.images.named_features([]) == {}

    def test_features_of_another_length_are_not_given_by_name(self, repository: Repository) -> None:
        repository.claim_backbone(IDENTITY)
        add_one(repository, image(1), features(1)[:-1])
        with pytest.raises(StoreUnavailable, match="image-1"):
            repository.images.named_features(["image-1"])

    def test_many_at_once(self, repository: Repository) -> None:
        fill(repository, 1)
        rows = [
            (image(0, id="other"), features(0)),  # bytes that are there
            (image(1), features(1)),
            (image(2, id="image-0"), features(2)),  # an id that other bytes have
            (image(1, id="again"), features(1)),  # the same bytes twice in one call
            (image(3), features(3)),
        ]
        outcomes = repository.images.add_many(rows)
        assert [outcome and (outcome[0].id, outcome[1]) for outcome in outcomes] == [
            ("image-0", False), ("image-1", True), None, ("image-1", False), ("image-3", True),
        ]  # fmt: skip
        assert [stored.id for stored in repository.images.all()] == ["image-0", "image-1", "image-3"]

    def test_keys(self, repository: Repository) -> None:
        assert len(repository.images.keys().seqs) == 0
        fill(repository, 3)
        add_one(repository, image(9, sha256="fedcba9876543210" + "0" * 48), features(9))
        repository.images.delete("image-1")
        keys = repository.images.keys()
        assert keys.seqs.tolist() == [1, 3, 4]
        assert keys.fingerprints.tolist() == [0, 0, 0xFEDCBA9876543210]

    def test_keys_read_no_features(self, tmp_path: Path) -> None:
        """Of SQLite, where they lie in the rows; PostgreSQL keeps them apart."""
        asked: list[str] = []
        with open_database(tmp_path / "test.db") as database:
            event.listen(database.engine, "before_cursor_execute", lambda *all_of_it: asked.append(all_of_it[2]))
            SqlImages(database).keys()
            (query,) = (each for each in asked if "sha256" in each)
            with database.engine.connect() as connection:
                plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", (1, 16)).all())
        assert "COVERING INDEX" in plan

    def test_seqs_after(self, repository: Repository) -> None:
        fill(repository, 4)
        seqs = repository.images.keys().seqs
        repository.images.delete("image-2")
        assert repository.images.seqs_after(int(seqs[0])).tolist() == [seqs[1], seqs[3]]
        assert repository.images.seqs_after(int(seqs[3])).tolist() == []

    def test_which_bytes_are_there(self, repository: Repository) -> None:
        fill(repository, 2)
        wanted = {f"{number:064x}" for number in range(1, 1000)}
        assert repository.images.stored_among(wanted) == {f"{1:064x}"}

    def test_blobs_are_originals_and_thumbnails(self, repository: Repository) -> None:
        stored, _ = add_one(repository, image(1, thumbnail="a" * 64), features(1))
        names = [f"{1:064x}", "a" * 64, "b" * 64]
        assert repository.images.blobs_named(names) == set(names[:2])
        repository.images.set_thumbnail(stored.seq, "b" * 64)
        assert repository.images.blobs_named(names) == {names[0], names[2]}
        assert repository.images.get(stored.id).thumbnail == "b" * 64

    def test_update_gives_other_fields_and_the_time(self, repository: Repository) -> None:
        before, _ = add_one(repository, image(1, category="a"), features(1))
        later = NOW + timedelta(hours=1)
        after = repository.images.update("image-1", lambda _: Fields("b", {"n": 1}), later)
        assert after == replace(before, category="b", metadata={"n": 1}, updated=later)
        assert repository.images.get("image-1") == after

    def test_an_update_that_fails_changes_nothing(self, repository: Repository) -> None:
        before, _ = add_one(repository, image(1), features(1))
        with pytest.raises(ZeroDivisionError):
            repository.images.update("image-1", lambda _: Fields("x", {"n": 1 // 0}), NOW)
        assert repository.images.get("image-1") == before

    def test_updates_from_many_threads_all_count(self, repository: Repository) -> None:
        add_one(repository, image(1, metadata={"n": 0}), features(1))

        def count() -> None:
            repository.images.update("image-1", lambda now: Fields(None, {"n": now.metadata["n"] + 1}), NOW)

        run_in_threads([count] * 12)
        assert repository.images.get("image-1").metadata == {"n": 12}

    def test_features_of_another_length_are_listed_and_replaced(
        self, repository: Repository, database: Database
    ) -> None:
        fill(repository, 3)
        assert repository.images.with_damaged_features() == []  # nobody has said how long they should be
        repository.claim_backbone(IDENTITY)
        with database.writing() as connection:
            connection.execute(update(tables.images).where(tables.images.c.id == "image-1").values(features=b"x"))
        assert repository.images.with_damaged_features() == ["image-1"]
        repository.images.replace_features("image-1", features(1))
        assert repository.images.with_damaged_features() == []
        assert repository.images.features("image-1").tolist() == features(1).tolist()

    @pytest.mark.parametrize("image_id", ["nobody", "no\0body", ""])
    @pytest.mark.parametrize("method", ["get", "features", "delete", "update", "replace_features"])
    def test_unknown_id(self, repository: Repository, method: str, image_id: str) -> None:
        rest = {"update": (lambda _: Fields(None, {}), NOW), "replace_features": (features(1),)}.get(method, ())
        with pytest.raises(UnknownImage, match=re.escape(repr(image_id))):
            getattr(repository.images, method)(image_id, *rest)
        assert repository.images.find(image_id) is None
