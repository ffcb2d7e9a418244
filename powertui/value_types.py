"""Value types made cheaply: what `dataclasses.dataclass` makes, with one compiled method, not six.

Python compiles each method of a data class from text whenever the class is imported. For 213
classes that took an eighth of the processor time of `demo --report`. Only `__init__` has to be
compiled for each class: the other methods are the same function over the names of the fields.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind=None, *, frozen=False, eq=True, repr=True):
        """As `dataclasses.dataclass`, for fields without options beside defaults.

        A class is derived from others that are made here, or from none.
        """

        def make(kind: type) -> type:
            return _value_type(kind, frozen=frozen, eq=eq, with_repr=repr)

        return make if kind is None else make(kind)


def _value_type(kind: type, *, frozen: bool, eq: bool, with_repr: bool) -> type:
    """The class with its methods; those that it has itself stay."""
    if not kind.__doc__:
        kind.__doc__ = kind.__name__  # else the signature is worked out for it
    dataclasses.dataclass(init=False, repr=False, eq=False)(kind)
    fields = dataclasses.fields(kind)
    # What is in the mapping and not in the tuple is a class variable or an InitVar.
    has_pseudo_fields = len(fields) < len(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    if has_pseudo_fields or any(not field.init or field.kw_only for field in fields):
        raise TypeError(f"{kind.__name__} has fields for which dataclasses.dataclass is needed")
    methods: dict[str, Any] = {"__init__": _initializer(kind, fields, frozen=frozen)}
    if with_repr:
        methods["__repr__"] = _repr
    if eq:
        values = _values_of([field.name for field in fields if field.compare])
        methods["__eq__"] = _comparison(values)
        methods["__hash__"] = _hash(values) if frozen else None
    if frozen:
        names = frozenset(field.name for field in fields)
        methods["__setattr__"] = _guard(kind, names, "__setattr__", "assign to")
        methods["__delattr__"] = _guard(kind, names, "__delattr__", "delete")
    # Python puts an empty __hash__ beside an __eq__ that the class itself has.
    has_own_hash = kind.__dict__.get("__hash__") is not None
    for name, method in methods.items():
        if name not in kind.__dict__ or (name == "__hash__" and not has_own_hash):
            setattr(kind, name, method)
    return kind


def _initializer(
    kind: type, fields: tuple[dataclasses.Field[Any], ...], *, frozen: bool
) -> Callable[..., None]:
    """The one method that is compiled: as fast as one that somebody wrote."""
    scope: dict[str, Any] = {"__name__": kind.__module__, "_set": object.__setattr__}
    parameters = ["self"]
    lines = []
    for field in fields:
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            # The factory itself as the default says that nothing was given.
            factory = f"_factory_{name}"
            scope[factory] = field.default_factory
            parameters.append(f"{name}={factory}")
            value = f"{factory}() if {name} is {factory} else {name}"
        else:
            parameters.append(name)
        if frozen:
            lines.append(f"_set(self, {name!r}, {value})")
        else:
            lines.append(f"self.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", scope)
    initializer: Callable[..., None] = scope["__init__"]
    initializer.__qualname__ = f"{kind.__qualname__}.__init__"
    annotations = {field.name: field.type for field in fields}
    initializer.__annotations__ = annotations | {"return": None}
    return initializer


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    fields = []
    for field in dataclasses.fields(self):
        if field.repr:
            fields.append(f"{field.name}={getattr(self, field.name)!r}")
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _comparison(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], Any]:
    def is_equal(self: Any, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return values(self) == values(other)

    return is_equal


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _guard(kind: type, names: frozenset[str], method: str, verb: str) -> Callable[..., None]:
    """What refuses to change a field; a class that only derives from this one may have others."""

    def refuse(self: Any, name: str, *value: object) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")
        getattr(super(kind, self), method)(name, *value)

    refuse.__name__ = method
    return refuse
