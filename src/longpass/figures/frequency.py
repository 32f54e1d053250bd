"""Which frequencies each pool passes: what kind of cue it can still hold.

Section 4.1 of the paper speaks of these; it has no such figure.
"""

import dataclasses
from pathlib import Path

import numpy as np

from longpass import theory
from longpass.figures import _style
from longpass.memory import rates


@dataclasses.dataclass(frozen=True)
class Settings:
    """The pools of the impulse figure."""

    base: float = 2.0
    pools: int = 12


def draw(out: Path, settings: Settings | None = None) -> list[Path]:
    """Draw frequency.png and frequency.svg into `out`."""
    settings = settings or Settings()
    a = rates(settings.base, settings.pools)
    omega = np.geomspace(1e-5, np.pi, 2000)
    with _style.styled():
        figure = _style.new(6.5, 3.0)
        axes = figure.subplots(1, 2, sharey=True)
        for axis, wiring in zip(axes, ("chain", "parallel"), strict=True):
            gain = np.abs(theory.frequency_response(a, omega, wiring))
            for n, curve in enumerate(20 * np.log10(gain)):
                style = _style.CYCLE[n % len(_style.CYCLE)]
                axis.plot(2 * np.pi / omega, curve, **style, label=str(n + 1))
            axis.axhline(-3, color=_style.GREY, linewidth=0.6)
            axis.set(xscale="log", ylim=(-60, 3), title=wiring.capitalize())
            axis.set_xlim(2, 2e5)
            axis.set_xlabel("period of the signal (steps, log scale)")
        axes[0].set_ylabel("gain (dB)")
        axes[0].text(2.2, -2.6, "−3 dB", fontsize=6, color=_style.GREY, va="bottom")
        axes[1].legend(title="pool", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return _style.save(figure, out, "frequency")
