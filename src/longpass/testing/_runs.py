"""Running a memory of JAX for the laws: by its own `unroll`, and step by step by hand."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from longpass.testing._report import Failure, find_difference, show_both

# Programs run for a moment and compile for long.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
_USED = 5  # steps after which a state counts as used

Form = Callable[..., tuple[Any, Any]]
"""(memory, state, inputs, *more) to (state, outputs)."""


class Run(NamedTuple):
    """What a call gave: NumPy arrays."""

    outputs: np.ndarray
    state: list[np.ndarray]
    """The leaves of the state after the last step."""
    weight_gradients: list[np.ndarray]
    state_gradients: list[np.ndarray]
    """In the leaves of the first state."""
    input_gradients: np.ndarray


class Case(NamedTuple):
    """The arguments of a call, and the weights of its outputs in the loss: arrays of JAX."""

    state: Any
    xs: Any
    starts: np.ndarray
    weights: Any
    state_weight: float = 1.0


class Subject:
    """A memory that is checked, and what was compiled for it.

    **Arguments:**

    - `memory`: anything with the methods of `AbstractMemory`.
    - `seed`: of inputs and weights.
    """

    def __init__(self, memory: Any, seed: int):
        self.memory = memory
        self._arrays, self._static = eqx.partition(memory, eqx.is_inexact_array)
        self._seed = seed
        self._compiled: dict[object, Callable[..., Any]] = {}
        self._used: Any = None

    @property
    def tolerance(self) -> float:
        """Rounding that is allowed, relative to the largest number."""
        return 1e-7 if jnp.dtype(self.memory.dtype).itemsize > 4 else 3e-4

    def used_state(self) -> Any:
        """A state after some inputs."""
        if self._used is None:
            step = jax.jit(
                lambda state, x: self.memory.step(state, x, False)[0], compiler_options=QUICK
            )
            state = self.memory.initial_state()
            for x in self.draw("used", (_USED, self.memory.input_size)):
                state = step(state, x)
            self._used = state
        return self._used

    def draw(self, what: str, shape: tuple[int, ...]) -> jax.Array:
        """Random numbers, which depend on `what` and the seed."""
        rng = np.random.default_rng([self._seed, *what.encode()])
        return jnp.asarray(rng.standard_normal(shape), self.memory.dtype)

    def case(self, length: int, starts: tuple[int, ...] = (), *, used: bool = True) -> Case:
        """Random inputs and weights, with starts at some steps."""
        where = np.zeros(length, bool)
        where[list(starts)] = True
        return Case(
            self.used_state() if used else self.memory.initial_state(),
            self.draw("inputs", (length, self.memory.input_size)),
            where,
            self.draw("weights", (length, *self.memory.output_shape)),
        )

    def differentiate(self, name: object, form: Form, case: Case, *more: Any) -> Run:
        """Run `form(memory, state, xs, *more)`, and differentiate a weighted sum of its results.

        **Arguments:**

        - `name`: of the form; forms of one name are compiled once per shape.
        - `form`: what is run.
        - `case`: state, inputs and weights. Its starts are not used.
        - `more`: further arrays.
        """
        if name not in self._compiled:

            def run(arrays, state, xs, weights, state_weight, more):
                floats, rest = eqx.partition(state, eqx.is_inexact_array)

                def loss(arrays, floats, xs):
                    memory = eqx.combine(arrays, self._static)
                    last, ys = form(memory, eqx.combine(floats, rest), xs, *more)
                    total = jnp.sum(weights * ys) + state_weight * _weigh(last)
                    return total, (last, ys)

                return jax.grad(loss, argnums=(0, 1, 2), has_aux=True)(arrays, floats, xs)

            self._compiled[name] = jax.jit(run, compiler_options=QUICK)
        gradients, (last, ys) = self._compiled[name](
            self._arrays, case.state, case.xs, case.weights, case.state_weight, more
        )
        weights, states, inputs = gradients
        return Run(np.asarray(ys), leaves(last), leaves(weights), leaves(states), leaves(inputs)[0])

    def by_hand(self, case: Case, block_every: int | None = None) -> Run:
        """The definition: step by step, with starts and blocks by hand."""
        length = len(case.xs)
        steps = np.arange(length)
        blocks = np.zeros(length, bool)
        if block_every is not None:
            blocks = (steps % block_every == 0) & (steps > 0)
        return self.differentiate("by hand", _step_by_step, case, case.starts, blocks)

    def unroll(self, case: Case, block_every: int | None = None) -> Run:
        """The memory's own `unroll`; without starts if the case has none."""
        if not case.starts.any():

            def without(memory, state, xs):
                return memory.unroll(state, xs, None, block_every)

            return self.differentiate(("unroll, no starts", block_every), without, case)

        def form(memory, state, xs, starts):
            return memory.unroll(state, xs, starts, block_every)

        return self.differentiate(("unroll", block_every), form, case, case.starts)


