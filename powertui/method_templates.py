"""Methods of value types: compiled once for a number of fields, then given the names of a class.

Two initializers of as many fields have the same instructions. Only their names and constants
differ, and `CodeType.replace` puts in others without compiling again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

# In templates the fields have these names; no program names a field so.
_FIELD = "_field_"
_FACTORY = "_factory_"
_SCOPE: dict[str, Any] = {"_set": object.__setattr__, "_tuple": tuple.__new__}


def initializer(
    names: Sequence[str],
    defaults: tuple[Any, ...],
    factories: Mapping[str, Callable[[], Any]],
    *,
    frozen: bool,
    has_post_init: bool,
) -> FunctionType:
    """`__init__` of a class with these fields; a factory makes what was not given."""
    scope = _SCOPE
    if factories:
        scope = _SCOPE | {_FACTORY + name: factory for name, factory in factories.items()}
    made = tuple(name in factories for name in names)
    template = _initializer(made, frozen=frozen, has_post_init=has_post_init)
    return FunctionType(_named(template, names), scope, "__init__", defaults)


def row_maker(names: Sequence[str], defaults: tuple[Any, ...]) -> FunctionType:
    """`__new__` of a named tuple with these fields."""
    return FunctionType(_named(_row_maker(len(names)), names), _SCOPE, "__new__", defaults)


@cache
def _initializer(made: tuple[bool, ...], *, frozen: bool, has_post_init: bool) -> CodeType:
    """`made`: of each field, whether a factory makes its default."""
    fields = _fields(len(made))
    lines = []
    for place, name in enumerate(fields):
        factory = f"{_FACTORY}{place}"
        if made[place]:
            value = f"{factory}() if {name} is {factory} else {name}"
        else:
            value = name
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if has_post_init:
        lines.append("self.__post_init__()")
    return _compiled("__init__", ["self", *fields], lines or ["pass"])


@cache
def _row_maker(count: int) -> CodeType:
    values = "".join(f"{name}, " for name in _fields(count))
    return _compiled("__new__", ["_cls", *_fields(count)], [f"return _tuple(_cls, ({values}))"])


def _fields(count: int) -> list[str]:
    return [f"{_FIELD}{place}" for place in range(count)]


def _compiled(name: str, parameters: Sequence[str], lines: Sequence[str]) -> CodeType:
    body = "\n ".join(lines)
    scope: dict[str, Any] = {}
    exec(f"def {name}({', '.join(parameters)}):\n {body}", scope)
    code: CodeType = scope[name].__code__
    return code


def _named(template: CodeType, names: Sequence[str]) -> CodeType:
    """The same instructions with the names of a class."""
    instead: dict[Any, str] = {}
    for place, name in enumerate(names):
        instead[f"{_FIELD}{place}"] = name
        instead[f"{_FACTORY}{place}"] = _FACTORY + name

    def put_in(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(instead.get(value, value) for value in values)

    return template.replace(
        co_varnames=put_in(template.co_varnames),
        co_names=put_in(template.co_names),
        co_consts=put_in(template.co_consts),
    )
