"""Which initial weights of gated memories can hold what was taught at all? A supervised probe.

As in Cued Catch, four cues are each shown for ten steps with one of two balls; then come cues
without balls, seven steps each. From `delay` steps on, the ball of the cue is asked for at every
step. Gradients pass through the whole sequence, so what is asked is only whether a memory can be
trained to hold the pairs that long, with which initial biases and learning rate. Nothing of
reinforcement learning is involved.

    python scripts/probe_delays.py --out results/agents/probe.jsonl

Each run appends one line; the same command makes only the runs that are not recorded.
"""

import dataclasses
import functools
import itertools
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import tyro
from jaxtyping import Array, Float, Int, PRNGKeyArray

from longpass.memory import MemoryLike
from longpass.networks import MemoryOptions, make_memory
from longpass.records import Line, provenance
from probes import train_missing

_CUES, _BALLS = 4, 2
_INPUT = _CUES + _BALLS
_TEACH, _TRIAL = 10, 7  # steps for which a pair and a cue are shown
_QUESTIONS = 70  # steps per sequence at which the ball is asked for
_HELD_OUT = 128  # sequences
_SOLVED = 0.98  # accuracy at which a run ends
_EVERY = 50  # updates between held-out accuracies

MEMORIES: dict[str, tuple[str, MemoryOptions]] = {
    "lstm, forget bias 1": ("lstm", {}),
    "lstm, forget bias 3": ("lstm", {"forget_bias": 3.0}),
    "lstm, longest time 100": ("lstm", {"longest_time": 100}),
    "lstm, longest time 300": ("lstm", {"longest_time": 300}),
    "lstm, longest time 700": ("lstm", {"longest_time": 700}),
    "gru, longest time 300": ("gru", {"longest_time": 300}),
}


@dataclasses.dataclass(frozen=True)
class Probe:
    """Train each memory at each delay with each learning rate."""

    out: Path
    """The file of records."""
    memories: tuple[str, ...] = tuple(MEMORIES)
    """Which memories, by their names in `MEMORIES`."""
    delays: tuple[int, ...] = (35, 75, 140, 300)
    """Steps between the last pair and the first question."""
    learning_rates: tuple[float, ...] = (1e-3, 3e-4)
    """Adam's learning rates."""
    updates: int = 2000
    """Updates after which a run ends, if it has not reached an accuracy of 0.98."""
    batch_size: int = 16
    """Sequences per update."""
    size: int = 128
    """Units of the output."""
    seed: int = 0
    """Seed of weights and sequences."""


def draw_sequences(
    key: PRNGKeyArray, count: int, delay: int
) -> tuple[Float[Array, "time count input"], Int[Array, "questions count"]]:
    """Sequences, time first, and the balls that are asked for at their last steps."""
    balls_key, order_key, cue_key = jax.random.split(key, 3)
    balls = jax.random.randint(balls_key, (count, _CUES), 0, _BALLS)
    order = jax.vmap(functools.partial(jax.random.permutation, x=_CUES))(
        jax.random.split(order_key, count)
    )
    taught = jax.nn.one_hot(order, _INPUT) + jax.nn.one_hot(
        _CUES + jnp.take_along_axis(balls, order, 1), _INPUT
    )
    steps = delay + _QUESTIONS
    cues = jax.random.randint(cue_key, (count, -(-steps // _TRIAL)), 0, _CUES)
    cues = jnp.repeat(cues, _TRIAL, axis=1)[:, :steps]
    taught = jnp.repeat(taught, _TEACH, axis=1)
    xs = jnp.concatenate([taught, jax.nn.one_hot(cues, _INPUT)], axis=1)
    answers = jnp.take_along_axis(balls, cues[:, -_QUESTIONS:], 1)
    return jnp.swapaxes(xs, 0, 1), answers.T


class Network(eqx.Module):
    """A memory and a linear layer on its outputs at the questions."""

    memory: MemoryLike
    head: eqx.nn.Linear

    def __call__(
        self, xs: Float[Array, "time count input"]
    ) -> Float[Array, "questions count balls"]:
        _, ys = self.memory.unroll_batch(self.memory.initial_state((xs.shape[1],)), xs)
        return jax.vmap(jax.vmap(self.head))(ys[-_QUESTIONS:])


def train(probe: Probe, name: str, delay: int, learning_rate: float, seed: int) -> Line:
    """Train one network; its line."""
    kind, options = MEMORIES[name]
    memory_key, head_key, held_out_key, key = jax.random.split(jax.random.key(seed), 4)
    network = Network(
        make_memory(kind, _INPUT, probe.size, key=memory_key, **options),
        eqx.nn.Linear(probe.size, _BALLS, key=head_key),
    )
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(learning_rate))
    held_out, answers = draw_sequences(held_out_key, _HELD_OUT, delay)

    def loss(network: Network, key: PRNGKeyArray) -> Array:
        xs, balls = draw_sequences(key, probe.batch_size, delay)
        return optax.softmax_cross_entropy_with_integer_labels(network(xs), balls).mean()

    @eqx.filter_jit
    def some_updates(network, state, key):
        def update(carry, key):
            network, state = carry
            changes, state = optimiser.update(jax.grad(loss)(network, key), state)
            return (eqx.apply_updates(network, changes), state), None

        carry, _ = jax.lax.scan(update, (network, state), jax.random.split(key, _EVERY))
        return *carry, jnp.mean(carry[0](held_out).argmax(-1) == answers)

    state = optimiser.init(eqx.filter(network, eqx.is_array))
    curve, began = [], time.monotonic()
    for updates in range(_EVERY, probe.updates + 1, _EVERY):
        key, use = jax.random.split(key)
        network, state, accuracy = some_updates(network, state, use)
        curve.append([updates, round(float(accuracy), 4)])
        if curve[-1][1] >= _SOLVED:
            break
    return {
        "event": "result",
        "kind": "probe",
        "memory": name,
        "delay": delay,
        "learning_rate": learning_rate,
        "seed": seed,
        "accuracy": curve[-1][1],
        "curve": curve,
        "seconds": round(time.monotonic() - began, 1),
        **provenance(),
    }


def main() -> None:
    probe = tyro.cli(Probe, description=__doc__)
    names = ("memory", "delay", "learning_rate", "seed")
    points = itertools.product(probe.memories, probe.delays, probe.learning_rates, (probe.seed,))
    shared = {"batch_size": probe.batch_size, "size": probe.size, "most_updates": probe.updates}
    train_missing(probe.out, names, points, functools.partial(train, probe), shared)


if __name__ == "__main__":
    main()
