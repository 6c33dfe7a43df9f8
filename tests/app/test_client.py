"""The Python clients against the real service: every method of both, in the order in which a user would call them."""

import inspect
import io
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import app.client
from app.client import (
    AsyncSamekind,
    Box,
    Conflict,
    File,
    Forbidden,
    Group,
    ImageQuery,
    InvalidRequest,
    LearnResult,
    NotFound,
    Samekind,
    StillRunning,
    TrainingHeader,
    TrainingImage,
    TrainingPair,
    TrainingQuery,
    Unauthenticated,
    Upload,
    Verdict,
    error_of,
)
from app.client.calls import add_images
from app.contract.answers import GivenGroup, GivenVerdict
from embedding.model_file import Model
from tests.app.clients import CLIENTS, Connect
from tests.app.conftest import Draw
from tests.app.models import compared, comparison
from tests.app.test_serve import run, serving


@dataclass
class Service:
    """One that runs, with a key for each role, and a folder for imports."""

    url: str
    keys: dict[str, str]
    imports: Path


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, model: Model, save: Callable[[Model], Path]) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("client")
    data, imports = folder / "data", folder / "imports"
    imports.mkdir()
    keys = {
        role: run("keys", "create", "--name", role, "--role", role, "--data-dir", str(data)).stdout.strip()
        for role in ("reader", "admin")
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMEKIND_IMPORT_DIR", str(imports))
        with serving(data, "--model", str(save(model))) as (_process, client):
            yield Service(str(client.base_url), keys, imports)


@pytest.fixture(params=CLIENTS)
def connect(request: pytest.FixtureRequest) -> Connect:
    return CLIENTS[request.param]


@pytest.fixture
def client(service: Service, connect: Connect) -> Iterator[Samekind]:
    """Each test begins with an empty collection."""
    with connect(service.url, key=service.keys["admin"]) as client:
        for image in list(client.images()):
            client.delete_image(image.id)
        yield client


def test_images_come_go_and_change(client: Samekind, draw: Draw, tmp_path: Path) -> None:
    (tmp_path / "cup.png").write_bytes(draw(1))
    first = client.add_image(tmp_path / "cup.png", id="first", category="cups", metadata={"shelf": 7})
    assert (first.id, first.category, first.metadata) == ("first", "cups", {"shelf": 7})
    assert client.add_image(str(tmp_path / "cup.png")) == first  # the same bytes
    second = client.add_image(io.BytesIO(draw(2)))
    assert client.image(second.id) == second
    assert [image.id for image in client.images(page_size=1)] == ["first", second.id]
    assert [image.id for image in client.images(category="cups", metadata={"shelf": 7})] == ["first"]
    assert list(client.images(metadata={"shelf": 8})) == []
    assert client.image_file("first") == draw(1)
    assert client.thumbnail("first").startswith(b"\xff\xd8")
    changed = client.change_image("first", category=None, metadata={"shelf": 8})
    assert (changed.category, changed.metadata) == (None, {"shelf": 8})
    client.delete_image("first")
    with pytest.raises(NotFound) as caught:
        client.image("first")
    assert caught.value.code == "unknown_image"
    assert caught.value.request_id


def test_many_images_give_a_result_each(client: Samekind, draw: Draw) -> None:
    known = client.add_image(draw(100))
    new: list[Upload | File] = [Upload(draw(101), id="first", metadata={"n": 0}), b"no picture", draw(102)]
    results = list(client.add_images([*new, *[draw(100)] * 63]))  # two batches
    assert [result.status for result in results] == [201, 415, 201, *[200] * 63]
    assert results[0].image is not None
    assert (results[0].image.id, results[0].image.metadata) == ("first", {"n": 0})
    assert results[1].problem is not None
    assert isinstance(error_of(results[1].problem), InvalidRequest)
    assert all(result.image == known for result in results[3:])
    assert client.stats().images == 3
    assert (client.categories().categories, client.categories().without) == ([], 3)
    assert list(client.add_images([])) == []


def test_searches_of_every_kind(client: Samekind, draw: Draw) -> None:
    for seed, category in enumerate(["cups", "cups", "hats", "hats"]):
        client.add_image(draw(seed), id=f"i{seed}", category=category, metadata={"n": seed})
    assert [(each.name, each.images) for each in client.categories().categories] == [("cups", 2), ("hats", 2)]
    assert {point.id: point.category for point in client.collection_map().points}["i3"] == "hats"
    assert len(client.collection_map(limit=1).points) == 1
    answer = client.search(draw(0), k=3)
    assert [answer.k, len(answer.neighbours), answer.neighbours[0].id] == [3, 3, "i0"]
    assert answer.category is not None
    assert client.search(draw(0), k=1, offset=1).neighbours[0].id == answer.neighbours[1].id
    filtered = client.search(draw(0), category="hats", metadata={"n": 3}, explain=True).neighbours
    assert [(each.id, each.explanation is not None) for each in filtered] == [("i3", True)]
    assert [each.id for each in client.search(draw(0), max_squared_distance=0.0).neighbours] == ["i0"]
    assert client.search(draw(0), crop=Box(left=0.5)).neighbours[0].squared_distance > 0
    assert "i1" not in {each.id for each in client.search_by_id("i1").neighbours}
    assert client.search_by_id("i1", crop=Box(top=0.5), k=1).k == 1
    found = {each.id for each in client.search_by_examples(["i0", "i1"], negatives=["i2"]).neighbours}
    assert found == {"i3"}
    with pytest.raises(InvalidRequest) as caught:
        client.search_by_url("https://example.com/cup.jpg", k=1)
    assert caught.value.code == "fetch_refused"


def test_many_searches_in_one_call(client: Samekind, draw: Draw) -> None:
    client.add_image(draw(1), id="one")
    queries = [ImageQuery(by="image", image_id=name, crop=Box(right=0.5)) for name in ("one", "nobody")]
    good, bad = client.search_batch(queries).results
    assert good.answer is not None
    assert bad.problem is not None
    assert isinstance(error_of(bad.problem), NotFound)
    results = client.search_files([draw(1), draw(2)], k=1, crop=Box()).results
    assert [each.answer and each.answer.neighbours[0].id for each in results] == ["one", "one"]


def test_verdicts_come_back_and_are_learned_from(client: Samekind, draw: Draw) -> None:
    client.add_image(draw(0), id="i0", category="cups")
    client.add_image(draw(1), id="i1")
    query_id = client.search(draw(5)).query_id
    assert query_id is not None
    verdict = Verdict(left=query_id, right="i1", similar=False)
    pairs: list[Verdict | tuple[str, str, bool]] = [("i0", "i1", True), verdict]
    assert [{each.left.id, each.right.id} for each in client.suggestions(count=3).suggestions] == [{"i0", "i1"}]
    given_now = client.give_feedback(pairs, source="tests")
    assert (given_now.recorded, given_now.unchanged) == (2, 0)
    assert client.give_feedback(iter(pairs)).unchanged == 2
    assert client.suggestions().suggestions == []
    given = {(frozenset({each.left, each.right}), each.similar) for each in client.feedback()}
    assert given == {(frozenset({"i0", "i1"}), True), (frozenset({query_id, "i1"}), False)}
    assert [(each.feedback_id, each.source) for each in client.feedback_history()] == [
        (given_now.feedback_id, "tests")
    ] * 2
    header, *records = client.training_set()
    assert isinstance(header, TrainingHeader)
    assert [type(record) for record in records] == [
        TrainingImage,
        TrainingImage,
        TrainingQuery,
        TrainingPair,
        TrainingPair,
    ]
    assert isinstance(records[0], TrainingImage)
    assert (records[0].id, records[0].category) == ("i0", "cups")
    features = struct.unpack(f"<{header.feature_dim}e", records[0].features)
    assert sum(features) > 0
    assert isinstance(records[-1], TrainingPair)
    assert records[-1].seq == header.last_pair > 0
    new = client.stats().new
    assert (new.verdicts, new.agreeing, new.categories, new.total) == (2, 0, 1, 3)
    assert (header.format, header.last_category > 1) == (2, True)
    assert len(records[0].sha256) == 64
    assert given_now.feedback_id is not None
    assert [client.undo_feedback(given_now.feedback_id).undone for _ in range(2)] == [2, 0]
    assert list(client.feedback()) == []
    assert [each.undone is None for each in client.feedback_history()] == [False, False]


def test_groups_come_back_as_one_verdict(client: Samekind, draw: Draw) -> None:
    for seed in range(5):
        client.add_image(draw(10 + seed), id=f"g{seed}")
    group = Group(same=["g0", "g1"], different=["g4"])
    given_now = client.give_feedback([("g3", "g4", True)], groups=[group, (("g1", "g2"), ())])
    assert (given_now.recorded, given_now.groups, given_now.groups_unchanged) == (1, 2, 0)
    assert client.give_feedback(groups=[group]).groups_unchanged == 1
    first, second, third = client.feedback_history()
    assert isinstance(first, GivenVerdict)
    assert isinstance(second, GivenGroup)
    assert isinstance(third, GivenGroup)
    assert (second.same, second.different, third.same, third.different) == (["g0", "g1"], ["g4"], ["g1", "g2"], [])
    assert given_now.feedback_id is not None
    assert client.undo_feedback(given_now.feedback_id).undone == 3


def test_models_and_the_jobs_that_activate_them(
    client: Samekind, model: Model, other_model: Model, save: Callable[[Model], Path]
) -> None:
    assert client.upload_model(save(other_model)).version == other_model.version
    assert {model.version, other_model.version} <= {each.version for each in client.models()}
    assert client.model(model.version).manifest["D"] == model.metric.feature_dim
    assert client.model_file(model.version) == model.to_bytes()
    for each in (other_model, model):
        assert client.wait_for_job(client.activate(each.version).id, timeout=300).state == "done"
        assert client.ready().model == client.stats().model == each.version
    for job in (client.rollback(), client.activate(model.version, force=True)):
        assert client.wait_for_job(job.id, timeout=300).state == "done"
    client.put_report(other_model.version, "<p>caf\u00e9".encode())
    assert client.report(other_model.version) == "<p>caf\u00e9"
    client.delete_model(other_model.version)
    even = client.upload_model(compared(model, comparison("even")).to_bytes())
    assert even.comparison is not None
    assert even.comparison.model_dump(mode="json") == comparison("even")


def test_jobs_are_started_watched_and_cancelled(client: Samekind, service: Service, draw: Draw) -> None:
    (service.imports / "list.csv").write_text("path\ncup.png\nbroken.png\n")
    (service.imports / "cup.png").write_bytes(draw(7))
    (service.imports / "broken.png").write_bytes(b"no picture")
    job = client.wait_for_job(client.start_import("list.csv").id, poll=0.05, timeout=300)
    assert (job.state, job.failed) == ("done", 1)
    (failure,) = client.job_failures(job.id)
    assert failure.code == "unsupported_image"
    reindexed = client.reindex()
    assert client.wait_for_job(reindexed.id, timeout=300) == client.job(reindexed.id) == client.cancel_job(reindexed.id)
    assert [each.id for each in client.jobs(page_size=1)][-2:] == [job.id, reindexed.id]


def test_learning_is_asked_for_and_done_by_a_trainer(client: Samekind) -> None:
    """This client is the trainer too."""
    job = client.learn(force=True)
    assert client.learn() == job
    claimed = client.claim_job()
    assert claimed is not None
    assert (claimed.id, claimed.force) == (job.id, True)
    assert client.claim_job() is client.claim_job(new=True) is None
    assert client.report_progress(claimed.id, claimed.lease, "learning", 0.5, seconds_left=3).state == "running"
    seen: list[str | None] = []
    with pytest.raises(StillRunning):
        client.wait_for_job(job.id, timeout=0, progress=lambda job: seen.append(job.phase))
    assert seen == ["learning"]
    result = LearnResult(taken=False, model=None, verdict=None, marks={"last_pair": 1})
    over = client.finish_job(job.id, claimed.lease, "done", "Nothing to do.", result=result)
    assert (over.state, over.detail, over.result) == ("done", "Nothing to do.", result)
    with pytest.raises(Conflict) as caught:
        client.report_progress(job.id, claimed.lease, "learning", 0.5)
    assert caught.value.code == "lease_lost"
    mine = client.claim_job(new=True)
    assert mine is not None
    with pytest.raises(Conflict):
        client.activate(client.models()[0].version, learn_job=mine.id, lease="other")
    assert client.finish_job(mine.id, mine.lease, "waiting").state == "waiting"
    assert client.cancel_job(mine.id).state == "cancelled"


def test_keys_and_what_they_may(connect: Connect, service: Service) -> None:
    with connect(service.url, key=service.keys["reader"]) as client:
        assert list(client.images()) == list(client.images())
        me = client.who_am_i()
        assert (me.role, me.name, me.keys_needed) == ("reader", "reader", True)
        assert me.key_id == service.keys["reader"].split("_")[1]
        with pytest.raises(Forbidden):
            list(client.training_set())
    with connect(service.url, key="sk_wrong") as client, pytest.raises(Unauthenticated):
        client.stats()
    with connect(service.url) as client:
        assert client.ready().status == "ready"
        with pytest.raises(Unauthenticated):
            list(client.feedback())


def test_what_is_refused_says_so(client: Samekind, draw: Draw) -> None:
    client.add_image(draw(1), id="mine")
    with pytest.raises(Conflict) as caught:
        client.add_image(draw(2), id="mine")
    assert caught.value.code == "id_taken"
    for odd in ("a/b?c#d", "50%", "\u00e9"):
        with pytest.raises((NotFound, InvalidRequest)):
            client.image(odd)
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="no id"):
            client.delete_image(name)
    with pytest.raises(ValueError, match="JSON"):
        client.add_image(draw(3), metadata={"weight": float("nan")})
    assert client.image("mine").id == "mine"


