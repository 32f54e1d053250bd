"""Initial weights by NumPy: those of `make_network`, up to rounding, with nothing compiled.

A program that draws them takes JAX a second to compile for each new size of network, as long as
native code takes to train a small one. Here the same numbers are drawn from the same keys.
`make_network` is the definition, and tests hold this equal to it.
"""

import math
from typing import TypeAlias

import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float
from scipy.special import erf, erfinv

from longpass.streams._native_streams import derive_key, draw_words
from longpass.streams._settings import StreamSettings
from longpass.streams._tasks import make_task

Key: TypeAlias = tuple[int, int]
Arrays: TypeAlias = list[Float[np.ndarray, "..."]]

_TRUNCATED_DEVIATION = 0.87962566103423978  # of a standard normal within two deviations


def draw_native_weights(
    settings: StreamSettings, dtype: DTypeLike
) -> Float[np.ndarray, " weights"]:
    """All weights of a run's network before its first update, in the order of its layout.

    **Arguments:**

    - `settings`: of the run, complete; `choose_learner` says which there may be.
    - `dtype`: of the weights.
    """
    task = make_task(settings.task, settings.words_seed)
    symbols, classes, kind = len(task.alphabet), len(task.classes), np.dtype(dtype)
    embedding, memory, hidden, logits = _split(derive_key((0, settings.seed), 0), 4)
    arrays: Arrays = []
    if settings.memory == "lstm":
        assert settings.state_size is not None
        arrays += _draw_lstm(memory, symbols, settings.state_size, kind)
        arrays += _draw_layer(hidden, settings.state_size, settings.hidden_size, kind)
    else:
        assert settings.pool_size is not None
        inputs = symbols
        if settings.memory == "parallel":
            weight, bias = _draw_layer(embedding, symbols, settings.pool_size, kind)
            arrays += [weight, np.zeros_like(bias)]
            inputs = settings.pool_size
        reader = memory if settings.memory == "parallel" else derive_key(memory, 0)
        arrays += _draw_pools(reader, inputs, settings, kind)
    arrays += _draw_layer(logits, settings.hidden_size, classes, kind)
    return np.concatenate([array.ravel() for array in arrays])


def _draw_pools(key: Key, inputs: int, settings: StreamSettings, dtype: np.dtype) -> Arrays:
    """As `Concrete` and `Parallel`: the writing matrix and the reader."""
    D, k, V = settings.pool_size, settings.num_pools, settings.viewport_size
    assert D is not None
    assert k is not None
    assert V is not None
    assert settings.base is not None
    views, M = (k + 1) * V, settings.hidden_size
    input_key, pool_key, summary_key = _split(key, 3)
    return [
        np.eye(D, inputs, dtype=dtype) * dtype.type(1 / settings.base),
        _draw_lecun(input_key, (V, inputs), dtype),
        _draw_lecun(pool_key, (k, V, D), dtype),
        np.zeros(views, dtype),
        _draw_lecun(summary_key, (M, views), dtype),
        np.zeros(M, dtype),
    ]


def _draw_lstm(key: Key, inputs: int, size: int, dtype: np.dtype) -> Arrays:
    """As `LSTM`: gates by input and state, and their bias."""
    keys = _split(key, 8)
    limit = math.sqrt(6 / (inputs + size))
    by_input = [_draw_uniform(one, (size, inputs), -1.0, 1.0, dtype) * limit for one in keys[:4]]
    by_state = [_draw_orthogonal(one, size, dtype) for one in keys[4:]]
    bias = np.zeros(4 * size, dtype)
    bias[size : 2 * size] = 1.0
    return [np.concatenate(by_input).astype(dtype), np.concatenate(by_state), bias]


def _draw_layer(key: Key, inputs: int, outputs: int, dtype: np.dtype) -> Arrays:
    """As `eqx.nn.Linear`: weight and bias."""
    limit = 1 / math.sqrt(inputs)
    weight, bias = _split(key, 2)
    return [
        _draw_uniform(weight, (outputs, inputs), -limit, limit, dtype),
        _draw_uniform(bias, (outputs,), -limit, limit, dtype),
    ]


def _draw_lecun(key: Key, shape: tuple[int, ...], dtype: np.dtype) -> Float[np.ndarray, "..."]:
    """As `jax.nn.initializers.lecun_normal`, with inputs as the last axis."""
    end = erf(2 / math.sqrt(2))
    normal = math.sqrt(2) * erfinv(_draw_uniform(key, shape, -end, end, dtype))
    return (normal / _TRUNCATED_DEVIATION / math.sqrt(shape[-1])).astype(dtype)


def _draw_orthogonal(key: Key, size: int, dtype: np.dtype) -> Float[np.ndarray, "size size"]:
    """As `jax.random.orthogonal`."""
    low = float(np.nextafter(dtype.type(-1), dtype.type(0)))
    normal = math.sqrt(2) * erfinv(_draw_uniform(key, (size, size), low, 1.0, dtype))
    q, r = np.linalg.qr(normal.astype(dtype))
    return q * np.sign(np.diagonal(r))


def _draw_uniform(
    key: Key, shape: tuple[int, ...], low: float, high: float, dtype: np.dtype
) -> Float[np.ndarray, "..."]:
    """As `jax.random.uniform`."""
    first, second = draw_words(key, math.prod(shape))
    # Random bits as the fraction of a number from 1 to 2.
    if dtype == np.float32:
        bits = ((first ^ second) >> np.uint32(9)) | np.uint32(0x3F800000)
    else:
        words = (first.astype(np.uint64) << np.uint64(32)) | second
        bits = (words >> np.uint64(12)) | np.uint64(0x3FF0000000000000)
    fraction = bits.view(dtype) - dtype.type(1)
    span, low = dtype.type(high) - dtype.type(low), dtype.type(low)
    return np.maximum(low, fraction * span + low).reshape(shape)


def _split(key: Key, count: int) -> list[Key]:
    """As `jax.random.split`."""
    return [derive_key(key, n) for n in range(count)]
