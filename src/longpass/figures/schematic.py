"""The paper's schematics: its network families, every number read off the shapes of a network.

Appendix D of the paper.
"""

import dataclasses
from pathlib import Path

import equinox as eqx
import jax
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from longpass.figures import _style
from longpass.memory import LSTM, Concrete, MemoryName, Parallel
from longpass.networks import (
    ActorCritic,
    Classifier,
    PoolOptions,
    make_actor_critic,
    make_classifier,
)

_MEMORIES: tuple[MemoryName, ...] = ("chain", "lstm", "parallel")
_TITLES = {"chain": "Concrete (LP-RNN)", "lstm": "LSTM", "parallel": "Parallel filters"}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Networks to draw: a classifier of the paper's table, and an actor-critic for Cued Catch."""

    symbols: int = 8
    classes: int = 4
    num_pools: int = 4
    base: float = 2.0
    pool_size: int = 24
    viewport_size: int = 10
    hidden_size: int = 32
    agent_pool_size: int = 198
    agent_viewport_size: int = 32
    agent_output_size: int = 128
    num_actions: int = 5
    board: tuple[int, int, int] = (7, 12, 5)

    def pool_options(self, memory: MemoryName, viewport_size: int) -> PoolOptions:
        """Arguments that only memories with pools take."""
        if memory == "lstm":
            return {}
        return {"num_pools": self.num_pools, "base": self.base, "viewport_size": viewport_size}


def draw(out: Path, settings: Settings | None = None) -> list[Path]:
    """Draw schematic.png and schematic.svg into `out`."""
    s = settings or Settings()
    # Shapes alone: weights would be compiled for ten seconds and not looked at.
    shapes, key = eqx.filter_eval_shape, jax.random.key(0)
    with _style.styled():
        figure = _style.new(7.2, 8.6)
        rows = figure.subplots(2, 3, height_ratios=_ROWS)
        for axis, memory in zip(rows[0], _MEMORIES, strict=True):
            net = shapes(
                make_classifier,
                memory,
                s.symbols,
                s.classes,
                hidden_size=s.hidden_size,
                pool_size=s.pool_size,
                **s.pool_options(memory, s.viewport_size),
                key=key,
            )
            _draw_classifier(axis, net)
            _finish(axis, f"{_TITLES[memory]}: sequences", _ROWS[0])
        for axis, memory in zip(rows[1], _MEMORIES, strict=True):
            net = shapes(
                make_actor_critic,
                memory,
                s.board,
                s.num_actions,
                output_size=s.agent_output_size,
                pool_size=s.agent_pool_size,
                **s.pool_options(memory, s.agent_viewport_size),
                key=key,
            )
            _draw_actor_critic(axis, net, s.board)
            _finish(axis, f"{_TITLES[memory]}: gridworlds", _ROWS[1])
        figure.supxlabel(
            "Read upwards; numbers are units. Grey pools pass no gradient. * a learned matrix "
            "without bias,\nat first the rate of pool 1 times a padded identity.",
            fontsize=7,
        )
        return _style.save(figure, out, "schematic")


def _draw_classifier(axis: Axes, net: Classifier) -> None:
    layers = [(f"one-hot symbol  {net.memory.input_size}", "input")]
    if net.embedding is not None:
        layers = [(f"one-hot symbol  {net.embedding.in_features}", "input")]
        layers.append((f"embedding  {net.embedding.out_features}", "layer"))
    top = _stack(axis, layers, 0.0)
    top = _draw_memory(axis, net.memory, top)
    layers = []
    if net.hidden is not None:
        layers.append((f"hidden, ReLU  {net.hidden.out_features}", "layer"))
    _stack(axis, [*layers, (f"logits  {net.logits.out_features}", "output")], top)


def _draw_actor_critic(axis: Axes, net: ActorCritic, board: tuple[int, ...]) -> None:
    size = " × ".join(str(length) for length in board)
    assert net.torso.filter_bias is not None
    layers = [
        (f"board  {size}", "input"),
        (f"3 × 3 convolution, stride 2, ReLU  {net.torso.filter_bias.size}", "layer"),
        (f"embedding, ReLU  {net.torso.bias.size}", "layer"),
    ]
    top = _draw_memory(axis, net.memory, _stack(axis, layers, 0.0))
    _arrow(axis, 2.5, top - _GAP, 1.3, top)
    _arrow(axis, 2.5, top - _GAP, 3.9, top)
    _box(axis, 0.0, top, 2.6, f"policy logits  {net.policy.out_features}", "output")
    _box(axis, 2.9, top, 2.1, f"value  {net.value.out_features}", "output")