def test_batches_keep_within_what_a_service_takes() -> None:
    big = bytes(30 * 2**20)
    assert [len(call.files) for call in add_images([big] * 5)] == [2, 2, 1]
    assert [len(call.files) for call in add_images([b"small"] * 130)] == [64, 64, 2]
    files = iter([b"small"] * 130)
    next(add_images(files))
    assert len(list(files)) == 130 - 65  # the rest is not read before its turn


def test_both_clients_have_the_same_methods_and_say_what_they_do() -> None:
    names = {name for name in vars(Samekind) if not name.startswith("_")}
    assert names == {name for name in vars(AsyncSamekind) if not name.startswith("_")}
    assert len(names) > 30
    for kind in (Samekind, AsyncSamekind):
        assert all(getattr(kind, name).__doc__ and getattr(kind, name).__name__ == name for name in names)
    assert list(inspect.signature(Samekind.search).parameters) == ["self", "file", "options"]
    assert inspect.signature(Samekind.image).return_annotation.__name__ == "Image"


def test_what_is_exported_is_sorted_and_there() -> None:
    assert app.client.__all__ == sorted(app.client.__all__)
    assert all(hasattr(app.client, name) for name in app.client.__all__)
    assert (Path(app.client.__file__).parents[1] / "py.typed").exists()
