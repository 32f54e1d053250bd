"""Colours of the three worlds, as in the paper's pictures, for terminals, films and figures."""

import numpy as np

Colour = tuple[int, int, int]

_BLACK, _WHITE, _GREY, _STONE = (0, 0, 0), (240, 240, 240), (70, 70, 78), (128, 128, 140)
_RED, _YELLOW, _GREEN = (230, 60, 60), (240, 210, 40), (40, 190, 80)
_CYAN, _BLUE = (40, 210, 220), (60, 110, 240)

COLOURS: dict[str, dict[str, Colour]] = {
    "cued_catch": {" ": _BLACK, "P": _WHITE, "Q": _GREEN, "a": _YELLOW, "b": _CYAN},
    "t_maze": {" ": _BLACK, "#": _STONE, "P": _CYAN, "Q": _GREEN, "~": _BLUE},
    "sequence_recall": {
        " ": _BLACK,
        "#": _STONE,
        "1": _GREEN,
        "2": _RED,
        "3": _BLUE,
        "4": _YELLOW,
        "M": _GREY,
        "P": _CYAN,
    },
}
"""The colour of each character, by the environment's name."""


def paint(name: str, boards: np.ndarray) -> np.ndarray:
    """Character codes [..., rows, cols] as colours [..., rows, cols, 3], uint8."""
    table = np.zeros((128, 3), np.uint8)
    for character, colour in COLOURS[name].items():
        table[ord(character)] = colour
    return table[boards]
