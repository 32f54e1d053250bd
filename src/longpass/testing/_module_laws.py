"""The laws for modules of PyTorch."""

import functools

import numpy as np
import torch
from torch import Tensor

from longpass.testing._module_runs import (
    ROWS,
    Run,
    State,
    Subject,
    list_tensors,
    loop_steps,
    map_state,
    to_numpy,
)
from longpass.testing._report import (
    Failure,
    find_difference,
    show_both,
    show_numbers,
    show_starts,
)


def _check_shapes(subject: Subject, length: int) -> Failure | None:
    x = subject.inputs(length)
    first = subject.call.initial_state(ROWS)
    for steps in (1, length):
        y, last = subject.call.run(x[:steps], first)
        if y.shape[:2] != (steps, ROWS):
            text = f"{steps} steps of {ROWS} rows give outputs of shape {tuple(y.shape)}"
            return Failure(None, text)
        shapes, right = ([tuple(one.shape) for one in list_tensors(s)] for s in (last, first))
        if shapes != right or isinstance(last, tuple) != isinstance(first, tuple):
            return Failure(None, f"{steps} steps leave a state {shapes}\nthe first is {right}")
    return None


def _check_initial_state(subject: Subject, length: int) -> Failure | None:
    """A call without a state is a call with the initial state, in every row."""
    x = subject.inputs(length)[:, :1]
    alone, _ = subject.call.run(x, None)
    for rows in (1, 2, 5):
        y, _ = subject.call.run(x.expand(-1, rows, -1), None)
        zeros, _ = subject.call.run(x.expand(-1, rows, -1), subject.call.initial_state(rows))
        for what, other in (("without a state", y), ("with a state of zeros", zeros)):
            seen, right = to_numpy(other), to_numpy(alone.repeat_interleave(rows, dim=1))
            found = find_difference(seen, right, subject.tolerance)
            if found is not None:
                step, _ = found
                ours, one = show_both(seen[step], right[step])
                return Failure(
                    step,
                    f"{rows} equal rows {what}: an output {step} is {ours}\n"
                    f"one row without a state gives {one}",
                )
    return None


def _check_deterministic(subject: Subject, length: int) -> Failure | None:
    first, second = (subject.whole(length) for _ in range(2))
    found = find_difference(second.outputs, first.outputs, 0.0)
    if found is None:
        return None
    step, size = found
    text = f"output {step} of the same call differs by {size:.2g}, called twice"
    return Failure(step, f"{text} (is there dropout? call eval() first)")


def _check_finite(subject: Subject, length: int) -> Failure | None:
    run = subject.whole(length)
    for step, output in enumerate(run.outputs):
        if not np.isfinite(output).all():
            return Failure(step, f"output {step} is {show_numbers(output)}")
    for array in (*run.state, run.input_gradients, *run.other_gradients):
        if not np.isfinite(array).all():
            return Failure(None, f"{length} steps: a state or a gradient is not finite everywhere")
    return None


