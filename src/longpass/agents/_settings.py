"""What can be set about a learner: what is compiled in, and what a population may vary."""

import dataclasses
from typing import get_args

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from longpass import _checks
from longpass._names import Optimiser


class Hyper(eqx.Module):
    """Hyper-parameters, as arrays: a population is a `vmap` over them."""

    learning_rate: Float[Array, "*population"]
    entropy_cost: Float[Array, "*population"]
    """Weight of the policy's entropy in the loss."""
    discount: Float[Array, "*population"]
    epsilon: Float[Array, "*population"]
    """What the optimiser adds to the root of the mean squared gradient. A large one (IMPALA: 0.1)
    makes it gentle where gradients are small."""
    clip_norm: Float[Array, "*population"]
    """Gradients longer than this, all together, are shortened to it."""
    baseline_cost: Float[Array, "*population"]
    """Weight of the value's squared error, with its half, in the loss."""
    halvings: Float[Array, "*population"]
    """How often the learning rate is halved in a million steps of the environment."""
    reward_scale: Float[Array, "*population"]
    """What rewards are multiplied by in learning: values of about 1 suit all other settings."""

    def __init__(
        self,
        learning_rate: float | int | Array = 1e-3,
        entropy_cost: float | int | Array = 2e-3,
        discount: float | int | Array = 0.99,
        epsilon: float | int | Array = 1e-6,
        clip_norm: float | int | Array = 1.0,
        baseline_cost: float | int | Array = 0.5,
        halvings: float | int | Array = 0.0,
        reward_scale: float | int | Array = 1.0,
    ):
        given = {name: value for name, value in locals().items() if name in _LEAST}
        for name, value in given.items():
            if isinstance(value, int | float):
                _checks.real(name, value, **_LEAST[name])
                if name == "discount" and value > 1:
                    raise ValueError(f"discount is {value}: it must be 0 to 1")
            setattr(self, name, jnp.asarray(value, jnp.float32))

    def after(self, steps: Num[Array, "*population"]) -> "Hyper":
        """What they are after so many steps of the environment."""
        rate = self.learning_rate * 2.0 ** (-1e-6 * self.halvings * steps)
        return eqx.tree_at(lambda hyper: hyper.learning_rate, self, rate)


_LEAST = {
    "learning_rate": {"least": 0.0},
    "entropy_cost": {"least": 0.0},
    "discount": {"least": 0.0},
    "epsilon": {"above": 0.0},
    "clip_norm": {"above": 0.0},
    "baseline_cost": {"least": 0.0},
    "halvings": {"least": 0.0},
    "reward_scale": {"above": 0.0},
}


@dataclasses.dataclass(frozen=True)
class AgentSettings:
    """What a learner's program is compiled for.

    `rollout`, `block_every` and `horizon` are three things: how much is played between updates,
    how far gradients reach back through the memory, and how far V-trace looks ahead.
    """

    envs: int = 32
    """Copies of the environment."""
    rollout: int = 300
    """Steps that each copy plays between updates."""
    slices: int = 5
    """A rollout is learned from in so many stretches of equal length, one step of the optimiser
    each. The memory's state is carried from one to the next; gradients and targets are not."""
    block_every: int = 20
    """Gradients through the memory's state are stopped every so many steps of a slice."""
    horizon: int | None = None
    """V-trace's targets look ahead to the end of every stretch of so many steps; None: to the end
    of the slice."""
    lag: int = 0
    """Actions are chosen by the weights of so many updates ago."""
    optimiser: Optimiser = "adam"
    lambda_: float = 1.0
    """V-trace: how far errors are carried."""
    clip_rho: float = 1.0
    """V-trace's rho-bar."""
    clip_c: float = 1.0
    """V-trace's c-bar."""
    slow_rate: float = 0.001
    """For `writer="slow"`: the share of the learned weights that each step takes over."""
    stagger: int = 1000
    """Copies begin up to so many steps of random play into an episode, or all would end together.
    Episodes begun that way are not counted."""

    def __post_init__(self):
        for name in ("envs", "rollout", "slices", "block_every", "stagger"):
            _checks.positive_int(name, getattr(self, name))
        _checks.int_within("lag", self.lag, 0, None)
        _checks.one_of("optimiser", self.optimiser, get_args(Optimiser))
        for name in ("lambda_", "clip_rho", "clip_c"):
            _checks.real(name, getattr(self, name), least=0.0)
        _checks.real("slow_rate", self.slow_rate, above=0.0)
        if self.rollout % self.slices:
            raise ValueError(
                f"slices is {self.slices}: it must divide the rollout, which is {self.rollout}"
            )
        if self.horizon is not None:
            _checks.int_within("horizon", self.horizon, 1, self.slice_steps)
        if self.block_every > self.slice_steps:
            raise ValueError(
                f"block_every is {self.block_every}: it must be at most {self.slice_steps}, the "
                f"steps of a slice (rollout {self.rollout} in {self.slices} slices)"
            )

    @property
    def slice_steps(self) -> int:
        """Steps of a slice."""
        return self.rollout // self.slices

    @property
    def steps(self) -> int:
        """Environment steps of one update."""
        return self.envs * self.rollout


def slices_for(rollout: int, block_every: int, most: int = 5) -> int:
    """The most slices, up to `most`, that divide a rollout and leave room for `block_every`."""
    fits = [n for n in range(1, most + 1) if rollout % n == 0 and rollout // n >= block_every]
    return max(fits, default=1)
