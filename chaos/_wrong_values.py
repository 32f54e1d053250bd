"""Values for settings, drawn from their declarations: allowed, wrong, extreme, of other kinds."""

import random
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from longpass._fields import FieldInfo, describe_fields, flag_name
from longpass.envs import WORLDS

_STRANGE = ("", " ", "½", "七", "é", "\u202e", "nan%s", "$(true)", "../..", "\udcff", "x" * 300)
_KINDS: tuple[object, ...] = (None, True, "ten", b"1", [], {}, (1, 2), 1 + 2j, object, 1.5, "七")
_EXTREME = (-(2**63) - 1, -(2**31), -1, 0, 2**31, 2**32, 2**63, 2**64, 10**30, 10**400)


class Setting(NamedTuple):
    """A setting as a flag or an argument has it."""

    name: str
    kind: object
    least: float | None = None
    above: float | None = None
    most: float | None = None
    optional: bool = False

    @property
    def flag(self) -> str:
        """Its flag."""
        return "--" + flag_name(self.name).replace("_", "-")


def settings_of(cls: type) -> list[Setting]:
    """The settings that a dataclass declares, nested ones included."""
    found: list[Setting] = []
    for field in describe_fields(cls):
        found += settings_of(field.nested) if field.nested else [_from_field(field)]
    return found


def world_settings() -> dict[str, list[Setting]]:
    """The parameters of every world."""
    found = {}
    for name, world in WORLDS.items():
        hints = get_type_hints(world.load_params(), include_extras=True)
        found[name] = [
            setting._replace(
                least=getattr(bounds, "least", None), most=getattr(bounds, "most", None)
            )
            for setting in settings_of(world.load_params())
            for bounds in hints[setting.name].__metadata__
        ]
    return found


def draw_value(rng: random.Random, setting: Setting) -> Any:
    """A value that may be allowed or not, of any kind."""
    choices: list[Any] = [rng.choice(_KINDS), rng.choice(_EXTREME), rng.choice(_STRANGE)]
    choices += [float("nan"), float("inf"), -float("inf"), 1e-320, 1e308, *_edges(setting)]
    if get_origin(setting.kind) is Literal:
        choices += get_args(setting.kind)
    return rng.choice(choices)


def draw_wrong_text(rng: random.Random, setting: Setting) -> str | None:
    """The text of a flag that cannot be right; None if any text may be."""
    if get_origin(setting.kind) is Literal:
        return rng.choice([text for text in _STRANGE if text not in get_args(setting.kind)])
    if setting.kind not in (int, float):
        return None
    choices = ["ten", "½", "七", "", "--", "1,5", "0x", "\udcff", "nan", "inf", "1e999"]
    if setting.kind is int:
        choices += ["1.5", "1e3"]
    if setting.least is not None:
        choices += [str(int(setting.least) - 1), str(-(10**30))]
    elif setting.above is not None:
        choices += [repr(setting.above), "-1e300"]
    if setting.most is not None:
        choices += [str(int(setting.most) + 1), str(10**30)]
    return rng.choice(choices)


def _from_field(field: FieldInfo) -> Setting:
    bounds: Mapping[str, Any] = vars(field.bounds)
    least = bounds["least"]
    if field.type is int and least is None:
        least = 0
    return Setting(field.name, field.type, least, bounds["above"], bounds["most"], field.optional)


def _edges(setting: Setting) -> list[Any]:
    """Values at the bounds and beside them."""
    found: list[Any] = []
    for bound in (setting.least, setting.above, setting.most):
        if bound is not None:
            whole = int(bound)
            found += [whole - 1, whole, whole + 1] if setting.kind is int else [bound, -bound - 1]
    return found
