"""What hypothesis may think of: the parts of requests, and what may become of the index snapshot."""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from tests.stateful.expected import Upload
from tests.stateful.pool import PICTURES

__all__ = ["CATEGORIES", "CHANGES", "HARMS", "IDS", "KS", "NAMES", "SCALARS", "UPLOADS", "WHICH"]

# Few of each, so that they meet.
IDS = ["a", "b", "A", "x:1", "a.b"]
NAMES = st.sampled_from(["colour", 'q"uote', "dot.ted"])
SCALARS = st.sampled_from(["red", "", "1", 1, 1.0, 0.5, True, False, None])
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(NAMES, st.dictionaries(NAMES, SCALARS), max_size=2)
)
CATEGORIES = st.sampled_from([None, "", "cups", "Cups"])
METADATA = st.none() | st.dictionaries(NAMES, VALUES, max_size=2)
UPLOADS = st.builds(
    Upload, picture=st.integers(0, PICTURES - 1), id=st.sampled_from([None, *IDS]), category=CATEGORIES,
    metadata=METADATA,
)  # fmt: skip
CHANGES = st.fixed_dictionaries({}, optional={"category": CATEGORIES, "metadata": METADATA})
WHICH = st.integers(0, 30)  # of those that there are, counted round
KS = st.integers(1, PICTURES + 1)

# What becomes of the index snapshot while the service is down; the second one is from an earlier state.
HARMS: Mapping[str, Callable[[bytes, bytes], bytes | None]] = {
    "kept": lambda latest, _older: latest,
    "removed": lambda _latest, _older: None,
    "cut": lambda latest, _older: latest[: len(latest) // 2],
    "older": lambda _latest, older: older,
}
