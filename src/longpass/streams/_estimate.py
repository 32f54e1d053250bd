"""An estimate of how long runs take, shown before they start."""

from collections.abc import Iterable

from longpass.streams._settings import LearnerName, StreamSettings, choose_learner

# Seconds on one core of the machine that results/ was made on. Native code: fitted by least squares
# to 360 random runs of the preset laptop. JAX: fitted by hand to records.
_NATIVE_START = 0.2  # from settings to the first update, and measuring at the end
_JAX_START = 7.0  # with compiling
_LABEL = 1 / 105  # labels per symbol


def estimate_seconds(runs: Iterable[StreamSettings], learner: LearnerName | None = None) -> float:
    """The core-seconds that runs will take, within a factor of two.

    **Arguments:**

    - `runs`: their settings.
    - `learner`: what computes the updates, as for `StreamTraining`.

    **Returns:**

    Seconds of one core.
    """
    return sum(_estimate_run(settings.resolved(), learner) for settings in runs)


def _estimate_run(s: StreamSettings, learner: LearnerName | None) -> float:
    native = choose_learner(s, learner) == "native"
    if s.has_pools:
        seconds = _estimate_pools(s) if native else _estimate_pools_by_jax(s)
    else:
        seconds = _estimate_gates(s) if native else _estimate_gates_by_jax(s)
    return seconds + (_NATIVE_START if native else _JAX_START)


def _estimate_pools(s: StreamSettings) -> float:
    assert s.pool_size is not None
    assert s.num_pools is not None
    assert s.viewport_size is not None
    weights = (s.num_pools + 1) * s.viewport_size * (s.pool_size + s.hidden_size)
    units = s.num_pools * s.pool_size
    per_symbol = 29 + 0.112 * units + 0.246 * weights * _LABEL
    return 1e-9 * (s.updates * (1093 + 0.217 * weights) + _count_symbols(s) * per_symbol)


def _estimate_gates(s: StreamSettings) -> float:
    assert s.state_size is not None
    size, weights = s.state_size, _count_gate_weights(s)
    # Only streams with a label have a backward pass, up to that label.
    backward = min(0.85, s.truncation * _LABEL / 2)
    per_symbol = (1 + backward) * (32 + 1.95 * size) + (1 + 2 * backward) * 0.089 * size**2
    return 1e-9 * (s.updates * (1387 + 0.297 * weights) + _count_symbols(s) * per_symbol)


def _estimate_pools_by_jax(s: StreamSettings) -> float:
    assert s.pool_size is not None
    assert s.num_pools is not None
    assert s.viewport_size is not None
    weights = (s.num_pools + 1) * s.viewport_size * (s.pool_size + s.hidden_size)
    filters = s.num_pools * (s.num_pools + 8) * s.pool_size * 2
    flops = 6 * weights * _count_symbols(s) * _LABEL + s.updates * s.batch_size * filters
    per_symbol = 25 * (1 + s.num_pools / 8)
    return 1e-9 * (s.updates * (8000 + 1.2 * weights) + _count_symbols(s) * per_symbol + flops / 25)


def _estimate_gates_by_jax(s: StreamSettings) -> float:
    size = _state_size(s)
    # Without a label in the minibatch there is no backward pass.
    learned = min(1.0, s.minibatch * _LABEL)
    flops = 2 * 4 * size * (size + 18) * _count_symbols(s) * (1 + 2 * learned)
    per_update = 8000 + 1.2 * _count_gate_weights(s)
    return 1e-9 * (s.updates * per_update + _count_symbols(s) * 25 + flops / 25)


def _count_symbols(s: StreamSettings) -> int:
    return s.updates * s.minibatch


def _count_gate_weights(s: StreamSettings) -> int:
    size = _state_size(s)
    return 4 * size * (size + 9) + size * s.hidden_size


def _state_size(s: StreamSettings) -> int:
    """Units of a memory without pools; of a factory's they are not known."""
    return 32 if s.state_size is None else s.state_size
