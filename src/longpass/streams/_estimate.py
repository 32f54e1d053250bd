"""An estimate of how long runs take, shown before they start."""

from collections.abc import Iterable

from longpass.streams._settings import StreamSettings

# Seconds on one core of the machine that results/ was made on, fitted by hand to its records.
_START = 7.0  # making a network and compiling
_CALL = 8e-6  # an update, whatever its size
_WEIGHT = 1.2e-9  # a weight's step of Adam
_POOL_SYMBOL = 2.5e-8  # drawing and filtering a symbol
_FLOP = 1 / 25e9  # an operation of a layer


def estimate_seconds(runs: Iterable[StreamSettings]) -> float:
    """The core-seconds that runs will take, within a factor of two."""
    return sum(_estimate_run(settings.resolved()) for settings in runs)


def _estimate_run(s: StreamSettings) -> float:
    assert s.symbols is not None
    labels = s.symbols / 105
    if s.pool_size is not None and s.num_pools is not None and s.viewport_size is not None:
        weights = (s.num_pools + 1) * s.viewport_size * (s.pool_size + s.hidden_size)
        pools = s.num_pools * (s.num_pools + 8) * s.pool_size * 2
        flops = 6 * weights * labels + s.updates * s.batch_size * pools
        streams = _POOL_SYMBOL * s.symbols * (1 + s.num_pools / 8)
    else:
        assert s.state_size is not None
        weights = 4 * s.state_size * (s.state_size + 9) + s.state_size * s.hidden_size
        # Without a label in the minibatch there is no backward pass.
        learned = min(1.0, s.minibatch / 105)
        flops = 2 * 4 * s.state_size * (s.state_size + 8 + 10) * s.symbols * (1 + 2 * learned)
        streams = _POOL_SYMBOL * s.symbols
    return _START + s.updates * (_CALL + _WEIGHT * weights) + _FLOP * flops + streams
