"""The laws for memories of JAX (`longpass.memory.AbstractMemory` has the contract)."""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from longpass import _checks
from longpass.testing._report import (
    Failure,
    Report,
    find_difference,
    run_laws,
    show_numbers,
    show_starts,
)
from longpass.testing._runs import QUICK, Case, Run, Subject, compare_runs, leaves

_NEEDED = ("input_size", "dtype", "output_shape", "initial_state", "step", "unroll", "unroll_batch")
_ROWS = 3


def check_memory(memory: Any, *, length: int = 150, seed: int = 0, stop: bool = False) -> Report:
    """Check a memory against the contract.

    **Arguments:**

    - `memory`: anything with the members of `longpass.memory.AbstractMemory`. Its arrays are the
      leaves of a pytree, so that gradients in its weights are checked too.
    - `length`: steps of the longest sequences. A form that works in chunks is checked across its
      chunks only if sequences are longer than those.
    - `seed`: of inputs and weights.
    - `stop`: whether to stop at the first law that fails.

    **Returns:** a report: per law whether it holds, and an example of a failure, as short as was
    found. `report.raise_if_failed()` raises AssertionError.

    >>> import jax
    >>> from longpass.memory import GRU
    >>> check_memory(GRU(3, 4, key=jax.random.key(0)), length=9).passed
    True
    """
    length = _checks.int_within("length", length, 2, None)
    subject = Subject(memory, seed) if _missing(memory) is None else None
    laws = {
        "interface": lambda length: _missing(memory),
        "shapes": _check_shapes,
        "initial state": _check_initial_state,
        "deterministic": _check_deterministic,
        "finite": _check_finite,
        "cut is whole": _check_cut,
        "steps are unroll": _check_steps,
        "start on time": _check_start_on_time,
        "start of a chunk": _check_start_of_chunk,
        "packed is separate": _check_packed,
        "block leaves outputs": _check_block_outputs,
        "block cuts gradients": _check_block_gradients,
        "rows are separate": _check_rows,
    }
    bound = (
        (name, law if name == "interface" else functools.partial(law, subject))
        for name, law in laws.items()
    )
    return run_laws(type(memory).__name__, bound, length, stop)


def _missing(memory: Any) -> Failure | None:
    for name in _NEEDED:
        if not hasattr(memory, name):
            return Failure(None, f"{type(memory).__name__} has no {name}")
        if _NEEDED.index(name) > 2 and not callable(getattr(memory, name)):
            return Failure(None, f"{name} of {type(memory).__name__} is not a method")
    size, shape = memory.input_size, memory.output_shape
    if not isinstance(size, int) or size < 1:
        return Failure(None, f"input_size is {size!r}: it must be a whole number, at least 1")
    if not isinstance(shape, tuple):
        return Failure(None, f"output_shape is {shape!r}: it must be a tuple")
    return None


def _check_shapes(subject: Subject, length: int) -> Failure | None:
    # Traced, which gives shapes without computing, and leaves what is no array as it is.
    found: list[Failure | None] = []
    xs = subject.draw("inputs", (length, subject.memory.input_size))
    jax.eval_shape(lambda xs: found.append(_find_wrong_shape(subject.memory, xs)), xs)
    return found[0]


