"""Settings are declared once: checks, JSON and help follow the declaration."""

import dataclasses
from typing import Annotated, Any, Literal

import pytest

from longpass._fields import (
    Added,
    Bounds,
    check_settings,
    describe_fields,
    from_json,
    replace_settings,
    to_json,
)


@dataclasses.dataclass(frozen=True)
class Inner:
    rate: Annotated[float, Bounds(above=0.0, most=1.0)] = 0.5
    """Share that
    a step replaces."""
    kind: Literal["a", "b"] | None = None


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner = dataclasses.field(default_factory=Inner)
    count: Annotated[int, Bounds(least=1)] = 3
    sizes: tuple[int, ...] = (1, 2)
    lambda_: bool = False


def test_json_comes_back():
    settings = Outer(Inner(0.25, "b"), 7, (5,), True)
    values = to_json(settings)
    inner = {"rate": 0.25, "kind": "b"}
    assert values == {"inner": inner, "count": 7, "sizes": [5], "lambda_": True}
    assert from_json(Outer, values) == settings


def test_a_setting_that_is_newer_than_a_record_has_its_default():
    @dataclasses.dataclass(frozen=True)
    class Newer:
        count: int = 3
        speed: Annotated[float | None, Bounds(least=0.0), Added()] = 2.0

    assert from_json(Newer, {"count": 5}) == Newer(5, 2.0)
    assert from_json(Newer, {"count": 5, "speed": None}) == Newer(5, None)
    with pytest.raises(ValueError, match="count is missing"):
        from_json(Newer, {"speed": 1.0})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({**to_json(Outer()), "extra": 1}, "extra is not a setting of Outer"),
        ({**to_json(Outer()), "inner": {"rate": 0.5, "kind": None, "x": 1}}, "x is not a setting"),
        ({**to_json(Outer()), "inner": {"rate": 0.5}}, "kind is missing: it is a setting of Inner"),
        ([1], r"settings is \[1\]: it must be an object"),
    ],
)
def test_json_of_other_settings_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        from_json(Outer, values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0.0}, "rate is 0.0: it must be finite and above 0 and at most 1"),
        ({"rate": 1.5}, "rate is 1.5: it must be"),
        ({"kind": "c"}, "kind is 'c': it must be one of"),
        ({"count": 0}, "count is 0: it must be"),
        ({"count": 1.5}, "count is 1.5: it must be"),
        ({"lambda_": 1}, "lambda is 1: it must be True or False"),
    ],
)
def test_every_value_is_checked_against_its_declaration(changes: dict[str, Any], message: str):
    check_settings(Outer())
    with pytest.raises((ValueError, TypeError), match=message):
        check_settings(replace_settings(Outer(), changes))


def test_what_is_not_a_setting_cannot_be_replaced():
    with pytest.raises(ValueError, match="size"):
        replace_settings(Outer(), {"size": 1})


def test_docstrings_are_the_help():
    rate, kind = describe_fields(Inner)
    assert rate.help == "Share that a step replaces."
    assert (rate.default, rate.optional) == (0.5, False)
    assert (kind.help, kind.optional) == ("", True)
