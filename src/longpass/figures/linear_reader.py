"""How well a linear reader of pools could classify sequences: a study of our own.

For each task, wiring, base and number of pools: the accuracy of a linear discriminant that reads
all pools where a sequence ends. Nothing is trained by gradients, so a low number says that the
pools do not hold the answer in a form that a linear layer could read.
"""

import csv
import dataclasses
import io
import itertools
from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes

from longpass import streams, theory
from longpass._whole_files import write_atomically
from longpass.figures import _style
from longpass.figures.looks import TASKS
from longpass.memory import rates

NAME = "linear-reader"
WIRINGS: tuple[theory.Wiring, ...] = ("chain", "parallel")


@dataclasses.dataclass(frozen=True)
class Settings:
    """The paper's bases and numbers of pools. The samples are ours.

    The first `passed` sequences of a stream are not read: they fill the memory.
    """

    bases: tuple[float, ...] = (1.5, 2.0, 3.0)
    pools: tuple[int, ...] = (4, 6, 8, 10, 12)
    noises: tuple[float, ...] = (0.0, 0.01, 0.1)
    streams: int = 160
    sequences: int = 200
    passed: int = 60
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Cell:
    """One row of the table."""

    task: str
    wiring: theory.Wiring
    noise: float
    base: float
    pools: int
    accuracy: float
    error: float
    """Standard error of the accuracy."""
    distinct: float
    """How many of the pools a reader can tell apart."""


def draw_sequences(task: streams.StreamTask, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Draw the sequences of endless streams.

    **Returns:** (symbols, labels) of shapes (streams, sequences, longest) and (streams,
    sequences). Symbols have their newest last, and -1 in front of shorter sequences.
    """
    shape = (settings.streams, settings.sequences)
    keys = jax.random.split(jax.random.key(settings.seed), shape)
    drawn = jax.jit(jax.vmap(jax.vmap(task.sequence)))(keys)
    lengths = np.asarray(drawn.length)[..., None]
    place = np.arange(task.longest) - (task.longest - lengths)
    symbols = np.take_along_axis(np.asarray(drawn.symbols), np.maximum(place, 0), axis=-1)
    return np.where(place >= 0, symbols.astype(np.int64), -1), np.asarray(drawn.label)


def measure(settings: Settings) -> list[Cell]:
    """The accuracy of every cell."""
    cells = []
    for name in TASKS:
        task = streams.make_task(name)
        symbols, labels = draw_sequences(task, settings)
        counts = np.bincount(symbols[symbols >= 0], minlength=len(task.alphabet))
        for wiring, base in itertools.product(WIRINGS, settings.bases):
            contents = theory.fill_pools(
                symbols,
                rates(base, max(settings.pools)),
                wiring=wiring,
                num_symbols=len(task.alphabet),
                # Slow pools would take a million steps to fill, so all start at their means.
                start=counts / counts.sum(),
            )
            read = contents[:, settings.passed :].reshape(-1, *contents.shape[2:])
            # Networks hold their pools in single precision.
            read = read.astype(np.float32).astype(np.float64)
            answers = labels[:, settings.passed :].ravel()
            for pools, noise in itertools.product(settings.pools, settings.noises):
                # The first pools of a longer chain or bank are a shorter one.
                accuracy, error = theory.measure_linear_reader(
                    read[:, :pools], answers, noise=noise, seed=settings.seed
                )
                distinct = theory.count_distinct_pools(
                    rates(base, pools), wiring=wiring, noise=noise
                )
                cells.append(Cell(name, wiring, noise, base, pools, accuracy, error, distinct))
    return cells


def draw(out: Path, settings: Settings | None = None) -> list[Path]:
    """Draw linear-reader.png and linear-reader.svg into `out`, with their numbers as CSV."""
    settings = settings or Settings()
    cells = measure(settings)
    with _style.styled():
        figure = _style.new(11.5, 1.1 * len(settings.noises) + 1.0)
        panels = list(itertools.product(TASKS, WIRINGS))
        axes = figure.subplots(
            len(settings.noises), len(panels), sharex=True, sharey=True, squeeze=False
        )
        for row, noise in zip(axes, settings.noises, strict=True):
            for ax, (task, wiring) in zip(row, panels, strict=True):
                here = [
                    cell
                    for cell in cells
                    if (cell.task, cell.wiring, cell.noise) == (task, wiring, noise)
                ]
                _panel(ax, here, settings)
            row[0].set_ylabel(f"{_name_noise(noise)}\nbase")
        for above, below, (task, wiring) in zip(axes[0], axes[-1], panels, strict=True):
            # The task's name stands over both of its panels.
            name = (
                f"{TASKS[task]} (chance {streams.CHANCE[task]:.3g})" if wiring == WIRINGS[0] else ""
            )
            above.set_title(f"{name}\n{wiring}")
            below.set_xlabel("number of pools")
        label = "accuracy of a linear reader"
        image = axes[0, 0].images[0]  # all have the same colours
        figure.colorbar(image, ax=axes, fraction=0.012, pad=0.01, label=label)
        paths = _style.save(figure, out, NAME)
    return [*paths, _write(cells, Path(out) / f"{NAME}.csv")]


def _name_noise(noise: float) -> str:
    return f"noise {noise:g}" if noise else "no noise"


def _panel(ax: Axes, cells: list[Cell], settings: Settings) -> None:
    table = np.full((len(settings.bases), len(settings.pools)), np.nan)
    for cell in cells:
        row, column = settings.bases.index(cell.base), settings.pools.index(cell.pools)
        table[row, column] = cell.accuracy
        # White on dark cells.
        colour = "white" if cell.accuracy < 0.6 else "black"
        ax.text(column, row, f"{cell.accuracy:.2f}", ha="center", va="center", color=colour)
    ax.imshow(table, cmap="viridis", aspect="auto", vmin=0, vmax=1)
    ax.set_xticks(range(len(settings.pools)), [str(pools) for pools in settings.pools])
    ax.set_yticks(range(len(settings.bases)), [f"{base:g}" for base in settings.bases])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _write(cells: list[Cell], path: Path) -> Path:
    """One line per cell; numbers with as many digits as their errors allow."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in dataclasses.fields(Cell))
    for cell in cells:
        numbers = [f"{cell.accuracy:.4f}", f"{cell.error:.4f}", f"{cell.distinct:.2f}"]
        writer.writerow(
            [cell.task, cell.wiring, f"{cell.noise:g}", f"{cell.base:g}", cell.pools, *numbers]
        )
    write_atomically(path, lambda file: file.write(text.getvalue().encode()))
    return path
