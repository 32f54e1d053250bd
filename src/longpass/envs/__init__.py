"""Gridworlds that need memory, in pure JAX: the three of the paper, exact to the frame.

    env, params = make("t-maze", limbo_time=50)
    observation, state = env.reset(key, params)
    observation, state, reward, terminated, truncated, info = env.step(key, state, action, params)

`AutoReset(env)` starts the next episode by itself. Many copies are `jax.vmap`; many difficulties
are `equinox.filter_vmap` over parameters that hold arrays. `longpass.envs.gym` has the same worlds
for Gymnasium.

Public names are listed in `__init__.pyi` and loaded on first use: the registry and the parameters
do not need JAX.
"""

from longpass._extras import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