def _find_wrong_shape(memory: Any, xs: Any) -> Failure | None:
    first = memory.initial_state()
    calls = {
        "initial_state()": (first, None, ()),
        "step(state, x, False)": (*memory.step(first, xs[0], False), ()),
        "unroll(state, xs)": (*memory.unroll(first, xs), (len(xs),)),
    }
    for call, (state, output, time) in calls.items():
        structure = jax.tree.structure(state)
        if structure != jax.tree.structure(first):
            right = jax.tree.structure(first)
            return Failure(None, f"{call} leaves a state {structure}\ninitial_state() is {right}")
        for leaf, like in zip(jax.tree.leaves(state), jax.tree.leaves(first), strict=True):
            if not isinstance(leaf, jax.Array):
                return Failure(None, f"the state of {call} has a leaf {leaf!r}, which is no array")
            if (leaf.shape, leaf.dtype) != (like.shape, like.dtype):
                return Failure(
                    None,
                    f"{call} leaves a state of shape {leaf.shape} and dtype {leaf.dtype}\n"
                    f"initial_state() has {like.shape} and {like.dtype}",
                )
        if output is not None:
            shape, dtype = (*time, *memory.output_shape), jnp.dtype(memory.dtype)
            if (output.shape, output.dtype) != (shape, dtype):
                return Failure(
                    None,
                    f"{call} gives outputs of shape {output.shape} and dtype {output.dtype}\n"
                    f"output_shape and dtype promise {shape} and {dtype}",
                )
    return None


def _check_initial_state(subject: Subject, length: int) -> Failure | None:
    single = leaves(subject.memory.initial_state())
    for batch in ((1,), (length,), (2, 3)):
        states = leaves(subject.memory.initial_state(batch))
        for leaf, one in zip(states, single, strict=True):
            if leaf.shape != (*batch, *one.shape) or not (leaf == one).all():
                return Failure(
                    None,
                    f"initial_state({batch}) has an array {show_numbers(leaf)} of shape "
                    f"{leaf.shape}\nevery row must be {show_numbers(one)}, of shape {one.shape}",
                )
    return None


