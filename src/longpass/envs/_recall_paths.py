"""The lights of Sequence Recall, and the best that can be done with a given sequence.

A walk is cut at the cells where it enters a light. Between two such cells only the number of
moves matters, so the best walk is found light by light over the 108 cells of the lights.
"""

import collections
import dataclasses
import functools
import itertools

import numpy as np

ROWS, COLS = 17, 21
START = (8, 10)
LIGHTS = 4
STEP_COST = 0.005
_CENTRES = ((8, 4), (3, 10), (8, 16), (13, 10))  # left, top, right, bottom
_MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # in the order of actions


def _light_map() -> np.ndarray:
    """Which light each cell belongs to, 1 to 4; 0: none. [ROWS, COLS] int8."""
    lights = np.zeros((ROWS, COLS), np.int8)
    for light, (row, col) in enumerate(_CENTRES, 1):
        lights[row - 1 : row + 2, col - 3 : col + 4] = light
        lights[row - 2 : row + 3, col - 1 : col + 2] = light
    return lights


LIGHT = _light_map()
_CELLS = [(int(r), int(c)) for r, c in zip(*np.nonzero(LIGHT), strict=True)]
_CELL_LIGHT = np.array([LIGHT[cell] for cell in _CELLS])
_FAR = 10**6


@dataclasses.dataclass(frozen=True)
class Clock:
    """When the player may move, and when time runs out (negative: never)."""

    first_free: int
    timeout: int

    def end(self, moves: int, finished: bool) -> int:
        """The frame that ends an episode whose last entry took this many moves."""
        entered = self.first_free - 1 + moves
        if not finished:
            return self.timeout
        return self.timeout if 0 <= self.timeout <= entered + 1 else entered + 3

    def allows(self, moves: int) -> bool:
        """Whether an entry after this many moves still counts."""
        return self.timeout < 0 or self.first_free - 1 + moves <= self.timeout

    def cost(self, end: int) -> float:
        """What the frames of an episode cost that ends on this one."""
        return STEP_COST * max(0, end - 2)


@dataclasses.dataclass(frozen=True)
class Walk:
    """The best walk for a sequence."""

    score: float
    actions: tuple[int, ...]
    """The moves from the first free frame to the last entry."""
    end: int
    """The frame that ends the episode."""


def _cells_of(light: int) -> np.ndarray:
    """The places of a light's cells among those of all lights."""
    return np.flatnonzero(np.equal(_CELL_LIGHT, light))


def _search(start: tuple[int, int]) -> tuple[np.ndarray, dict[tuple[int, int], list[int]]]:
    """Fewest moves from a cell to entering each cell of the lights, and the actions of each way.

    A light on which the walk starts must be left first; no other may be touched on the way.
    """
    home = LIGHT[start]
    ways: dict[tuple[int, int], list[int]] = {start: []}
    entries: dict[tuple[int, int], list[int]] = {}
    queue = collections.deque([start])
    while queue:
        cell = queue.popleft()
        for action, (down, right) in enumerate(_MOVES):
            there = (cell[0] + down, cell[1] + right)
            if not (0 < there[0] < ROWS - 1 and 0 < there[1] < COLS - 1):
                continue
            if LIGHT[there] and not LIGHT[cell] and there not in entries:
                entries[there] = [*ways[cell], action]
            if there not in ways and LIGHT[there] in (0, home):
                ways[there] = [*ways[cell], action]
                queue.append(there)
    moves = np.array([len(entries[cell]) if cell in entries else _FAR for cell in _CELLS])
    return moves, entries


@functools.cache
def _from_start() -> tuple[np.ndarray, dict[tuple[int, int], list[int]]]:
    return _search(START)


@functools.cache
def _between() -> tuple[np.ndarray, list[dict[tuple[int, int], list[int]]]]:
    """Moves from each cell of a light to entering each other, [108, 108], and their actions."""
    found = [_search(cell) for cell in _CELLS]
    return np.stack([moves for moves, _ in found]), [entries for _, entries in found]


