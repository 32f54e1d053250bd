"""Values from successor features, and a pool as their mirror image (section 4.2 of the paper).

Where rewards are linear in features, r = phi(x) w, the discounted value is psi(x) w with psi the
successor features, and the exponentially weighted one, (1 - gamma) (r_0 + gamma r_1 + ...), is
(1 - gamma) psi(x) w: the same features serve both. A pool of rate 1 - gamma looks the other way:
run backwards over an episode's features, it holds exactly (1 - gamma) psi.

Run: python examples/successor_features.py
"""

import jax
import jax.numpy as jnp
import numpy as np

from longpass.memory import PoolChain


def main() -> dict[str, float]:
    gamma, states, features = 0.9, 7, 3
    random = np.random.default_rng(0)
    # A Markov chain, its features, and two reward functions that are linear in them.
    moves = random.dirichlet(np.ones(states), size=states)
    phi = random.normal(size=(states, features))
    weights = random.normal(size=(features, 2))

    # psi = phi + gamma P psi, solved once; rewards come after.
    psi = np.linalg.solve(np.eye(states) - gamma * moves, phi)
    # The weighted value without any features: v = (1 - gamma) r + gamma P v.
    weighted = np.linalg.solve(np.eye(states) - gamma * moves, (1 - gamma) * phi @ weights)
    exact = np.abs((1 - gamma) * psi @ weights - weighted).max()

    # The same from experience: one pool, run backwards over a long walk, averaged by state.
    steps = 200_000
    walk = np.empty(steps, dtype=int)
    walk[0] = 0
    thresholds, draws = np.cumsum(moves, axis=1), random.random(steps)
    for t in range(1, steps):
        walk[t] = np.searchsorted(thresholds[walk[t - 1]], draws[t])
    pool = PoolChain(features, [1 - gamma])
    backwards = jnp.asarray(phi[walk[::-1]], pool.dtype)
    _, contents = jax.jit(pool.unroll)(pool.initial_state(), backwards)
    seen = np.asarray(contents)[::-1, 0]
    # The last 200 steps of the walk have no future to look at.
    estimate = np.stack([seen[:-200][walk[:-200] == state].mean(axis=0) for state in range(states)])
    sampled = np.abs(estimate @ weights - weighted).max()

    print(f"(1 - gamma) psi w against the weighted value: {exact:.1e}")
    print(f"a backward pool's mean against it, {steps:,} steps: {sampled:.3f}")
    print(f"spread of the weighted value over states:     {np.ptp(weighted, axis=0).max():.3f}")
    return {"exact": float(exact), "sampled": float(sampled)}


if __name__ == "__main__":
    main()
