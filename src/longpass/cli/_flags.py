"""Flags made from settings, and settings as flags: every one may be left out."""

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Annotated, Literal

import tyro

from longpass._fields import OPTIONS_FLAG, FieldInfo, Overrides, describe_fields, flag_name
from longpass._options import Options

_UNSET = "default"


def optional_flags(cls: type, defaults: Callable[[str], str]) -> object:
    """The annotation of a command's field that takes any settings of `cls`, all optional.

    **Arguments:**

    - `cls`: a settings dataclass; nested ones are flattened.
    - `defaults`: says in words what a setting is if its flag is left out.

    **Returns:** an annotation for tyro. The field's value is an `Overrides` with what was given.
    """
    fields = _flatten(cls)

    def collect(**values: object) -> Overrides:
        return {name: value for name, value in values.items() if value != _UNSET}

    hints = {field.name: _annotation(field, defaults(field.name)) for field in fields}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_UNSET, annotation=hint)
        for name, hint in hints.items()
    ]
    collect.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    collect.__annotations__ = {**hints, "return": Overrides}
    collect.__doc__ = cls.__doc__
    return tyro.conf.arg(constructor=collect)


def write_flag(name: str, value: object) -> list[str]:
    """The words on a command line that give a setting of `optional_flags` its value.

    **Arguments:**

    - `name`: the setting.
    - `value`: its value.

    **Returns:** the flag and its values, not yet quoted for a shell.
    """
    values = value.words() if isinstance(value, Options) else [str(value)]
    return [f"--{_dashed(name)}", *values]


def write_switch(name: str, value: bool) -> list[str]:
    """The word on a command line that gives a boolean parameter of a world its value.

    **Arguments:**

    - `name`: the parameter.
    - `value`: its value.

    **Returns:** the word, in a list as of `write_flag`.
    """
    return [f"--{_dashed(name)}" if value else f"--no-{_dashed(name)}"]


def _dashed(name: str) -> str:
    """The name of a setting as its flag has it."""
    return flag_name(name).replace("_", "-")


def _flatten(cls: type) -> list[FieldInfo]:
    flat: list[FieldInfo] = []
    for field in describe_fields(cls):
        flat += _flatten(field.nested) if field.nested else [field]
    return flat


def _annotation(field: FieldInfo, default: str) -> object:
    kind = Annotated[Options, OPTIONS_FLAG] if field.type is Options else field.type
    kinds = (None, Literal[_UNSET]) if field.optional else (Literal[_UNSET],)
    return Annotated[
        functools.reduce(operator.or_, kinds, kind),
        tyro.conf.arg(
            name=_dashed(field.name),
            help=field.help,
            help_behavior_hint=f"(default: {default})" if default else "",
        ),
    ]
