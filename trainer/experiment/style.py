"""Colours for light and for dark pages, and the look of each method's line.

Figures are drawn in the light colours; in the page each colour becomes a CSS variable that a dark page sets anew.
"""

import zlib
from dataclasses import dataclass

__all__ = ["PALETTE", "Look", "look", "palette_css", "variable_of"]

# Name -> (on a white card, on a dark card). Lines keep a contrast of 3 to 1 to their card, text of 4.5 to 1.
PALETTE = {
    "ink": ("#1b2430", "#e8edf3"),
    "muted": ("#586474", "#a5b1bf"),
    "grid": ("#e3e7ec", "#313b48"),
    "card": ("#fffffe", "#1a212b"),  # not quite white, so that it is told from what matplotlib draws white by itself
    "vermilion": ("#c9341a", "#ff7d5e"),
    "amber": ("#b06a00", "#ffb650"),
    "blue": ("#1c6fb8", "#66b3ff"),
    "violet": ("#7748b8", "#bd9bff"),
    "green": ("#23803b", "#63cc84"),
    "olive": ("#727a00", "#c3cc4d"),
    "teal": ("#007d85", "#4fd1d9"),
    "brown": ("#86573f", "#d6a68c"),
    "magenta": ("#a8317f", "#f590cd"),
    "grey": ("#5b6672", "#b0bac5"),
}


@dataclass(frozen=True)
class Look:
    """A method's line: never told by its colour alone."""

    colour: str  # the light one
    marker: str
    filled: bool = True
    strong: bool = False

    @property
    def width(self) -> float:
        return 3.0 if self.strong else 1.6

    @property
    def marker_size(self) -> float:
        return 8.5 if self.strong or self.marker in "XP" else 7.0


_LOOKS = {
    "pca": ("brown", "v"),
    "lda": ("magenta", "<"),
    "nca": ("teal", "^"),
    "lmnn-s": ("green", "s"),
    "lmnn-r": ("olive", "D"),
    "ml": ("blue", "X"),
    "kml": ("violet", "P"),
    "nml-sgd": ("amber", "p"),
    "nml-deep": ("ink", "h"),
}
_LOSSES = {
    "contrastive": ("blue", "s"),
    "multi-similarity": ("green", "D"),
    "supcon": ("violet", "^"),
    "proxy-anchor": ("olive", "v"),
    "arcface": ("teal", "P"),
}
_SPARE = [("brown", ">"), ("blue", "h"), ("green", "d"), ("violet", "8"), ("teal", "H"), ("olive", "p")]


def look(method: str) -> Look:
    """The same in all figures; a head has the colour of its loss, and hollow marks if it is linear."""
    kind, _, rest = method.partition("-")
    if method == "nml":
        return Look(_light("vermilion"), "o", strong=True)
    if kind == "raw":
        return Look(_light("grey"), "")
    if kind in ("linear", "mlp") and rest in _LOSSES:
        colour, marker = _LOSSES[rest]
        return Look(_light(colour), marker, filled=kind == "mlp")
    spare = _SPARE[zlib.crc32(method.encode("utf-8", "replace")) % len(_SPARE)]
    colour, marker = _LOOKS.get(method, spare)
    return Look(_light(colour), marker)


def _light(colour: str) -> str:
    return PALETTE[colour][0]


def variable_of(light: str) -> str:
    """A light colour of the palette as the page's variable; any other colour as it is.

    >>> variable_of("#1b2430"), variable_of("#123456")
    ('var(--ink)', '#123456')
    """
    return next((f"var(--{name})" for name, shades in PALETTE.items() if shades[0] == light), light)


def palette_css() -> str:
    """The variables; paper is always light."""
    light, dark = (";".join(f"--{name}:{shades[i]}" for name, shades in PALETTE.items()) for i in (0, 1))
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
