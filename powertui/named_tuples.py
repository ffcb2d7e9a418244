"""Named tuples made cheaply: what `typing.NamedTuple` makes, without compiling for each class.

`typing.NamedTuple` compiles a method of each class and each annotation that is text, whenever the
class is imported: 0.12 ms a class, of which `demo --report` imports some 240.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]
from typing import TYPE_CHECKING

from powertui import method_templates

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _FIELD_WORDS = [f"Alias for field number {place}" for place in range(64)]

    class _Row(tuple):
        """What named tuples have in common."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **values):
            made = self._make(map(values.pop, self._fields, self))
            if values:
                raise ValueError(f"Got unexpected field names: {list(values)!r}")
            return made

        __replace__ = _replace

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
            return f"{type(self).__name__}({', '.join(values)})"

        def __getnewargs__(self):
            return tuple(self)

    class _NamedTupleMaker(type):
        """Makes a class of tuples from the fields that are written in its body."""

        def __new__(mcs, name, bases, body):
            if not bases:
                return type.__new__(mcs, name, bases, body)
            fields = body.get("__annotations__", {})
            if not fields:  # or Python keeps annotations that are no text elsewhere
                raise TypeError(f"{name} has no fields, or its module does not put off annotations")
            defaults = {field: body[field] for field in fields if field in body}
            if list(defaults) != list(fields)[len(fields) - len(defaults) :]:
                raise TypeError(f"in {name}, a field without default follows one with a default")
            make = method_templates.row_maker(list(fields), tuple(defaults.values()))
            make.__module__ = body["__module__"]
            make.__qualname__ = f"{body['__qualname__']}.__new__"
            make.__annotations__ = fields
            body |= {
                "__slots__": (),
                "__new__": make,
                "__match_args__": tuple(fields),
                "_fields": tuple(fields),
                "_field_defaults": defaults,
            }
            for place, field in enumerate(fields):
                body[field] = _tuplegetter(place, _FIELD_WORDS[place])
            return type(name, (_Row,), body)

    class NamedTuple(metaclass=_NamedTupleMaker):
        """As `typing.NamedTuple`."""
