"""What a linear reader could do: the accuracy with which classes can be read from pools.

Symbols are one-hot inputs, so each pool holds one number per symbol: its share in what the pool
averages. The reader is a linear discriminant with one covariance for all classes and equal
priors: the best reader there is if contents are normal, and one that a network with hidden layers
may surpass if they are not.

Neighbouring pools hold nearly the same. `noise` says how exactly a reader tells them apart: the
standard deviation of white noise on each number, relative to the deviation of its pool.
"""

import numpy as np
import scipy
from jaxtyping import Float, Integer

from longpass import _checks
from longpass._rates import Rates
from longpass.theory._filters import Wiring, impulse_response, transition

# How often noise is drawn for each sample that is measured.
_DRAWS = 8


def fill_pools(
    symbols: Integer[np.ndarray, "streams sequences length"],
    rates: Rates,
    *,
    wiring: Wiring = "chain",
    num_symbols: int | None = None,
    start: Float[np.ndarray, " symbols"] | None = None,
) -> Float[np.ndarray, "streams sequences k symbols"]:
    """What pools hold at the last symbol of each sequence, fed with one-hot symbols.

    The sequences of a stream follow each other, and the memory is not cleared between them. For
    sequences that have nothing to do with each other, give each a stream of its own.

    **Arguments:**

    - `symbols`: the newest last. A negative number in front of a sequence is no step at all, so
      that sequences may differ in length.
    - `rates`: of the pools.
    - `wiring`: "chain" or "parallel".
    - `num_symbols`: how many different symbols there are; by default as many as occur.
    - `start`: what every pool holds before the first sequence: one number per symbol, by default 0.

    **Returns:** contents of k pools, one number per pool and symbol.
    """
    symbols = np.asarray(symbols)
    _check_symbols(symbols)
    streams, sequences, length = symbols.shape
    count = int(symbols.max()) + 1 if num_symbols is None else num_symbols
    count = _checks.int_within("num_symbols", count, max(1, int(symbols.max()) + 1), None)
    start = np.zeros(count) if start is None else np.asarray(start, dtype=np.float64)
    if start.shape != (count,):
        raise ValueError(f"start has shape {start.shape}: it must be ({count},), one per symbol")
    weights = impulse_response(rates, length, wiring)[:, ::-1].T
    flat = symbols.reshape(-1, length)
    added = np.stack([(flat == one).astype(np.float64) @ weights for one in range(count)], axis=-1)
    contents = added.reshape(streams, sequences, -1, count)
    # What was held before decays over as many steps as the sequence has.
    decays = _powers(transition(rates, wiring)[0], length)
    lengths = np.sum(symbols >= 0, axis=-1)
    held = np.broadcast_to(start, contents[:, 0].shape)
    for place in range(sequences):
        contents[:, place] += decays[lengths[:, place]] @ held
        held = contents[:, place]
    return contents


