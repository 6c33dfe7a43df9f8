"""The short version: `python -m tests.fuzz` is the long one."""

import random
from collections.abc import Callable
from pathlib import Path

from embedding.model_file import Model
from tests.fuzz.campaign import Campaign
from tests.fuzz.framing import Request
from tests.fuzz.mutations import mutated

Save = Callable[[Model], Path]


def test_no_upload_brings_an_error_of_the_server_a_hang_or_a_leak(tmp_path: Path, model: Model, save: Save) -> None:
    campaign = Campaign(tmp_path, seed=1, model=save(model))
    campaign.run(seconds=8, warm_up=[])
    assert campaign.violations == []
    assert campaign.counts["201"] + campaign.counts["200"] > 0, campaign.counts
    assert campaign.counts["422"] > 0, campaign.counts


def test_a_violation_is_noted_with_the_guilty_request(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, seed=1, model=tmp_path / "none")
    campaign._judge(Request(b"anything", is_whole=True), port=1)  # nobody listens there
    (violation,) = campaign.violations
    assert "no service" in violation
    assert (tmp_path / "guilty-0.http").read_bytes() == b"anything"


def test_mutations_are_many_and_the_same_for_the_same_seed() -> None:
    files = [b"\x89PNG\r\n\x1a\n" + bytes(40), b"\xff\xd8\xff" + bytes(99)]
    first, again = ([mutated(rng, files) for _ in range(200)] for rng in map(random.Random, (3, 3)))
    assert first == again
    assert len(set(first)) > 150