def _draw_memory(axis: Axes, memory, bottom: float) -> float:
    """Draw a memory upwards from `bottom`; the bottom of what stands on it."""
    if isinstance(memory, LSTM):
        (size,) = memory.output_shape
        _box(axis, 0.0, bottom, 5.0, f"LSTM  {size}", "pool", height=1.2)
        _arrow(axis, 2.5, bottom - _GAP, 2.5, bottom)
        return bottom + 1.2 + _GAP
    assert isinstance(memory, Concrete | Parallel)
    k, size, viewport = memory.num_pools, memory.pool_size, memory.viewport_size
    seen = k + memory.read_input
    width = 5.0 / seen
    chained = isinstance(memory, Concrete)
    pool_bottom, view_bottom = bottom + 0.9, bottom + 2.5
    # The written signal: into the first pool of a chain, into every parallel pool.
    stem = 2.5 if not chained else 1.5 * width
    _arrow(axis, stem, bottom - _GAP, stem, pool_bottom if chained else bottom + 0.2)
    axis.text(stem - 0.1, bottom - 0.2, "*", fontsize=9, ha="right", va="center")
    for place in range(seen):
        x, n = place * width, place - (seen - k)
        centre = x + width / 2 - 0.05
        _box(axis, x, view_bottom, width - 0.1, str(viewport), "layer")
        if n < 0:
            _arrow(axis, centre, bottom - _GAP, centre, view_bottom)
            continue
        kind = "pool" if n < memory.gradient_pools else "frozen"
        label = f"{size}\n{memory.filter.rates[n]:.3g}"
        _box(axis, x, pool_bottom, width - 0.1, label, kind, height=0.9)
        _arrow(axis, centre, pool_bottom + 0.9, centre, view_bottom)
        if not chained:
            _arrow(axis, stem, bottom + 0.2, centre, pool_bottom)
        elif n > 0:
            _arrow(axis, x - 0.12, pool_bottom + 0.45, x + 0.02, pool_bottom + 0.45)
    axis.text(5.05, view_bottom + _HEIGHT / 2, "viewports", fontsize=5, va="center", rotation=90)
    axis.text(5.05, pool_bottom + 0.45, "pools, rates", fontsize=5, va="center", rotation=90)
    top = view_bottom + _HEIGHT
    for place in range(seen):
        centre = place * width + width / 2 - 0.05
        _arrow(axis, centre, top, centre, top + _GAP)
    _box(axis, 0.0, top + _GAP, 5.0, f"summariser, ReLU  {memory.output_size}", "layer")
    return top + _HEIGHT + 2 * _GAP


_HEIGHT, _GAP = 0.6, 0.4
_ROWS = (7.3, 8.3)
_COLOURS = {
    "input": "#FFFFFF",
    "layer": "#CFE3F2",
    "pool": "#F7D58B",
    "frozen": "#DDDDDD",
    "output": "#CDEBDD",
}


def _stack(axis: Axes, layers: list[tuple[str, str]], bottom: float) -> float:
    """Draw layers upwards, each with an arrow into it; the bottom of what stands on them."""
    for label, kind in layers:
        if kind != "input":
            _arrow(axis, 2.5, bottom - _GAP, 2.5, bottom)
        _box(axis, 0.0, bottom, 5.0, label, kind)
        bottom += _HEIGHT + _GAP
    return bottom


def _box(axis: Axes, x, y, width, label: str, kind: str, height: float = _HEIGHT) -> None:
    shape = FancyBboxPatch(
        (x, y),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor=_COLOURS[kind],
        edgecolor="black",
        linewidth=0.7,
    )
    axis.add_patch(shape)
    axis.text(x + width / 2, y + height / 2, label, ha="center", va="center", fontsize=6)


def _arrow(axis: Axes, x0, y0, x1, y1) -> None:
    style = {"arrowstyle": "-|>", "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 6}
    axis.annotate("", (x1, y1), (x0, y0), arrowprops={**style, "color": "black"})


def _finish(axis: Axes, title: str, height: float) -> None:
    axis.set(xlim=(-0.1, 5.5), ylim=(-0.2, height))
    axis.set_title(title, fontsize=8)
    axis.axis("off")
