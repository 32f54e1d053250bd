"""Memories of other people: found by a name like `package.module:factory`, made, and adapted.

A factory is code that the user names: it is imported and called as any other Python code is.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from longpass._factories import load_factory
from longpass.memory._abstract import AbstractMemory
from longpass.memory._types import DType, MemoryLike


def make_foreign(
    place: str,
    input_size: int,
    *,
    dtype: DType = None,
    key: PRNGKeyArray,
    options: Mapping[str, object],
) -> MemoryLike:
    """Make a memory by a factory that is not ours.

    **Arguments:**

    - `place`: `package.module:factory`, a callable `factory(input_size, key=..., **options)`; or
      `memax:NAME`, a model of memax by its name there.
    - `input_size`: width of the input.
    - `dtype`: of parameters and inputs, passed on if the factory takes it. None: JAX's default.
    - `key`: for the initial weights.
    - `options`: further arguments of the factory.

    **Returns:** a memory under our contract; one of memax or flax.nnx is adapted. ValueError if the
    factory cannot be imported, does not take these arguments, or makes something else.
    """
    dtype = jnp.zeros((), dtype).dtype
    if place.startswith("memax:"):
        from longpass.memory._memax import make_memax

        factory: Callable[..., Any] = make_memax
        given: dict[str, Any] = {"name": place.removeprefix("memax:"), **options}
    else:
        factory, given = load_factory(place), dict(options)
    parameters = _read_parameters(place, factory)
    if parameters is not None:
        check_options(place, parameters, given)
        if "dtype" in parameters:
            given.setdefault("dtype", dtype)
    try:
        made = factory(input_size, key=key, **given)
    except Exception as error:
        # Somebody else's factory may raise anything; our own says what is wrong itself.
        if str(error).startswith("memory is "):
            raise
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items())
        raise ValueError(
            f"memory is {place!r}: factory({input_size}, key=...{shown and ', ' + shown}) raises "
            f"{type(error).__name__}: {error}"
        ) from error
    return adapt_memory(place, made, input_size, dtype)


def check_options(
    name: str, parameters: Mapping[str, inspect.Parameter], options: Mapping[str, object]
) -> None:
    """ValueError if a factory does not take an option.

    **Arguments:**

    - `name`: of the factory.
    - `parameters`: of its signature.
    - `options`: what it would be called with, beside the size of its input and a key.
    """
    kinds = {parameter.kind for parameter in parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    taken = [one for one in parameters if one not in ("self", "input_size", "key")]
    for option in options:
        if option not in taken:
            listed = ", ".join(taken) or "nothing: it has no options"
            raise ValueError(
                f"memory_options has {option}={options[option]!r}: for {name} it must be one of "
                f"{listed}"
            )


def adapt_memory(place: str, made: Any, input_size: int, dtype: Any) -> MemoryLike:
    """What a factory made, as a memory under our contract.

    **Arguments:**

    - `place`: the factory, for messages.
    - `made`: a memory, a model of memax or a cell of flax.nnx.
    - `input_size`: width of the input that it was made for.
    - `dtype`: that it must have; models of memax and cells are cast to it.

    **Returns:** the memory. ValueError if it is none.
    """
    if isinstance(made, AbstractMemory) or hasattr(made, "unroll"):
        _check_made(place, made, input_size, dtype)
        return made
    if hasattr(made, "initialize_carry") and hasattr(made, "latest_recurrent_state"):
        from longpass.memory._memax import MemaxMemory

        return MemaxMemory(made, input_size, dtype=dtype)
    if hasattr(made, "initialize_carry"):
        from longpass.memory._nnx import NnxMemory

        return NnxMemory(made, input_size, dtype=dtype)
    raise ValueError(
        f"memory is {place!r}, which makes a {type(made).__name__}: it must make a memory "
        f"(longpass.memory.AbstractMemory), a model of memax or a cell of flax.nnx"
    )


def _check_made(place: str, made: Any, input_size: int, dtype: Any) -> None:
    if getattr(made, "input_size", input_size) != input_size:
        raise ValueError(
            f"memory is {place!r}, which makes a memory with input_size {made.input_size}: it must "
            f"be {input_size}, as the factory was asked for"
        )
    if jnp.dtype(getattr(made, "dtype", dtype)) != dtype:
        raise ValueError(
            f"memory is {place!r}, which makes a memory of dtype {made.dtype}: it must be {dtype} "
            f"(the factory may take dtype as an argument)"
        )
    for path, leaf in jax.tree_util.tree_leaves_with_path(made):
        if eqx.is_array(leaf) and leaf.dtype != dtype:
            raise ValueError(
                f"memory is {place!r}, whose array {jax.tree_util.keystr(path)} has dtype "
                f"{leaf.dtype}: all arrays are trained and must be {dtype}; what is not trained "
                f"must be a static field (equinox.field(static=True))"
            )


def _read_parameters(
    place: str, factory: Callable[..., Any]
) -> Mapping[str, inspect.Parameter] | None:
    """The parameters of a factory; None if they are not known."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return None
    kinds = {parameter.kind for parameter in parameters.values()}
    if "key" not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise ValueError(
            f"memory is {place!r}, a callable ({', '.join(parameters)}): it must be "
            f"factory(input_size, key=..., **options)"
        )
    return parameters