def compare_runs(
    ours: Run, right: Run, tolerance: float, what: str, instead: str
) -> Failure | None:
    """The first difference between two runs; None if there is none.

    **Arguments:**

    - `ours`, `right`: the runs.
    - `tolerance`: relative to the largest number.
    - `what`: what was called to get `ours`.
    - `instead`: what gives `right`.
    """
    found = find_difference(ours.outputs, right.outputs, tolerance)
    if found is not None:
        step, size = found
        seen, wanted = show_both(ours.outputs[step], right.outputs[step])
        return Failure(
            step, f"{what}\noutput {step} is {seen}\n{instead}: {wanted}, {size:.2g} away"
        )
    for ours_leaf, right_leaf in zip(ours.state, right.state, strict=True):
        if find_difference(ours_leaf[None], right_leaf[None], tolerance) is not None:
            seen, wanted = show_both(ours_leaf, right_leaf)
            last = len(ours.outputs) - 1
            text = f"{what}\nthe state after the last step is {seen}\n{instead}: {wanted}"
            return Failure(last, text)
    found = find_difference(ours.input_gradients, right.input_gradients, tolerance)
    if found is not None:
        step, _ = found
        seen, wanted = show_both(ours.input_gradients[step], right.input_gradients[step])
        return Failure(step, f"{what}\nthe gradient in input {step} is {seen}\n{instead}: {wanted}")
    for name in ("state_gradients", "weight_gradients"):
        pairs = zip(getattr(ours, name), getattr(right, name), strict=True)
        for ours_leaf, right_leaf in pairs:
            if find_difference(ours_leaf[None], right_leaf[None], tolerance) is not None:
                seen, wanted = show_both(ours_leaf, right_leaf)
                of = {"state_gradients": "first state", "weight_gradients": "weights"}[name]
                return Failure(
                    None, f"{what}\nthe gradient in the {of} is {seen}\n{instead}: {wanted}"
                )
    return None


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a tree, as NumPy arrays of numbers (bools become 0 and 1)."""
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    return [array.astype(np.int8) if array.dtype == bool else array for array in arrays]


def _step_by_step(memory, state, xs, starts, blocks):
    empty = memory.initial_state()

    def body(state, inputs):
        x, start, block = inputs

        def enter(leaf, first):
            if eqx.is_inexact_array(leaf):
                leaf = jnp.where(block, jax.lax.stop_gradient(leaf), leaf)
            return jnp.where(start, first, leaf)

        return memory.step(jax.tree.map(enter, state, empty), x, False)

    return jax.lax.scan(body, state, (xs, starts, blocks))


def _weigh(state: Any) -> Any:
    """A number that depends on every number of a state, and on its place."""
    total = 0.0
    for leaf in jax.tree.leaves(state):
        if eqx.is_inexact_array(leaf):
            places = jnp.cos(jnp.arange(leaf.size, dtype=leaf.real.dtype)).reshape(leaf.shape)
            total += jnp.sum(places * (leaf.real + 0.5 * leaf.imag))
    return total