def best_walk(sequence: tuple[int, ...], clock: Clock) -> Walk:
    """The walk with the highest score, wrong lights included if the time limit makes them pay."""
    between, between_ways = _between()
    first, first_ways = _from_start()
    count = len(sequence)
    # least[right][cell]: fewest moves to the latest entry, at that cell, with `right` right ones.
    least = np.full((count + 1, len(_CELLS)), _FAR)
    right_one = sequence[0] == _CELL_LIGHT
    least[1] = np.where(right_one, first, _FAR)
    least[0] = np.where(right_one, _FAR, first)
    history, came_from = [least], []
    for light in sequence[1:]:
        via = history[-1][:, :, None] + between  # [right, from, to]
        step, origin = via.min(axis=1), via.argmin(axis=1)
        right_one = light == _CELL_LIGHT
        least = np.where(right_one, _FAR, step)
        least[1:, right_one] = step[:-1, right_one]
        came_from.append(origin)
        history.append(least)

    best = Walk(-clock.cost(clock.timeout) if clock.timeout >= 0 else -np.inf, (), clock.timeout)
    chosen = None
    for entries, right in itertools.product(range(1, count + 1), range(count + 1)):
        cell = int(history[entries - 1][right].argmin())
        moves = int(history[entries - 1][right][cell])
        if moves >= _FAR or not clock.allows(moves) or (entries < count and clock.timeout < 0):
            continue
        end = clock.end(moves, entries == count)
        if right - clock.cost(end) > best.score + 1e-12:
            best, chosen = Walk(right - clock.cost(end), (), end), (entries, right, cell)
    if chosen is None:
        return best

    entries, right, cell = chosen
    legs: list[list[int]] = []
    for place in range(entries - 1, 0, -1):
        hit = _CELL_LIGHT[cell] == sequence[place]
        right -= int(hit)
        origin = int(came_from[place - 1][right][cell])
        legs.append(between_ways[origin][_CELLS[cell]])
        cell = origin
    legs.append(first_ways[_CELLS[cell]])
    return dataclasses.replace(best, actions=tuple(itertools.chain(*reversed(legs))))


@functools.cache
def mean_best_score(count: int, clock: Clock) -> float:
    """The best score, averaged over all sequences of this length."""
    longest = 3 + 6 * (count - 1)  # opposite lights each time: entering the first takes 3 moves
    if clock.timeout >= 0 and clock.first_free + longest + 1 >= clock.timeout:
        everything = itertools.product(range(1, LIGHTS + 1), repeat=count)
        return float(np.mean([best_walk(sequence, clock).score for sequence in everything]))
    # With time enough every light is worth its walk. Sequences that leave the same choice of
    # cells to go on from are counted together, so long ones cost no more than short ones.
    between, _ = _between()
    first, _ = _from_start()
    groups: dict[tuple[int, bytes], tuple[float, float]] = {}
    for light in range(1, LIGHTS + 1):
        _join(groups, light, first[_cells_of(light)], 1 / LIGHTS, 0.0)
    for _ in range(count - 1):
        last, groups = groups, {}
        for (light, spread), (weight, moves) in last.items():
            costs = np.frombuffer(spread, np.int64)[:, None]
            for other in range(1, LIGHTS + 1):
                to = between[np.ix_(_cells_of(light), _cells_of(other))]
                _join(groups, other, (costs + to).min(0), weight / LIGHTS, moves / LIGHTS)
    mean_moves = sum(moves for _, moves in groups.values())
    return count - STEP_COST * (clock.first_free + mean_moves)


def _join(
    groups: dict[tuple[int, bytes], tuple[float, float]],
    light: int,
    costs: np.ndarray,
    weight: float,
    moves: float,
) -> None:
    """Add sequences (their share, and their moves so far times it) to those of the same choice."""
    least = int(costs.min())
    choice = (light, (costs - least).astype(np.int64).tobytes())
    old_weight, old_moves = groups.get(choice, (0.0, 0.0))
    groups[choice] = (old_weight + weight, old_moves + moves + weight * least)
