"""Which forms of the chain can be read at all? A supervised probe of Cued Catch, in minutes.

The network of an agent watches random play, and at every frame of a trial the label is the ball
that the cue names. Nothing of reinforcement learning is involved, so what is asked is only how many
updates a reader needs, by how the writer learns, how the embedding begins and how pools are scaled.

    python scripts/probe_reading.py --out results/agents/reading.jsonl

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
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from longpass.agents import NetworkBuilder, resolve_settings
from longpass.agents._networks import init_embedding, trained_weights
from longpass.envs import Action, CuedCatch, CuedCatchParams
from longpass.networks import ActorCritic, Embedding, Writer
from longpass.records import Line, provenance
from probes import train_missing

_SAMPLE = 16  # episodes to which a sparse embedding is adapted
_EVERY = 100  # updates between two points of the curve


@dataclasses.dataclass(frozen=True)
class Probe:
    """Train a network of each form."""

    out: Path
    """The file of records."""
    writers: tuple[Writer, ...] = ("learned", "frozen")
    """How weights that write into the chain learn."""
    embeddings: tuple[Embedding, ...] = ("plain", "sparse")
    """How the embedding begins."""
    normalise: tuple[str, ...] = ("none", "layer")
    """How pools are scaled before they are read."""
    trials: tuple[int, ...] = (20,)
    """Trials of an episode, none of them reward-free."""
    updates: int = 3000
    """Updates of each run."""
    episodes: int = 8
    """Episodes per update."""
    learning_rate: float = 5e-4
    """Adam's learning rate."""
    epsilon: float = 1e-7
    """Adam's epsilon."""
    seed: int = 0
    """Seed of weights and episodes."""


def watch(
    key: PRNGKeyArray, params: CuedCatchParams
) -> tuple[Bool[Array, "time *board"], Int[Array, " time"], Bool[Array, " time"]]:
    """One episode of random play: frames, the balls that cues name, and where one is asked for."""
    env = CuedCatch()
    reset_key, action_key, step_key = jax.random.split(key, 3)
    frame, state = env.reset(reset_key, params)
    length = env.episode_length(params) - 1

    def step(carry, action):
        frame, state = carry
        next_frame, next_state, *_ = env.step(step_key, state, action, params)
        return (next_frame, next_state), (frame, state)

    actions = jax.random.randint(action_key, (length,), 0, len(Action))
    _, (frames, states) = jax.lax.scan(step, (frame, state), actions)
    taught = 4 * params.initial_cue_duration  # frames
    since = states.frame - (taught - 1)  # a trial has 7
    cues = jnp.take_along_axis(states.hidden.cue_sequence, jnp.maximum(since // 7, 0)[:, None], 1)
    balls = jnp.take_along_axis(states.hidden.cues_to_balls, cues.astype(int), 1)[:, 0]
    return frames, balls.astype(jnp.int32), since > 0


def read(
    network: ActorCritic, key: PRNGKeyArray, params: CuedCatchParams, episodes: int
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """(Cross-entropy, accuracy) over the frames of some episodes where a ball is asked for.

    The first two action logits are the answer.
    """
    frames, balls, asked = jax.vmap(lambda key: watch(key, params))(jax.random.split(key, episodes))
    inputs = jnp.swapaxes(network.embed(frames), 0, 1)
    start = network.memory.initial_state((episodes,))
    _, outputs = network.memory.unroll_batch(start, inputs)
    logits = network.decide(jnp.swapaxes(outputs, 0, 1))[0][..., :2]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, balls)
    right = logits.argmax(-1) == balls
    return jnp.mean(losses, where=asked), jnp.mean(right, where=asked)


def train(
    probe: Probe, writer: Writer, embedding: Embedding, normalise: str, trials: int, seed: int
) -> Line:
    """Train one network; its line."""
    env, params = CuedCatch(), CuedCatchParams(num_trials=trials, reward_free_trials=0)
    form = {
        "writer": writer,
        "embedding": embedding,
        "normalise": None if normalise == "none" else normalise,
    }
    settings = resolve_settings("cued-catch", params, form).agent.network
    network_key, sample_key, key = jax.random.split(jax.random.key(seed), 3)
    shape = (env.rows, env.cols, len(env.planes))
    network = NetworkBuilder(settings, shape, len(Action))(network_key)
    sample = jax.vmap(lambda key: watch(key, params)[0])(jax.random.split(sample_key, _SAMPLE))
    network = init_embedding(network, sample.reshape(-1, *shape))
    trained, fixed = eqx.partition(network, trained_weights(network))
    optimiser = optax.adam(probe.learning_rate, eps=probe.epsilon)

    @eqx.filter_jit
    def some_updates(trained, state, key):
        def loss(trained, key):
            return read(eqx.combine(trained, fixed), key, params, probe.episodes)

        def update(carry, key):
            trained, state = carry
            gradient, accuracy = jax.grad(loss, has_aux=True)(trained, key)
            changes, state = optimiser.update(gradient, state)
            return (eqx.apply_updates(trained, changes), state), accuracy

        carry, found = jax.lax.scan(update, (trained, state), jax.random.split(key, _EVERY))
        return *carry, jnp.mean(found)

    state, curve, began = optimiser.init(trained), [], time.monotonic()
    for updates in range(_EVERY, probe.updates + 1, _EVERY):
        key, use = jax.random.split(key)
        trained, state, accuracy = some_updates(trained, state, use)
        curve.append([updates, round(float(accuracy), 4)])
    return {
        "event": "result",
        "kind": "reading",
        "writer": writer,
        "embedding": embedding,
        "normalise": normalise,
        "trials": trials,
        "seed": seed,
        "accuracy": curve[-1][1],
        "curve": curve,
        "seconds": round(time.monotonic() - began, 1),
        **provenance(),
    }


def main() -> None:
    probe = tyro.cli(Probe, description=__doc__)
    names = ("writer", "embedding", "normalise", "trials", "seed")
    forms = itertools.product(
        probe.writers, probe.embeddings, probe.normalise, probe.trials, (probe.seed,)
    )
    settings = ("updates", "episodes", "learning_rate", "epsilon")
    shared = {name: getattr(probe, name) for name in settings}
    train_missing(probe.out, names, forms, functools.partial(train, probe), shared)


if __name__ == "__main__":
    main()
