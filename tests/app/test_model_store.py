"""What `app.ports.Models` promises, and the collection's backbone, on both engines."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import update

from app.errors import BackboneMismatch, ModelInUse, UnknownModel
from app.ports import Repository
from app.records import NewImage, QueryRecord
from app.store import tables
from app.store.database import Database
from embedding.backbone_identity import BackboneIdentity, Preprocessing
from tests.app.records import add_one

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TICK = timedelta(microseconds=1)
FEATURES = np.ones(6, np.float16)


def identity(name: str = "net", D: int = 6) -> BackboneIdentity:
    return BackboneIdentity(name, "0" * 64, D, Preprocessing(8, 1.0, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), "bicubic"))


def add_image(repository: Repository, number: int) -> None:
    image = NewImage(f"image-{number}", f"{number:064x}", "image/png", 3, 4, 5, None, {}, NOW)
    add_one(repository, image, FEATURES)


class TestModels:
    def register(self, repository: Repository, *versions: str) -> None:
        for age_s, version in enumerate(versions):
            repository.models.register(version, {"D": 1}, version.encode(), NOW + timedelta(seconds=age_s))

    def test_at_most_one_is_active(self, repository: Repository) -> None:
        assert repository.models.active_version() is None
        self.register(repository, "old", "new")
        for version in ("old", "new", "old"):
            repository.models.activate(version, NOW)
            assert repository.models.active_version() == version
            assert [m.version for m in repository.models.all() if m.active] == [version]

    def test_activating_an_unknown_one_leaves_the_active_one(self, repository: Repository) -> None:
        self.register(repository, "old")
        repository.models.activate("old", NOW)
        with pytest.raises(UnknownModel, match="'new'"):
            repository.models.activate("new", NOW)
        assert repository.models.active_version() == "old"

    def test_registering_again_changes_nothing(self, repository: Repository) -> None:
        self.register(repository, "v")
        repository.models.activate("v", NOW)
        self.register(repository, "v")
        assert repository.models.artifact("v") == b"v"
        assert repository.models.get("v").active

    def test_damaged_bytes_are_replaced_by_registering_again(self, repository: Repository, database: Database) -> None:
        self.register(repository, "v")
        repository.models.activate("v", NOW)
        with database.writing() as connection:
            connection.execute(update(tables.models).values(artifact=b"?", manifest={}))
        self.register(repository, "v")
        assert repository.models.artifact("v") == b"v"
        assert repository.models.get("v").manifest == {"D": 1}
        assert repository.models.get("v").active

    def test_newest_first(self, repository: Repository) -> None:
        self.register(repository, "a", "b", "c")
        assert [model.version for model in repository.models.all()] == ["c", "b", "a"]

    @pytest.mark.parametrize("method", ["get", "artifact", "delete", "report"])
    def test_unknown_version(self, repository: Repository, method: str) -> None:
        with pytest.raises(UnknownModel, match="'x'"):
            getattr(repository.models, method)("x")

    def test_the_order_of_activations_outlives_a_clock_that_goes_back(self, repository: Repository) -> None:
        self.register(repository, "a", "b", "c")
        assert repository.models.former() is None
        for age_s, (version, former) in enumerate([("a", None), ("b", "a"), ("c", "b"), ("a", "c"), ("b", "a")]):
            repository.models.activate(version, NOW - timedelta(seconds=age_s))
            assert repository.models.former() == former
        times = {model.version: model.activated for model in repository.models.all()}
        assert times == {"c": NOW + 2 * TICK, "a": NOW + 3 * TICK, "b": NOW + 4 * TICK}

    def test_activating_the_active_one_again_is_no_activation(self, repository: Repository) -> None:
        self.register(repository, "a", "b")
        for age_s, version in enumerate("abb"):
            repository.models.activate(version, NOW + timedelta(seconds=age_s))
        assert repository.models.get("b").activated == NOW + timedelta(seconds=1)
        assert repository.models.former() == "a"

    def test_a_deleted_one_is_gone_with_its_report(self, repository: Repository) -> None:
        self.register(repository, "a", "b")
        repository.models.activate("a", NOW)
        repository.models.put_report("b", "<p>1", NOW)
        with pytest.raises(ModelInUse, match="Model a is active"):
            repository.models.delete("a")
        repository.models.delete("b")
        assert [model.version for model in repository.models.all()] == ["a"]
        self.register(repository, "b")
        assert repository.models.report("b") is None

    def test_a_model_has_one_report(self, repository: Repository) -> None:
        self.register(repository, "a", "b")
        for html in ("<p>1", "<p>2 \u00e9"):
            repository.models.put_report("a", html, NOW)
            assert repository.models.report("a") == html
        assert {model.version: model.has_report for model in repository.models.all()} == {"a": True, "b": False}
        assert repository.models.get("a").has_report
        with pytest.raises(UnknownModel):
            repository.models.put_report("x", "<p>", NOW)


class TestBackbone:
    def test_the_same_one_may_come_again(self, repository: Repository) -> None:
        repository.claim_backbone(identity())
        add_image(repository, 1)
        repository.claim_backbone(identity())

    def test_another_one_may_come_while_nothing_is_stored(self, repository: Repository) -> None:
        repository.claim_backbone(identity("one"))
        repository.queries.add(QueryRecord("q_1", NOW, NOW), FEATURES)  # nobody named it: it is dropped
        repository.claim_backbone(identity("two"))
        assert repository.counts().queries == 0

    def test_another_one_is_refused_by_name_and_number(self, repository: Repository) -> None:
        repository.claim_backbone(identity("one", D=6))
        add_image(repository, 1)
        add_image(repository, 2)
        with pytest.raises(BackboneMismatch, match=r"2 images and 0 queries from backbone one-.*D = 6.*two-.*D = 7"):
            repository.claim_backbone(identity("two", D=7))
        repository.claim_backbone(identity("one", D=6))