def measure_linear_reader(
    contents: Float[np.ndarray, "samples k channels"],
    labels: Integer[np.ndarray, " samples"],
    *,
    noise: float = 0.01,
    seed: int = 0,
) -> tuple[float, float]:
    """How often a linear reader of pools names the right class.

    It is fitted to the first half of the samples and measured on the second, so the halves should
    be independent. With `noise` 0 only rounding and the size of the sample limit what it can read.

    **Arguments:**

    - `contents`: of the pools when they are read, as `fill_pools` gives them, with streams and
      sequences as one axis.
    - `labels`: the class of each sample, from 0 on.
    - `noise`: deviation of the white noise on each number, relative to that of its pool: the root
      mean square of the deviations of the pool's channels.
    - `seed`: of the noise in the measurement.

    **Returns:** (accuracy, its standard error).
    """
    contents, labels = np.asarray(contents, dtype=np.float64), np.asarray(labels)
    noise = _checks.real("noise", noise, least=0.0)
    if contents.ndim != 3 or labels.shape != contents.shape[:1]:
        raise ValueError(
            f"contents has shape {contents.shape} and labels {labels.shape}: they must be "
            f"(samples, pools, channels) and (samples,)"
        )
    half = len(labels) // 2
    classes = np.arange(labels.max(initial=0) + 1)
    missing = np.setdiff1d(classes, labels[:half])
    if labels.min(initial=0) < 0 or len(classes) < 2 or missing.size:
        raise ValueError(
            f"labels has the classes {np.unique(labels[:half]).tolist()} in its first half: it "
            f"must have all from 0 to {max(int(classes[-1]), 1)} there"
        )
    if half < contents[0].size:
        raise ValueError(
            f"contents has {len(labels)} samples of {contents[0].size} numbers: it must have at "
            f"least twice as many samples as numbers"
        )
    scale = np.sqrt(np.mean(np.var(contents[:half], axis=0), axis=-1, keepdims=True))
    scaled = (contents - contents[:half].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    scaled = scaled.reshape(len(labels), -1)
    weights, offsets = _fit(scaled[:half], labels[:half], len(classes), noise)
    scores = scaled[half:] @ weights + offsets
    disturbances = noise * _project_white_noise(weights, (_DRAWS, len(scores)), seed)
    right = np.mean((scores + disturbances).argmax(axis=-1) == labels[half:], axis=0)
    return float(right.mean()), float(right.std() / np.sqrt(len(right)))


def count_distinct_pools(rates: Rates, *, wiring: Wiring = "chain", noise: float = 0.01) -> float:
    """How many of the pools a reader can tell apart, at most their number.

    For white inputs, the covariance of pools that are scaled to deviation 1 has the eigenvalues
    g_i; a direction counts g_i / (g_i + noise^2). Without noise all pools count, and two pools of
    equal contents count as one.

    **Arguments:**

    - `rates`: of the pools, fastest first.
    - `wiring`: `"chain"` or `"parallel"`.
    - `noise`: the standard deviation of noise on pools that are scaled to deviation 1.

    **Returns:**

    The count, which need not be whole.

    >>> round(count_distinct_pools((0.5, 0.25, 0.125), noise=0.1), 2)
    2.9
    """
    noise = _checks.real("noise", noise, least=0.0)
    A, c = transition(rates, wiring)
    covariance = np.atleast_2d(scipy.linalg.solve_discrete_lyapunov(A, np.outer(c, c)))
    deviations = np.sqrt(np.diag(covariance))
    gains = np.linalg.eigvalsh(covariance / np.outer(deviations, deviations))
    gains = gains[gains > gains[-1] * np.finfo(np.float64).eps * len(gains)]
    return float(np.sum(gains / (gains + noise**2)))


def _check_symbols(symbols: np.ndarray) -> None:
    if symbols.ndim != 3 or symbols.size == 0:
        raise ValueError(
            f"symbols has shape {symbols.shape}: it must be (streams, sequences, length), each at "
            f"least 1"
        )
    if np.any(symbols[..., -1] < 0) or np.any((symbols[..., 1:] < 0) & (symbols[..., :-1] >= 0)):
        raise ValueError(
            "symbols has a negative number after a symbol: these must stand in front of a sequence"
        )


def _powers(A: np.ndarray, most: int) -> np.ndarray:
    """A to the powers 0 to `most`."""
    powers = [np.eye(len(A))]
    for _ in range(most):
        powers.append(powers[-1] @ A)
    return np.stack(powers)


def _fit(
    contents: np.ndarray, labels: np.ndarray, classes: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """(Weights, offsets) of the linear discriminant, of shapes (features, classes), (classes,)."""
    means = np.stack([contents[labels == one].mean(axis=0) for one in range(classes)])
    # Singular values of the samples: a covariance would square them, and lose half the digits.
    triangle = np.linalg.qr(contents - means[labels], mode="r")
    _, gains, right = np.linalg.svd(triangle)
    # What does not vary within classes is known up to rounding.
    rounding = max(gains[0], 1.0) * np.finfo(np.float64).eps * max(contents.shape)
    variances = np.maximum(gains, rounding) ** 2 / max(len(labels) - classes, 1)
    weights = right.T @ ((right @ means.T) / (variances + noise**2)[:, None])
    return weights, -0.5 * np.sum(means.T * weights, axis=0)


def _project_white_noise(weights: np.ndarray, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """White noise of deviation 1 on features, as it appears in the scores (*shape, classes).

    Drawn in the few directions that the weights read.
    """
    _, gains, right = np.linalg.svd(weights, full_matrices=False)
    drawn = np.random.default_rng(seed).normal(size=(*shape, len(gains)))
    return drawn @ (gains[:, None] * right)
