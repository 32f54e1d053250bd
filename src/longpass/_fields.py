"""Settings declared once, as frozen dataclasses: type, default, bounds and docstring per field.

The command line, the checks, the records and the tables in the documentation are derived from the
declaration. Nothing here imports JAX, so that `longpass CMD --help` answers quickly.

    @dataclasses.dataclass(frozen=True)
    class Example:
        rate: Annotated[float, Bounds(above=0.0)] = 1e-3
        \"\"\"Adam's learning rate.\"\"\"
"""

import ast
import builtins
import dataclasses
import functools
import inspect
import operator
import types
import typing
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from tyro.constructors import PrimitiveConstructorSpec

from longpass import _checks
from longpass._json import JsonObject
from longpass._options import Options

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Preset = Literal["quick", "laptop", "paper"]
"""How much of the paper to run: minutes, hours or weeks."""

Overrides = dict[str, Any]
"""Values of some settings, by field name."""

Settings = TypeVar("Settings", bound="DataclassInstance")

OPTIONS_FLAG: PrimitiveConstructorSpec[Options] = PrimitiveConstructorSpec(
    nargs="*",
    metavar="[NAME=VALUE ...]",
    instance_from_str=Options.parse,
    is_instance=lambda value: isinstance(value, Options),
    str_from_instance=Options.words,
)
"""How options are read from the command line."""


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The values that a number may take; None where there is no bound."""

    least: float | None = None
    above: float | None = None
    most: float | None = None


@dataclasses.dataclass(frozen=True)
class Added:
    """Marks a setting that is newer than some records.

    Where such a record is read, the setting has its default. So the default must be what runs did
    before the setting was there, and it must not change.
    """


class FieldInfo(NamedTuple):
    """One setting, as declared."""

    name: str
    type: object
    """Without `Annotated` and without `None`."""
    optional: bool
    """Whether None is allowed."""
    bounds: Bounds
    default: object
    help: str
    added: bool
    """Whether it is newer than some records, see `Added`."""

    @property
    def nested(self) -> builtins.type | None:
        """The settings dataclass that this field holds, if it is one."""
        kind = self.type
        return kind if isinstance(kind, type) and dataclasses.is_dataclass(kind) else None


def check_settings(settings: object) -> None:
    """Raise ValueError or TypeError for the first field whose value is not allowed.

    **Arguments:**

    - `settings`: an instance of a settings dataclass; nested ones are checked too.
    """
    for field in describe_fields(type(settings)):
        value = getattr(settings, field.name)
        if value is None and field.optional:
            continue
        if field.nested:
            check_settings(value)
        else:
            _check_value(flag_name(field.name), value, field)


def flag_name(name: str) -> str:
    """The name of a setting in messages: `lambda_` is `lambda`, which Python reserves."""
    return name.removesuffix("_")


def to_json(settings: "DataclassInstance") -> JsonObject:
    """The settings as a JSON object: nested dataclasses become objects, tuples become lists."""
    return {
        field.name: _plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)
    }


def from_json(cls: type[Settings], values: object) -> Settings:
    """The settings that `to_json` was given. ValueError if a key is unknown or missing.

    A setting marked `Added` may be missing.
    """
    if not isinstance(values, dict):
        raise ValueError(f"settings is {values!r}: it must be an object")
    declared = {field.name: field for field in describe_fields(cls)}
    for name in values:
        if name not in declared:
            raise ValueError(f"{name} is not a setting of {cls.__name__}")
    needed = {name for name, field in declared.items() if not field.added}
    missing = sorted(needed - set(values))
    if missing:
        raise ValueError(f"{missing[0]} is missing: it is a setting of {cls.__name__}")
    return cls(**{name: _restore(declared[name], value) for name, value in values.items()})


def add_defaults(cls: type, values: JsonObject) -> JsonObject:
    """What `to_json` gave before some settings were `Added`, with their defaults."""
    added = {field.name: field.default for field in describe_fields(cls) if field.added}
    return {name: _plain(value) for name, value in added.items()} | values


@functools.cache
def describe_fields(cls: type) -> tuple[FieldInfo, ...]:
    """Every field of a settings dataclass, in order, with what its declaration says."""
    hints = get_type_hints(cls, include_extras=True)
    docs = _docstrings(cls)
    described = []
    for field in dataclasses.fields(cls):
        kind, optional, bounds, added = _unwrap(hints[field.name])
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        described.append(
            FieldInfo(field.name, kind, optional, bounds, default, docs.get(field.name, ""), added)
        )
    return tuple(described)


def _unwrap(hint: object) -> tuple[object, bool, Bounds, bool]:
    """(Type, whether None is allowed, bounds, whether `Added`) of an annotation."""
    bounds, optional, added = Bounds(), False, False
    while True:
        if get_origin(hint) is typing.Annotated:
            hint, *rest = get_args(hint)
            bounds = next((one for one in rest if isinstance(one, Bounds)), bounds)
            added = added or any(isinstance(one, Added) for one in rest)
        elif get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
            optional = True
            kinds = [kind for kind in get_args(hint) if kind is not type(None)]
            hint = functools.reduce(operator.or_, kinds)
        else:
            return hint, optional, bounds, added


def _check_value(name: str, value: object, field: FieldInfo) -> None:
    kind, bounds = field.type, field.bounds
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        _checks.one_of(name, value, (*choices, None) if field.optional else choices)
    elif get_origin(kind) is tuple:
        if not isinstance(value, tuple | list):
            raise TypeError(f"{name} is {value!r}: it must be a sequence")
        each = field._replace(type=get_args(kind)[0], optional=False)
        for one in value:
            _check_value(name, one, each)
    elif kind is bool:
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}: it must be True or False")
    elif kind is str:
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}: it must be a string")
    elif kind is int:
        least = 0 if bounds.least is None else int(bounds.least)
        _checks.int_within(name, value, least, None if bounds.most is None else int(bounds.most))
    elif kind is Options:
        if not isinstance(value, Options):
            raise TypeError(f"{name} is {value!r}: it must be made by Options.of or Options.parse")
    elif kind is float:
        _checks.real(name, value, above=bounds.above, least=bounds.least, most=bounds.most)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json(value)
    if isinstance(value, Options):
        return value.values_by_name
    return list(value) if isinstance(value, tuple) else value


def _restore(field: FieldInfo, value: object) -> object:
    if field.nested:
        return from_json(field.nested, value)
    if field.type is Options:
        if not isinstance(value, dict):
            raise ValueError(f"{field.name} is {value!r}: it must be an object")
        return Options.of(value)
    return tuple(value) if isinstance(value, list) else value


def _docstrings(cls: type) -> dict[str, str]:
    """The strings that stand below the fields of a class and of its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        (body,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                assert isinstance(field.target, ast.Name)
                assert isinstance(text.value, ast.Constant)
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def replace_settings(settings: Settings, values: Overrides) -> Settings:
    """`settings` with other values for some fields, its own or those of nested settings.

    **Arguments:**

    - `settings`: an instance of a settings dataclass. No two fields in it have the same name.
    - `values`: new values by field name. ValueError for a name that is not a setting.
    """
    changes: Overrides = {}
    left = dict(values)
    for field in describe_fields(type(settings)):
        if field.nested:
            own = {name: left.pop(name) for name in all_names(field.nested) & left.keys()}
            if own:
                changes[field.name] = replace_settings(getattr(settings, field.name), own)
        elif field.name in left:
            changes[field.name] = left.pop(field.name)
    if left:
        raise ValueError(f"{min(left)} is not a setting of {type(settings).__name__}")
    return dataclasses.replace(settings, **changes)


def all_names(cls: type) -> set[str]:
    """The names of all fields of a settings dataclass, nested ones included."""
    names: set[str] = set()
    for field in describe_fields(cls):
        names |= all_names(field.nested) if field.nested else {field.name}
    return names