def _check_deterministic(subject: Subject, length: int) -> Failure | None:
    case = subject.case(length, (length // 2,))
    first, second = (_run_plainly(subject, case) for _ in range(2))
    found = find_difference(second, first, 0.0)
    if found is None:
        return None
    step, size = found
    return Failure(step, f"output {step} of the same call differs by {size:.2g}, called twice")


def _check_finite(subject: Subject, length: int) -> Failure | None:
    for starts in ((), (length // 2,)):
        run = subject.unroll(subject.case(length, starts))
        for step, output in enumerate(run.outputs):
            if not np.isfinite(output).all():
                return Failure(step, f"output {step} is {show_numbers(output)}")
        for name, arrays in (
            ("state", run.state),
            ("gradient in the inputs", [run.input_gradients]),
            ("gradient in the weights", run.weight_gradients),
            ("gradient in the first state", run.state_gradients),
        ):
            for array in arrays:
                if not np.isfinite(array).all():
                    where = show_starts(subject.case(length, starts).starts)
                    return Failure(
                        None, f"{length} steps, {where}\nthe {name} is not finite everywhere"
                    )
    return None


def _check_start_on_time(subject: Subject, length: int) -> Failure | None:
    if length < 4:  # too short to tell a late start from none
        return None
    memory, tolerance = subject.memory, subject.tolerance
    used, empty, x = subject.used_state(), memory.initial_state(), subject.case(1).xs[0]
    for start in (True, jnp.array(True)):
        after, right = memory.step(used, x, start), memory.step(empty, x, False)
        for ours, wanted in zip(leaves(after), leaves(right), strict=True):
            if find_difference(ours[None], wanted[None], tolerance) is not None:
                return Failure(
                    0,
                    f"step(state, x, {bool(start)}) gives {show_numbers(ours)}\n"
                    f"step(initial_state(), x, False) gives {show_numbers(wanted)}",
                )
    place = length // 2
    case = subject.case(length, (place,))
    ours, right = subject.unroll(case), subject.by_hand(case)
    # Other laws are about what comes before and long after.
    near = slice(place, place + 2)
    found = find_difference(ours.outputs[near], right.outputs[near], tolerance)
    if found is None:
        return None
    step = place + found[0]
    seen, wanted = show_numbers(ours.outputs[step]), show_numbers(right.outputs[step])
    text = f"unroll of {length} steps with a start at {place}: output {step} is {seen}\n"
    text += f"a sequence that begins there gives {wanted}"
    return Failure(step, text + _explain_late(subject, ours, case, place))


def _explain_late(subject: Subject, ours: Run, case: Case, place: int) -> str:
    """What a wrong start does instead, if it is one of the usual mistakes."""
    other = np.zeros_like(case.starts)
    never = subject.by_hand(case._replace(starts=other))
    if find_difference(ours.outputs, never.outputs, subject.tolerance) is None:
        return "\nthe start changes nothing"
    late = other.copy()
    late[place + 1] = True
    right = subject.by_hand(case._replace(starts=late))
    if find_difference(ours.outputs, right.outputs, subject.tolerance) is None:
        return f"\nit is what a start at {place + 1} would give: the start is one step late"
    if find_difference(ours.outputs[place + 1 :], right.outputs[place + 1 :], subject.tolerance):
        return ""
    return f"\nfrom step {place + 1} on, input {place} is lost: the state was cleared after it"


def _check_start_of_chunk(subject: Subject, length: int) -> Failure | None:
    case = subject.case(length, (0,))
    # Gradients that pass a start are the next law's.
    return compare_runs(
        _forget_gradients(subject.unroll(case)),
        _forget_gradients(subject.by_hand(case)),
        subject.tolerance,
        f"unroll of {length} steps from a used state, with a start at step 0",
        "from the initial state",
    )


def _forget_gradients(run: Run) -> Run:
    return run._replace(weight_gradients=[], state_gradients=[], input_gradients=np.zeros(0))


def _check_packed(subject: Subject, length: int) -> Failure | None:
    # Two starts in a row, and starts where forms that work in chunks have their borders.
    places = {length // 3, length // 2, length // 2 + 1, 16, 32, 64, 128}
    case = subject.case(length, tuple(sorted(place for place in places if 0 < place < length)))
    what = f"unroll of {length} steps, {show_starts(case.starts)}"
    found = compare_runs(
        subject.unroll(case), subject.by_hand(case), subject.tolerance, what, "each alone"
    )
    if found is not None:
        return found
    last = int(np.flatnonzero(case.starts)[-1])
    behind = subject.unroll(_weigh_from(case, last))
    return _find_leak(behind, last, subject.tolerance, f"{what}\nthe outputs from step {last} on")


def _weigh_from(case: Case, step: int) -> Case:
    """The same with no weight on outputs before a step."""
    return case._replace(weights=case.weights.at[:step].set(0.0))


def _find_leak(run: Run, border: int, tolerance: float, what: str) -> Failure | None:
    """Gradients that reach back behind `border`, if there are any."""
    scale = float(np.max(np.abs(run.input_gradients), initial=1.0))
    for step, gradient in enumerate(run.input_gradients[:border]):
        if np.max(np.abs(gradient)) > 1e-2 * tolerance * scale:
            text = f"{what} have a gradient {show_numbers(gradient)} in input {step}\nit must be 0"
            return Failure(step, text)
    for gradient in run.state_gradients:
        if np.max(np.abs(gradient), initial=0.0) > 1e-2 * tolerance * scale:
            text = f"{what} have a gradient {show_numbers(gradient)} in the first state"
            return Failure(None, f"{text}\nit must be 0")
    return None


def _check_steps(subject: Subject, length: int) -> Failure | None:
    case = subject.case(length)
    return compare_runs(
        subject.unroll(case),
        subject.by_hand(case),
        subject.tolerance,
        f"unroll of {length} steps without starts",
        "step by step",
    )


def _check_cut(subject: Subject, length: int) -> Failure | None:
    case = subject.case(length)
    borders = sorted({0, 1, length // 2, length - 1, length})

    def in_pieces(memory, state, xs):
        ys = []
        for begin, end in itertools.pairwise(borders):
            state, y = memory.unroll(state, xs[begin:end])
            ys.append(y)
        return state, jnp.concatenate(ys)

    ours = subject.differentiate(("pieces", length), in_pieces, case)
    cuts = ", ".join(map(str, borders[1:-1]))
    what = f"unroll of {length} steps, cut at {cuts}"
    return compare_runs(ours, subject.unroll(case), subject.tolerance, what, "in one call")


def _check_block_outputs(subject: Subject, length: int) -> Failure | None:
    case, every = subject.case(length, (length // 2,)), _choose_block(length)
    free, blocked = (_run_plainly(subject, case, block) for block in (None, every))
    found = find_difference(blocked, free, 0.0)
    if found is None:
        return None
    step, size = found
    return Failure(
        step,
        f"unroll of {length} steps with block_every={every}: output {step} is {size:.2g} away "
        f"from what it is without",
    )


def _check_block_gradients(subject: Subject, length: int) -> Failure | None:
    every = _choose_block(length)
    what = f"unroll of {length} steps with block_every={every}"
    border = every * ((length - 1) // every)
    for starts in ((), (length // 2,)):
        case = subject.case(length, starts)
        behind = subject.unroll(_weigh_from(case, border), every)
        text = f"{what}, {show_starts(case.starts)}\nthe outputs from step {border} on"
        found = _find_leak(behind, border, subject.tolerance, text)
        found = found or compare_runs(
            subject.unroll(case, every),
            subject.by_hand(case, every),
            subject.tolerance,
            f"{what}, {show_starts(case.starts)}",
            "blocked by hand",
        )
        if found is not None:
            return found
    return None


def _choose_block(length: int) -> int:
    """Blocks that do not divide the length, if it is not short."""
    return min(7, max(1, length // 2))


def _check_rows(subject: Subject, length: int) -> Failure | None:
    memory = subject.memory
    xs = subject.draw("rows", (length, _ROWS, memory.input_size))
    starts = np.zeros((length, _ROWS), bool)
    for row in range(1, _ROWS):
        starts[min(length - 1, row * length // _ROWS), row] = True
    weights = subject.draw("row weights", (length, _ROWS, *memory.output_shape))
    used, empty = subject.used_state(), memory.initial_state()
    alone = [used, empty, used]
    states = jax.tree.map(lambda *rows: jnp.stack(rows), *alone)
    whole = subject.differentiate(
        "batch",
        lambda memory, states, xs, starts: memory.unroll_batch(states, xs, starts),
        Case(states, xs, starts, weights, 0.0),
        starts,
    )
    for row, state in enumerate(alone):
        one = Case(state, xs[:, row], starts[:, row], weights[:, row], 0.0)
        ours = Run(
            whole.outputs[:, row],
            [leaf[row] for leaf in whole.state],
            [],
            [leaf[row] for leaf in whole.state_gradients],
            whole.input_gradients[:, row],
        )
        right = subject.by_hand(one)._replace(weight_gradients=[])
        what = f"unroll_batch of {length} steps and {_ROWS} rows: row {row}"
        found = compare_runs(ours, right, subject.tolerance, what, "alone")
        if found is not None:
            return found
    return None


def _run_plainly(subject: Subject, case: Case, block_every: int | None = None) -> np.ndarray:
    """Outputs and state of `unroll`, side by side, without gradients."""

    @functools.partial(jax.jit, compiler_options=QUICK)
    def unroll(state, xs, starts):
        return subject.memory.unroll(state, xs, starts, block_every)

    state, ys = unroll(case.state, case.xs, case.starts)
    outputs = np.asarray(ys).reshape(len(ys), -1)
    # The state belongs to the last step.
    return np.concatenate([outputs, _spread(leaves(state), len(ys))], axis=1)


def _spread(arrays: list[np.ndarray], length: int) -> np.ndarray:
    flat = np.concatenate([array.ravel() for array in arrays])
    spread = np.zeros((length, flat.size), flat.dtype)
    spread[-1] = flat
    return spread
