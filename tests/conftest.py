"""What all tests share: versions in the header, the real image sets, hypothesis without a clock."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
IMAGE_SETS_VARIABLE = "TEST_IMAGE_SETS"

# For this process and all that it starts; read when torch and numpy are imported. By default threads that have nothing
# to do spin, and of two test processes on two cores each then waits for the other's: the features of an image have cost
# 25 times as much (measured: 0.94 s instead of 0.04 s of the processor), a small product of matrices 7 times.
for variable, value in {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}.items():
    os.environ.setdefault(variable, value)

# Compiling a kernel on its first call takes longer than any deadline; the examples are the same in every run.
settings.register_profile("samekind", deadline=None, derandomize=True)
settings.load_profile("samekind")


# Minutes each: begun last, one of them would leave the other core idle.
LONGEST = (
    "tests/quality/",
    "tests/e2e/",
    "tests/stateful/",
    "tests/crash/",
    "tests/trainer/test_cli.py",
    "tests/trainer/experiment/test_runner.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; within and among the others the order stays."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_report_header() -> list[str]:
    from trainer.run import library_versions

    return [", ".join(f"{name} {number}" for name, number in library_versions().items()), f"data: {data_folder()}"]


def data_folder() -> Path:
    """Where the real image sets are: $TEST_IMAGE_SETS, or shared/data beside the repository."""
    return Path(os.environ.get(IMAGE_SETS_VARIABLE) or ROOT.parent / "shared" / "data")


@pytest.fixture(scope="session")
def image_sets() -> Path:
    """The folder with scene15, fmd and clothing10, each NAME.csv and NAME/. Missing data fails in CI."""
    folder = data_folder()
    missing = [name for name in ("scene15", "fmd", "clothing10") if not (folder / f"{name}.csv").is_file()]
    if missing:
        message = (
            f"{', '.join(missing)} not found in {folder}: set {IMAGE_SETS_VARIABLE} to the folder of the image sets"
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return folder
