"""The world of the T-maze, and tables of it that make a step a handful of lookups.

The world is one map of 77 x 191 cells, a torus, shared by all levels: a start chamber, a limbo
cell, and six T-shapes one below the other in a field of dirt.
"""

import numpy as np

ROWS, COLS = 77, 191
VIEW_ROWS, VIEW_COLS = 7, 11
BLANK, WALL, DIRT, LEFT_PAD, RIGHT_PAD, TELEPORTER = range(6)

START = (6, 94)
TELEPORTER_ROW = 4
LIMBO_COL = 140
"""The limbo cell is in the teleporter's row, so a player goes there by a shift of columns alone."""
MAZE_COL = 94
"""The column where a player comes out of limbo."""
LEVEL_ROWS = 11
"""Rows from one level's T to the next."""
LEFT_WALL = np.array([84, 79, 72, 59, 39, 3])
RIGHT_WALL = np.array([104, 109, 116, 129, 151, 187])
FIRST_DIRT_ROW = 10


def build() -> np.ndarray:
    """The kind of every cell, [ROWS, COLS]."""
    world = np.full((ROWS, COLS), BLANK, np.uint8)
    world[FIRST_DIRT_ROW:] = DIRT

    world[3:8, 92:97] = WALL
    world[4:7, 93:96] = BLANK
    world[TELEPORTER_ROW, 93:96] = TELEPORTER

    # Limbo: a star of walls that fills the view, so that nothing tells where the player is.
    star = {(0, v) for v in range(1, 6)} | {(1, 0), (1, 1)}
    star |= {(2, v) for v in (0, 2, 3)} | {(3, v) for v in (0, 4, 5)}
    for u, v in star:
        for row in (4 - u, 4 + u):
            world[row, [LIMBO_COL - v, LIMBO_COL + v]] = WALL

    for level, (lo, hi) in enumerate(zip(LEFT_WALL, RIGHT_WALL, strict=True)):
        top = 12 + LEVEL_ROWS * level
        legs = (lo, hi - 4)
        world[top : top + 4, lo : hi + 1] = WALL
        for leg in legs:
            world[top + 4 : top + 8, leg : leg + 5] = WALL
        world[top + 1 : top + 3, lo + 1 : hi] = BLANK
        for leg, pad in zip(legs, (LEFT_PAD, RIGHT_PAD), strict=True):
            world[top + 1 : top + 7, leg + 1 : leg + 4] = BLANK
            world[top + 6, leg + 1 : leg + 4] = pad
    return world


WORLD = build()

# What is at a cell and around it, as bits. The four neighbours are in the order of actions.
ON_LEFT, ON_RIGHT, ON_TELEPORTER = 1 << 0, 1 << 1, 1 << 2
WALL_BITS, PAD_BITS, TELEPORTER_BITS = 3, 7, 11
"""Four bits from here on: which neighbours are a wall, a pad, a teleporter."""

VIEW_BLANK, VIEW_WALL, VIEW_MARK, VIEW_DIRT = range(4)
"""Two bits per cell: a mark is a pad or the teleporter, which look alike."""
LOW_BITS = np.uint32(sum(1 << 2 * col for col in range(VIEW_COLS)))
"""The lower bit of each cell in a row of the view."""


def around_table(world: np.ndarray) -> np.ndarray:
    """Bits about each cell and its neighbours, [ROWS * COLS] int32."""
    table = (
        ON_LEFT * (world == LEFT_PAD)
        + ON_RIGHT * (world == RIGHT_PAD)
        + ON_TELEPORTER * (world == TELEPORTER)
    ).astype(np.int32)
    for place, (shift, axis) in enumerate([(1, 0), (-1, 0), (1, 1), (-1, 1)]):
        beside = np.roll(world, shift, axis)
        table |= (beside == WALL).astype(np.int32) << (WALL_BITS + place)
        pads = (beside == LEFT_PAD) | (beside == RIGHT_PAD)
        table |= pads.astype(np.int32) << (PAD_BITS + place)
        table |= (beside == TELEPORTER).astype(np.int32) << (TELEPORTER_BITS + place)
    return table.reshape(-1)


def view_table(world: np.ndarray) -> np.ndarray:
    """One row of the view, from each cell rightwards: VIEW_COLS pairs of bits, [ROWS * COLS]."""
    look = np.array([VIEW_BLANK, VIEW_WALL, VIEW_DIRT, VIEW_MARK, VIEW_MARK, VIEW_MARK], np.uint32)
    kinds = look[world]
    table = np.zeros((ROWS, COLS), np.uint32)
    for col in range(VIEW_COLS):
        table |= np.roll(kinds, -col, 1) << np.uint32(2 * col)
    return table.reshape(-1)


AROUND = around_table(WORLD)
VIEW = view_table(WORLD)
