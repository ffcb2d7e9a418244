"""Named tuples answer as those of `typing` do, and nothing is compiled for one of them alone."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from powertui import named_tuples

PACKAGE = Path(named_tuples.__file__).parent


class Makers:
    """The same classes, made by both."""

    def __init__(self, base: Any) -> None:
        class Point(base):
            """A point."""

            x: int
            y: float = 2.0
            unit: str = "m"

            @property
            def both(self) -> tuple[int, float]:
                return self.x, self.y

            def __str__(self) -> str:
                return f"{self.x} {self.unit}"

        class Derived(Point):
            def doubled(self) -> int:
                return 2 * self.x

        self.Point, self.Derived = Point, Derived


@pytest.fixture(params=[typing.NamedTuple, named_tuples.NamedTuple], ids=["typing", "ours"])
def makers(request: pytest.FixtureRequest) -> Makers:
    return Makers(request.param)


def test_they_are_tuples_with_names(makers: Makers) -> None:
    point = makers.Point(1, unit="s")
    assert point == (1, 2.0, "s")
    assert hash(point) == hash((1, 2.0, "s"))
    assert (point.x, point.y, point.unit, point.both) == (1, 2.0, "s", (1, 2.0))
    assert repr(point) == "Point(x=1, y=2.0, unit='s')"
    assert str(point) == "1 s"
    assert isinstance(point, tuple)
    x, *rest = point
    assert (x, rest) == (1, [2.0, "s"])
    match point:
        case makers.Point(x, y):
            assert (x, y) == (1, 2.0)
    with pytest.raises(AttributeError):
        point.x = 3
    with pytest.raises(AttributeError):
        point.other = 3


def test_they_are_changed_shown_and_copied(makers: Makers) -> None:
    point = makers.Point(1)
    assert point._replace(y=3.0) == (1, 3.0, "m")
    assert type(point._replace(y=3.0)) is makers.Point
    assert point._asdict() == {"x": 1, "y": 2.0, "unit": "m"}
    assert makers.Point._fields == makers.Point.__match_args__ == ("x", "y", "unit")
    assert makers.Point._field_defaults == {"y": 2.0, "unit": "m"}
    assert makers.Point._make([4, 5.0, ""]) == (4, 5.0, "")
    assert copy.copy(point) == copy.deepcopy(point) == point
    assert makers.Point.__doc__ == "A point."
    assert makers.Derived(2).doubled() == 4
    assert repr(makers.Derived(2)).startswith("Derived(x=2")
    with pytest.raises(ValueError, match=r"unexpected field names: \['z'\]"):
        point._replace(z=1)
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        makers.Point._make([4])


def test_what_is_missing_is_told_by_name(makers: Makers) -> None:
    assert list(inspect.signature(makers.Point).parameters) == ["x", "y", "unit"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        makers.Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        makers.Point(1, z=2)


class Sent(named_tuples.NamedTuple):
    """Goes through a pipe."""

    number: int
    text: str = ""


def test_they_go_through_a_pipe() -> None:
    sent = pickle.loads(pickle.dumps(Sent(3, "x")))
    assert (sent, type(sent)) == (Sent(3, "x"), Sent)


def test_methods_are_compiled_once_for_a_number_of_fields() -> None:
    compiled: list[str] = []
    listening: list[bool] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "compile":
            compiled.append(event)

    sys.addaudithook(hear)

    class First(named_tuples.NamedTuple):
        a: int
        b: list[str]

    listening.append(True)

    class Second(named_tuples.NamedTuple):
        other: dict[str, int]
        name: float

    listening.clear()
    assert (First(1, []).b, Second({}, 2.0).name) == ([], 2.0)
    assert compiled == []


def test_a_class_whose_fields_cannot_be_seen_is_refused() -> None:
    with pytest.raises(TypeError, match="Empty has no fields"):

        class Empty(named_tuples.NamedTuple):
            pass


def test_a_field_without_default_behind_one_with_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="follows one with a default"):

        class Backwards(named_tuples.NamedTuple):
            a: int = 1
            b: int  # type: ignore[misc]


def test_no_module_makes_the_costly_kind() -> None:
    costly = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.name != "named_tuples.py"
        and "import NamedTuple" in path.read_text("utf-8")
        and "named_tuples import NamedTuple" not in path.read_text("utf-8")
    ]
    assert costly == []
