"""The paper's figure 2: through which windows pools see the past, chained and in parallel."""

import dataclasses
from pathlib import Path

import numpy as np

from longpass import theory
from longpass.figures import _style
from longpass.memory import rates


@dataclasses.dataclass(frozen=True)
class Settings:
    """Twelve pools, as in the paper; it does not name its base."""

    base: float = 2.0
    pools: int = 12
    length: int = 40_000


_TITLES: dict[theory.Wiring, str] = {
    "chain": "Chain: each pool filters the one before it",
    "parallel": "Parallel: each pool filters the input",
}


def responses(settings: Settings, wiring: theory.Wiring) -> np.ndarray:
    """Impulse responses (k, length), each divided by its largest value."""
    response = theory.impulse_response(
        rates(settings.base, settings.pools), settings.length, wiring
    )
    return response / response.max(axis=1, keepdims=True)


def draw(out: Path, settings: Settings | None = None) -> list[Path]:
    """Draw impulse.png and impulse.svg into `out`."""
    settings = settings or Settings()
    with _style.styled():
        figure = _style.new(6.5, 4.6)
        axes = figure.subplots(2, 1, sharex=True)
        # Log time has no 0: the newest input stands at 1.
        age = np.arange(1, settings.length + 1)
        for axis, wiring in zip(axes, _TITLES, strict=True):
            for n, response in enumerate(responses(settings, wiring)):
                style = _style.CYCLE[n % len(_style.CYCLE)]
                axis.plot(age, response, **style)
                at, height = _label_place(response, wiring)
                axis.text(
                    at, height, str(n + 1), fontsize=7, color=style["color"], ha="center",
                    va="center", bbox={"color": "white", "pad": 0.6},
                )  # fmt: skip
            axis.set(xscale="log", ylim=(0, 1.14), title=_TITLES[wiring], xlim=(0.9, age[-1]))
            axis.set_ylabel("response / its peak")
        axes[1].set_xlabel("age of the input (steps, newest = 1, log scale)")
        figure.suptitle(
            f"{settings.pools} pools, base {settings.base:g}", fontsize=8, x=0.99, ha="right"
        )
        return _style.save(figure, out, "impulse")


def _label_place(response: np.ndarray, wiring: theory.Wiring) -> tuple[float, float]:
    """Where to write a pool's number: over its peak, or where it falls through a half."""
    if wiring == "chain":
        return float(np.argmax(response)) + 1.0, 1.07
    below = int(np.argmax(response <= 0.5))
    return float(np.interp(0.5, response[[below, below - 1]], [below + 1.0, below])), 0.5
