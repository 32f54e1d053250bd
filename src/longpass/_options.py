"""Options of a memory by name, as users give them: hashable, and a JSON object in records."""

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Value: TypeAlias = str | int | float | bool | None


class Options(tuple[tuple[str, Value], ...]):
    """Values by name, sorted by name. Make one by `Options.of` or `Options.parse`."""

    __slots__ = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "Options":
        """The options with these values."""
        for name, value in values.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise ValueError(f"memory_options has {name!r}: it must be the name of an argument")
            if value is not None and not isinstance(value, str | int | float | bool):
                raise TypeError(
                    f"memory_options has {name}={value!r}: it must be a number, a string, true, "
                    f"false or null"
                )
        return cls(sorted(values.items()))

    @classmethod
    def parse(cls, words: Iterable[str]) -> "Options":
        """The options that words like `size=32`, `rate=0.5` or `form=fast` name.

        A value is read as JSON (a number, true, false, null); what is not JSON is a string.
        """
        values: dict[str, Value] = {}
        for word in words:
            name, equals, text = word.partition("=")
            if not equals:
                raise ValueError(f"memory_options has {word!r}: it must be name=value")
            if name in values:
                raise ValueError(f"memory_options has {name} twice: it must have each name once")
            values[name] = _read_value(text)
        return cls.of(values)

    @property
    def values_by_name(self) -> dict[str, Value]:
        """A dictionary."""
        return dict(self)

    def words(self) -> list[str]:
        """What `parse` reads."""
        return [f"{name}={_write_value(value)}" for name, value in self]


NO_OPTIONS = Options()


def _read_value(text: str) -> Value:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if value is None or isinstance(value, str | int | float | bool) else text


def _write_value(value: Value) -> str:
    return value if isinstance(value, str) and _read_value(value) == value else json.dumps(value)
