"""All of the files, and the table of them: `python -m tests.awkward.corpus` prints it."""

import sys
from collections import Counter

from tests.awkward.bombs import BOMBS
from tests.awkward.case import Case
from tests.awkward.colours import COLOUR
from tests.awkward.damage import DAMAGE, STRANGERS
from tests.awkward.frames import FRAMES
from tests.awkward.modes import MODES

__all__ = ["CORPUS", "MAX_PIXELS", "MAX_UPLOAD_BYTES", "table"]

# Of the service that they are sent to.
MAX_UPLOAD_BYTES, MAX_PIXELS = 200_000, 1_000_000

_PARTS = {
    "Modes and bit depths": MODES,
    "Colour, orientation, packing": COLOUR,
    "Frames and shapes": FRAMES,
    "Damaged": DAMAGE,
    "Large, slow and lying": BOMBS,
    "No picture, or of a format that is not accepted": STRANGERS,
}
CORPUS: list[Case] = [case for cases in _PARTS.values() for case in cases]


def table() -> str:
    """The files of each part, one a line, in Markdown."""
    parts = [f"## {title}\n\n{_rows(cases)}" for title, cases in _PARTS.items()]
    counts = Counter(case.status == 201 for case in CORPUS)
    return f"{len(CORPUS)} files: {counts[True]} accepted, {counts[False]} refused.\n\n" + "\n\n".join(parts)


def _rows(cases: list[Case]) -> str:
    lines = [f"| {case.name} | {case.what} | {_answer(case)} |" for case in cases]
    return "\n".join(["| file | what it is | answer |", "|---|---|---|", *lines])


def _answer(case: Case) -> str:
    return f"{case.status}, {case.size[0]} x {case.size[1]}" if case.size else f"{case.status} `{case.code}`"


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
