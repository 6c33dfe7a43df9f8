"""The real application against a plain model, through whatever hypothesis thinks of: requests, restarts, bad snapshots.

After each step stats, listing, feedback and the neighbours of a stored image are what the model says.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from embedding.backbone import Backbone
from embedding.model_file import Model
from embedding.process import use_threads
from tests.app.conftest import Draw
from tests.stateful.machine import CollectionMachine
from tests.stateful.parts import Parts
from tests.stateful.pool import make_pool
from tests.stateful.requests import HARMS

# What each run must have come through: without it the machine would prove less than it seems to.
MUST_HAPPEN = {
    "added", "there", "taken", "deleted", "changed", "recorded", "query named", "verdict changed", "tie", "other model",
    "taken back", "group recorded", *HARMS,
}  # fmt: skip

EXAMPLES = {"sqlite": 15, "postgresql": 5}


@pytest.mark.parametrize("engine", EXAMPLES)
def test_the_service_does_what_the_model_says(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    draw: Draw,
    backbone: Backbone,
    model: Model,
    other_model: Model,
    save: Callable[[Model], Path],
    engine: str,
) -> None:
    # No URL means SQLite's file in the data folder.
    new_database = request.getfixturevalue("postgresql").new_database if engine == "postgresql" else str
    models = [model, other_model]
    use_threads(1)
    pool = make_pool(draw, backbone, models)
    parts = Parts(pool, [save(each) for each in models], tmp_path, new_database)
    try:
        run(parts, EXAMPLES[engine])
    finally:
        use_threads(0)
    assert engine == "postgresql" or all(parts.happened[each] for each in MUST_HAPPEN), parts.happened


def run(parts: Parts, examples: int) -> None:
    machine = type("BoundMachine", (CollectionMachine,), {"parts": parts})
    chosen = settings(
        max_examples=examples,
        stateful_step_count=30,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(machine, settings=chosen)
