"""Each awkward file gets the answer that is specified for it, over HTTP, and costs little."""

import io
from collections.abc import Iterator

import pytest
from PIL import Image
from starlette.testclient import TestClient

from embedding.image import SUPPORTED_FORMATS, ImageLimits, decode_image
from tests.awkward.case import Case, Colour
from tests.awkward.corpus import CORPUS, MAX_PIXELS, MAX_UPLOAD_BYTES, table
from tests.awkward.memory import forget_peak, peak_bytes, resident_bytes
from tests.conftest import ROOT

GOOD = [case for case in CORPUS if case.size]
BAD = [case for case in CORPUS if not case.size]
LIMITS = ImageLimits(MAX_UPLOAD_BYTES, MAX_PIXELS)
THUMBNAIL_LOSS = 14
MOST_GROWTH = 48 * 2**20  # bytes for one file: a million pixels in RGBA are 4 MB, and are there a few times

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Pillow's remarks on what is awkward
    pytest.mark.timeout(60),
]


def _named(case: Case) -> str:
    return case.name


@pytest.fixture(scope="module", autouse=True)
def _warm(client: TestClient) -> None:
    """The first picture allocates what all others use too."""
    assert _posted(client, CORPUS[0])[0] == 201


@pytest.fixture(autouse=True)
def _costs_little(client: TestClient) -> Iterator[None]:
    forget_peak()
    before = resident_bytes()
    yield
    assert peak_bytes() - before < MOST_GROWTH


def _posted(client: TestClient, case: Case) -> tuple[int, dict[str, object]]:
    response = client.post("/v1/images", files={"file": ("fine.jpg", case.data, "image/jpeg")})
    return response.status_code, response.json()


@pytest.mark.parametrize("case", BAD, ids=_named)
def test_what_is_refused_is_refused_with_the_reason_and_not_stored(client: TestClient, case: Case) -> None:
    before = client.get("/v1/stats").json()
    status, body = _posted(client, case)
    assert (status, body["code"]) == (case.status, case.code)
    assert len(str(body["detail"])) > 20
    if status == 415:
        assert all(name in str(body["detail"]) for name in SUPPORTED_FORMATS if case.data)
    assert client.get("/v1/stats").json() == before


@pytest.mark.parametrize("case", GOOD, ids=_named)
def test_what_is_accepted_looks_as_it_should(client: TestClient, case: Case) -> None:
    status, image = _posted(client, case)
    assert status in (200, 201), image
    assert (image["width"], image["height"]) == case.size
    assert client.get(f"/v1/images/{image['id']}/file").content == case.data
    thumbnail = client.get(f"/v1/images/{image['id']}/thumbnail").content
    with Image.open(io.BytesIO(thumbnail)) as small:
        assert _far_off(case, small) <= case.tolerance + THUMBNAIL_LOSS
    assert _far_off(case, decode_image(case.data, LIMITS)) <= case.tolerance


def _far_off(case: Case, image: Image.Image) -> int:
    """The greatest difference in a channel, in the middle of each quarter."""
    assert image.mode == "RGB"
    places = [(image.width * x // 4, image.height * y // 4) for y in (1, 3) for x in (1, 3)]
    pixels = [image.getpixel(place) for place in places]
    return max((_distance(pixel, colour) for pixel, colour in zip(pixels, case.look or (), strict=False)), default=0)


def _distance(pixel: object, colour: Colour) -> int:
    assert isinstance(pixel, tuple)
    return max(abs(int(a) - b) for a, b in zip(pixel, colour, strict=True))


def test_there_are_many_and_each_is_another() -> None:
    assert len(CORPUS) >= 200
    assert len({case.name for case in CORPUS}) == len(CORPUS)
    assert len({case.data for case in CORPUS}) == len(CORPUS)


def test_the_table_in_the_documents_is_this_one() -> None:
    """`python -m tests.awkward.corpus` prints it."""
    assert table() in (ROOT / "docs" / "images.md").read_text(encoding="utf-8")
