"""Value types made cheaply: what `dataclasses.dataclass` and `typing.NamedTuple` make, without
compiling anything for each class.

Python compiles the methods of a data class, and each annotation of a named tuple, from text
whenever the class is imported. For some 450 classes that took a tenth of the processor time of
`demo --report`. Here a method is compiled once for a number of fields (`method_templates`), and
what only `dataclasses` itself asks a class for is worked out when it does.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from powertui import method_templates

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


# What a class that is made here keeps: its own fields, each with its annotation and what stood
# behind it.
_OWN = "__value_fields__"
_NONE = dataclasses.MISSING
_FIELD = dataclasses._FIELD  # type: ignore[attr-defined]  # how `dataclasses` marks a field


def _value_type(kind: type, *, frozen: bool, eq: bool, with_repr: bool) -> type:
    """The class with its methods; those that it has itself stay."""
    setattr(kind, _OWN, _own_fields(kind))
    fields = _all_fields(kind)
    names = list(fields)
    methods: dict[str, Any] = {
        "__dataclass_fields__": _Later(kind, "__dataclass_fields__", _described),
        "__dataclass_params__": _Later(kind, "__dataclass_params__", _parameters),
        "__match_args__": tuple(names),
        "__init__": _initializer(kind, fields, frozen=frozen),
    }
    if with_repr:
        methods["__repr__"] = _repr
    if eq:
        values = _values_of([name for name in names if _is_compared(fields[name][1])])
        methods["__eq__"] = _comparison(values)
        methods["__hash__"] = _hash(values) if frozen else None
    if frozen:
        guarded = frozenset(names)
        methods["__setattr__"] = _guard(kind, guarded, "__setattr__", "assign to")
        methods["__delattr__"] = _guard(kind, guarded, "__delattr__", "delete")
    # Python puts an empty __hash__ beside an __eq__ that the class itself has.
    has_own_hash = kind.__dict__.get("__hash__") is not None
    for name, method in methods.items():
        if name not in kind.__dict__ or (name == "__hash__" and not has_own_hash):
            setattr(kind, name, method)
    return kind


def _own_fields(kind: type) -> dict[str, tuple[Any, Any]]:
    """The fields that the class itself has: annotation, and a default, a `field` or nothing."""
    own = {}
    for name, annotation in kind.__annotations__.items():
        value = kind.__dict__.get(name, _NONE)
        _check(kind, name, str(annotation), value)
        if isinstance(value, dataclasses.Field):
            if value.default is _NONE:
                delattr(kind, name)
            else:
                setattr(kind, name, value.default)
        own[name] = (annotation, value)
    return own


def _check(kind: type, name: str, annotation: str, value: Any) -> None:
    is_pseudo = "Var" in annotation and ("ClassVar" in annotation or "InitVar" in annotation)
    if isinstance(value, dataclasses.Field):
        is_pseudo |= not value.init or value.kw_only is True
        value = value.default
    if is_pseudo or "KW_ONLY" in annotation:
        raise TypeError(f"{kind.__name__} has fields for which dataclasses.dataclass is needed")
    if type(value).__hash__ is None:
        raise ValueError(f"mutable default for field {name} of {kind.__name__}: use a factory")


def _all_fields(kind: type) -> dict[str, tuple[Any, Any]]:
    """The fields of the class and of those that it is derived from, in their order."""
    fields: dict[str, tuple[Any, Any]] = {}
    for base in reversed(kind.__mro__):
        fields.update(base.__dict__.get(_OWN, {}))
    return fields


class _Later:
    """What is worked out when it is asked for first; then it stands in the class itself."""

    def __init__(self, kind: type, name: str, make: Callable[[type], Any]) -> None:
        self.kind = kind
        self.name = name
        self.make = make

    def __get__(self, value: object, kind: type) -> Any:
        made = self.make(self.kind)
        setattr(self.kind, self.name, made)
        return made


def _stand_in(kind: type) -> Any:
    """A data class with the same fields, made by `dataclasses`: what that knows of them."""
    fields = _all_fields(kind)
    body = {name: value for name, (_, value) in fields.items() if value is not _NONE}
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    body |= {"__annotations__": annotations, "__module__": kind.__module__, "__doc__": "Fields."}
    return dataclasses.dataclass(init=False, repr=False, eq=False)(type(kind.__name__, (), body))


def _described(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """What `dataclasses.fields` and `replace` ask for, without making a class for it."""
    described: dict[str, dataclasses.Field[Any]] = {}
    for name, (annotation, value) in _all_fields(kind).items():
        own: Any = value
        if not isinstance(value, dataclasses.Field):
            own = dataclasses.field(default=value)
        own.name = name
        own.type = annotation
        own.kw_only = False
        own._field_type = _FIELD
        described[name] = own
    return described


def _parameters(kind: type) -> Any:
    return _stand_in(kind).__dataclass_params__


def _initializer(
    kind: type,
    fields: dict[str, tuple[Any, Any]],
    *,
    frozen: bool,
) -> Callable[..., None]:
    """As fast as one that somebody wrote."""
    defaults = []
    factories = {}
    for name, (_, value) in fields.items():
        if isinstance(value, dataclasses.Field):
            if value.default_factory is not _NONE:
                # The factory itself as the default says that nothing was given.
                factories[name] = value.default_factory
                value = value.default_factory
            else:
                value = value.default
        if value is not _NONE:
            defaults.append(value)
        elif defaults:
            raise TypeError(f"non-default argument {name!r} follows default argument")
    initializer = method_templates.initializer(
        list(fields),
        tuple(defaults),
        factories,
        frozen=frozen,
        has_post_init=hasattr(kind, "__post_init__"),
    )
    initializer.__module__ = kind.__module__
    initializer.__qualname__ = f"{kind.__qualname__}.__init__"
    annotations = {name: annotation for name, (annotation, _) in fields.items()}
    initializer.__annotations__ = annotations | {"return": None}
    return initializer


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    fields = []
    for field in dataclasses.fields(self):
        if field.repr:
            fields.append(f"{field.name}={getattr(self, field.name)!r}")
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _is_compared(value: Any) -> bool:
    return not isinstance(value, dataclasses.Field) or value.compare


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
