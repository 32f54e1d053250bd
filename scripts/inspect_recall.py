"""Which lights of Sequence Recall an agent gets right, by place and by how a sequence begins.

python scripts/inspect_recall.py pretrained:sequence-recall-chain
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from longpass.agents import load_policy
from longpass.envs import AnyEnvironment
from longpass.networks import ActorCritic


def play(
    env: AnyEnvironment, params: object, network: ActorCritic, key: PRNGKeyArray
) -> tuple[Int[Array, " lights"], Bool[Array, " lights"]]:
    """Play one episode, always with the likeliest action.

    **Returns:** (the sequence, which of its lights were right).
    """
    key, reset_key = jax.random.split(key)
    frame, first = env.reset(reset_key, params)
    lights = first.hidden.sequence.shape[0]

    def step(carry, key):
        frame, state, memory, start, over, right = carry
        memory, logits, _ = network.step(memory, frame, start)
        action = jnp.argmax(logits).astype(jnp.int32)
        frame, after, reward, terminated, truncated, _ = env.step(key, state, action, params)
        entered = (after.slot > state.slot) & ~over
        right = jnp.where((jnp.arange(lights) == state.slot) & entered, reward > 0.5, right)
        over = over | terminated | truncated
        return (frame, after, memory, jnp.bool_(False), over, right), None

    begin = (jnp.bool_(True), jnp.bool_(False), jnp.zeros(lights, bool))
    carry = (frame, first, network.initial_state(), *begin)
    keys = jax.random.split(key, env.episode_length(params))
    (*_, right), _ = jax.lax.scan(step, carry, keys)
    return first.hidden.sequence, right


def main() -> None:
    parser = argparse.ArgumentParser(description="Which lights an agent gets right.")
    parser.add_argument("agent", help="a run's folder, a file, or pretrained:NAME")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=5)
    flags = parser.parse_args()
    run, network, _ = load_policy(flags.agent)
    if run.env != "sequence-recall":
        raise SystemExit(f"agent is of {run.env}: it must be of sequence-recall")
    env, params = run.load_environment(), run.params
    keys = jax.random.split(jax.random.key(flags.seed), flags.episodes)
    sequence, right = map(
        np.asarray, jax.jit(jax.vmap(lambda key: play(env, params, network, key)))(keys)
    )
    print("right, by place:", *(f"{value:.3f}" for value in right.mean(axis=0)))
    first, second, third = sequence[:, 0], sequence[:, 1], sequence[:, 2]
    begins = {
        "AA": first == second,
        "ABA": (first != second) & (first == third),
        "ABB or ABC": (first != second) & (first != third),
    }
    for name, which in begins.items():
        print(f"second light, if the sequence begins with {name}: {right[which, 1].mean():.3f}")


if __name__ == "__main__":
    main()
