"""Colours of cells, as in the paper's pictures, for terminals, films and figures."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

if TYPE_CHECKING:
    from longpass.envs._environment import AnyEnvironment

Colour = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

BLACK, WHITE, GREY, STONE = (0, 0, 0), (240, 240, 240), (70, 70, 78), (128, 128, 140)
RED, YELLOW, GREEN = (230, 60, 60), (240, 210, 40), (40, 190, 80)
CYAN, BLUE = (40, 210, 220), (60, 110, 240)


def paint_boards(
    env: "AnyEnvironment", boards: UInt8[np.ndarray, "*frames rows cols"]
) -> UInt8[np.ndarray, "*frames rows cols 3"]:
    """Paint boards of character codes in the colours of an environment.

    **Arguments:**

    - `env`: the environment that made the boards.
    - `boards`: character codes, such as `Episode.boards`.

    **Returns:** red, green and blue per cell.
    """
    table = np.zeros((128, 3), np.uint8)
    for character, colour in env.colours.items():
        table[ord(character)] = colour
    return table[boards]
