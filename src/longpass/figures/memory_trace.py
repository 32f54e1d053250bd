"""The paper's appendix A: two strings, and their difference, flowing through six pools."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from longpass.figures import _style
from longpass.memory import OrthonormalTanh, PoolChain, rates

TEXTS = ("machinelearning", "itsmycatmittens", "migrainechannel")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclasses.dataclass(frozen=True)
class Settings:
    """Six pools with random rotations and tanh between them, as in the paper.

    The base, the seed and how long to watch are ours.
    """

    base: float = 2.0
    pools: int = 6
    steps: int = 150
    seed: int = 0


def trace(text: str, settings: Settings) -> np.ndarray:
    """All pools at every step (steps, k, 26): `text` is fed letter by letter, then nothing."""
    link = OrthonormalTanh(len(LETTERS), settings.pools, key=jax.random.key(settings.seed))
    chain = PoolChain(len(LETTERS), rates(settings.base, settings.pools), link=link)
    symbols = np.zeros((settings.steps, len(LETTERS)), np.float32)
    symbols[np.arange(len(text)), [LETTERS.index(letter) for letter in text]] = 1.0
    _, pools = chain.unroll(chain.initial_state(), jnp.asarray(symbols, chain.dtype))
    return np.asarray(pools)


def draw(out: Path, settings: Settings | None = None) -> list[Path]:
    """Draw memory-trace.png and memory-trace.svg into `out`."""
    settings = settings or Settings()
    one, other, anagram = (trace(text, settings) for text in TEXTS)
    panels = {
        TEXTS[0]: one,
        TEXTS[1]: other,
        f"| {TEXTS[0]} − {TEXTS[1]} |": np.abs(one - other),
        f"| {TEXTS[0]} − {TEXTS[2]} |, an anagram": np.abs(one - anagram),
    }
    with _style.styled():
        figure = _style.new(7.0, 8.4)
        axes = figure.subplots(4, 1)
        for axis, (title, pools) in zip(axes, panels.items(), strict=True):
            _panel(axis, title, pools, signed=not title.startswith("|"))
        axes[0].text(0, 16, "last letter", fontsize=6, color=_style.VERMILION, va="top", ha="left")
        return _style.save(figure, out, "memory-trace")


def _panel(axis, title: str, pools: np.ndarray, *, signed: bool) -> None:
    """Pools side by side, time downwards; each pool on its own scale, since slow ones are faint."""
    steps, k, size = pools.shape
    scaled = pools / np.abs(pools).max(axis=(0, 2), keepdims=True)
    gap = np.full((steps, 2), np.nan)
    strips = [part for n in range(k) for part in (scaled[:, n], gap)][:-1]
    image = np.concatenate(strips, axis=1)
    low = -1 if signed else 0
    colours = "PuOr" if signed else "Greys"
    drawn = axis.imshow(
        image, aspect="auto", cmap=colours, vmin=low, vmax=1, interpolation="nearest"
    )
    axis.axhline(len(TEXTS[0]) - 0.5, color=_style.VERMILION, linewidth=0.6)
    axis.set_xticks(
        [n * (size + 2) + size / 2 for n in range(k)], [f"pool {n + 1}" for n in range(k)]
    )
    axis.tick_params(axis="x", length=0)
    axis.set(title=title, ylabel="step")
    axis.spines[:].set_visible(False)
    axis.figure.colorbar(drawn, ax=axis, fraction=0.015, pad=0.01, ticks=[low, 1])
