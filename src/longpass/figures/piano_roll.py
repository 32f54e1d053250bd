"""The streams of the three tasks, as the paper's figure 3 shows them: one row per symbol."""

from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes

from longpass import streams
from longpass.figures import _style
from longpass.figures.looks import TASKS

STEPS = 330
SEED = 4


def draw(out: Path) -> list[Path]:
    with _style.styled():
        figure = _style.new(9.0, 5.6)
        axes = figure.subplots(len(TASKS), 1)
        for ax, (name, title) in zip(axes, TASKS.items(), strict=True):
            _panel(ax, streams.make_task(name), title)
        axes[-1].set_xlabel("step of one stream")
        return _style.save(figure, out, "piano-roll")


def _panel(ax: Axes, task: streams.StreamTask, title: str) -> None:
    cursor = streams.start_stream(task, jax.random.key(SEED))
    _, stream = streams.read_stream(task, cursor, STEPS)
    symbols, labels = np.asarray(stream.symbols), np.asarray(stream.labels)
    roll = symbols[None] == np.arange(len(task.alphabet))[:, None]
    ax.imshow(~roll, cmap="gray", aspect="auto", interpolation="nearest", vmin=0, vmax=1)
    for start in np.flatnonzero(stream.starts):
        ax.axvline(start - 0.5, color=_style.GREY, linewidth=0.8, linestyle=":")
    for end in np.flatnonzero(labels != streams.NO_LABEL):
        ax.annotate(
            task.classes[labels[end]],
            (end, -0.5),
            (0, 3),
            textcoords="offset points",
            ha="right",
            color=_style.VERMILION,
        )
    _mark(ax, task, symbols)
    ax.set_yticks(range(len(task.alphabet)), task.alphabet)
    ax.tick_params(left=False)
    ax.set_title(f"{title} (red: the class, where a sequence ends)", pad=14)


def _mark(ax: Axes, task: streams.StreamTask, symbols: np.ndarray) -> None:
    """Show what the class depends on."""
    if "X" in task.alphabet:
        rows = [task.alphabet.index(marker) for marker in "XY"]
        for step in np.flatnonzero(np.isin(symbols, rows)):
            ax.plot(step, symbols[step], "o", color=_style.BLUE, markersize=4)
        return
    text = "".join(task.alphabet[symbol] for symbol in symbols)
    for marker, words in zip("XY", streams.WORDS, strict=True):
        for word in words:
            spelt = "".join(letter * streams.HOLD for letter in word)
            at = text.find(spelt)
            while at >= 0:
                ax.axvspan(at - 0.5, at + len(spelt) - 0.5, color=_style.SKY, alpha=0.45, lw=0)
                ax.text(at + len(spelt) / 2, 0.3, marker, ha="center", color=_style.BLUE)
                at = text.find(spelt, at + 1)