def _check_cut(subject: Subject, length: int) -> Failure | None:
    borders = sorted({1, length // 2, length - 1})
    cuts = ", ".join(map(str, borders))
    ours, right = subject.in_pieces(length, borders), subject.whole(length)
    return _compare(
        subject, ours, right, f"{length} steps, cut at {cuts}", "in one call", gradients=True
    )


def _check_steps(subject: Subject, length: int) -> Failure | None:
    right = subject.in_pieces(length, list(range(1, length)))
    if subject.cell is not None:
        cell, nowhere = subject.cell, torch.zeros(length, ROWS, dtype=torch.bool)
        right = subject.differentiate(lambda x, state: loop_steps(cell, x, state, nowhere), length)
        # A cell is a module of its own: its weights have gradients of their own.
        states = len(right.state)
        right = right._replace(other_gradients=right.other_gradients[:states])
    ours = subject.whole(length)
    ours = ours._replace(other_gradients=ours.other_gradients[: len(right.other_gradients)])
    return _compare(subject, ours, right, f"{length} steps", "one by one", gradients=True)


def _check_start_on_time(subject: Subject, length: int) -> Failure | None:
    subject.need_starts()
    if length < 4:
        return None
    place = length // 2
    starts = np.arange(length) == place
    ours = subject.whole(length, starts)
    right = subject.in_pieces(length, [place], clear=True)
    near = slice(place, place + 2)
    found = find_difference(ours.outputs[near], right.outputs[near], subject.tolerance)
    if found is None:
        return None
    step = place + found[0]
    seen, wanted = show_both(ours.outputs[step], right.outputs[step])
    text = f"{length} steps with a start at {place}: output {step} is {seen}\n"
    text += f"a sequence that begins there gives {wanted}"
    late = subject.in_pieces(length, [place + 1], clear=True)
    if find_difference(ours.outputs, late.outputs, subject.tolerance) is None:
        text += f"\nit is what a start at {place + 1} would give: the start is one step late"
    elif find_difference(ours.outputs, subject.whole(length).outputs, subject.tolerance) is None:
        text += "\nthe start changes nothing"
    return Failure(step, text)


def _check_start_of_chunk(subject: Subject, length: int) -> Failure | None:
    subject.need_starts()
    ours = subject.whole(length, np.arange(length) == 0)

    def from_empty(x: Tensor, state: State):
        return subject.call.run(x, subject.call.initial_state(ROWS))

    right = subject.differentiate(from_empty, length)
    what = f"{length} steps from a used state, with a start at step 0"
    # Gradients that pass a start are the next law's.
    return _compare(subject, ours, right, what, "from the initial state", gradients=False)


def _check_packed(subject: Subject, length: int) -> Failure | None:
    subject.need_starts()
    places = {length // 3, length // 2, length // 2 + 1, 16, 32}
    borders = sorted(place for place in places if 0 < place < length)
    starts = np.isin(np.arange(length), borders)
    what = f"{length} steps, {show_starts(starts)}"
    right = subject.in_pieces(length, borders, clear=True)
    found = _compare(
        subject, subject.whole(length, starts), right, what, "each alone", gradients=True
    )
    behind = subject.whole(length, starts, weigh_from=borders[-1])
    return found or _find_leak(behind, borders[-1], subject.tolerance, what)


def _check_block_outputs(subject: Subject, length: int) -> Failure | None:
    subject.need_blocks()
    every = min(7, max(1, length // 2))
    free, blocked = subject.whole(length), subject.whole(length, None, every)
    found = find_difference(blocked.outputs, free.outputs, 0.0)
    if found is None:
        return None
    step, size = found
    text = f"{length} steps with block_every={every}: output {step} is {size:.2g} away from what "
    return Failure(step, f"{text}it is without")


def _check_block_gradients(subject: Subject, length: int) -> Failure | None:
    subject.need_blocks()
    every = min(7, max(1, length // 2))
    borders = list(range(every, length, every))
    what = f"{length} steps with block_every={every}"
    behind = subject.whole(length, None, every, weigh_from=borders[-1])
    found = _find_leak(behind, borders[-1], subject.tolerance, what)
    right = subject.in_pieces(length, borders, block=True)
    ours = subject.whole(length, None, every)
    return found or _compare(subject, ours, right, what, "blocked by hand", gradients=True)


def _check_rows(subject: Subject, length: int) -> Failure | None:
    """Each row alone, and no gradient from one row into another."""
    whole = subject.whole(length)

    def one_row(row: int, x: Tensor, state: State):
        own = map_state(lambda one: one.narrow(subject.call.batch_axis, row, 1), state)
        return subject.call.run(x[:, row : row + 1], own)

    for row in range(ROWS):
        alone = subject.differentiate(functools.partial(one_row, row), length)
        seen, right = whole.outputs[:, row : row + 1], alone.outputs
        found = find_difference(seen, right, subject.tolerance)
        if found is not None:
            step, _ = found
            ours, one = show_both(seen[step], right[step])
            text = f"{length} steps of {ROWS} rows: output {step} of row {row} is {ours}"
            return Failure(step, f"{text}\nalone it is {one}")

    def first_row(x: Tensor, state: State):
        return subject.call.run(x, state)[0][:, :1], ()

    first = subject.differentiate(first_row, length)
    others = np.abs(first.input_gradients[:, 1:]).reshape(length, -1).max(axis=1)
    if others.max() > 0:
        step = int(np.argmax(others > 0))
        return Failure(step, f"outputs of row 0 have a gradient in input {step} of another row")
    return None


def _compare(
    subject: Subject, ours: Run, right: Run, what: str, instead: str, *, gradients: bool
) -> Failure | None:
    found = find_difference(ours.outputs, right.outputs, subject.tolerance)
    if found is not None:
        step, size = found
        seen, wanted = show_both(ours.outputs[step], right.outputs[step])
        text = f"{what}: output {step} is {seen}\n{instead}: {wanted}, {size:.2g} away"
        return Failure(step, text)
    for one, other in zip(ours.state, right.state, strict=True):
        if find_difference(one[None], other[None], subject.tolerance) is not None:
            seen, wanted = show_both(one, other)
            text = f"{what}: the state after the last step is {seen}\n{instead}: {wanted}"
            return Failure(len(ours.outputs) - 1, text)
    if not gradients:
        return None
    found = find_difference(ours.input_gradients, right.input_gradients, subject.tolerance)
    if found is not None:
        step, _ = found
        seen, wanted = show_both(ours.input_gradients[step], right.input_gradients[step])
        return Failure(step, f"{what}: the gradient in input {step} is {seen}\n{instead}: {wanted}")
    for one, other in zip(ours.other_gradients, right.other_gradients, strict=True):
        if find_difference(one[None], other[None], subject.tolerance) is not None:
            seen, wanted = show_both(one, other)
            text = f"{what}: a gradient in the first state or a weight is {seen}"
            return Failure(None, f"{text}\n{instead}: {wanted}")
    return None


def _find_leak(run: Run, border: int, tolerance: float, what: str) -> Failure | None:
    scale = float(np.max(np.abs(run.input_gradients), initial=1.0))
    for step, gradient in enumerate(run.input_gradients[:border]):
        if np.max(np.abs(gradient)) > 1e-2 * tolerance * scale:
            text = f"{what}: the outputs from step {border} on have a gradient "
            return Failure(step, f"{text}{show_numbers(gradient)} in input {step}\nit must be 0")
    return None


MODULE_LAWS = {
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
"""Each takes what is checked and a length."""
