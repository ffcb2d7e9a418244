"""Value types answer as data classes do, and nothing is compiled for one of them alone."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from dataclasses import field
from typing import Any

import pytest

from powertui import value_types


class Makers:
    """The same classes, made by both."""

    def __init__(self, dataclass: Any) -> None:
        @dataclass(frozen=True)
        class Point:
            """A point."""

            x: int
            y: float = 2.0
            names: list[str] = field(default_factory=list, compare=False)
            hidden: str = field(default="", repr=False)

        @dataclass(frozen=True)
        class Deeper(Point):
            z: int = 0

            def __post_init__(self) -> None:
                object.__setattr__(self, "hidden", f"z{self.z}")

        @dataclass
        class Open:
            a: int
            b: dict[str, int] = field(default_factory=dict)

        @dataclass(frozen=True, eq=False)
        class Whole:
            a: int

            def __repr__(self) -> str:
                return "whole"

        @dataclass(frozen=True)
        class One:
            only: float

        @dataclass(frozen=True)
        class Nothing:
            pass

        class Derived(Point):
            """Not made: it may have attributes of its own."""

        self.Point, self.Deeper, self.Open, self.Whole = Point, Deeper, Open, Whole
        self.One, self.Nothing, self.Derived = One, Nothing, Derived


@pytest.fixture(params=[dataclasses.dataclass, value_types.dataclass], ids=["stdlib", "ours"])
def makers(request: pytest.FixtureRequest) -> Makers:
    return Makers(request.param)


def test_values_are_made_compared_and_shown(makers: Makers) -> None:
    point = makers.Point(1, names=["a"])
    assert (point.x, point.y, point.names, point.hidden) == (1, 2.0, ["a"], "")
    assert point == makers.Point(1, 2.0)
    assert point != makers.Point(2)
    assert point != (1, 2.0)
    assert point != makers.Deeper(1)
    assert hash(point) == hash(makers.Point(1)) == hash((1, 2.0, ""))
    assert repr(point).endswith("Point(x=1, y=2.0, names=['a'])")
    assert makers.Point(1).names is not makers.Point(1).names
    assert [f.name for f in dataclasses.fields(point)] == ["x", "y", "names", "hidden"]
    assert dataclasses.replace(point, x=5) == makers.Point(5)
    assert dataclasses.asdict(makers.Open(1)) == {"a": 1, "b": {}}
    assert makers.Point.__match_args__ == ("x", "y", "names", "hidden")
    assert copy.copy(point) == copy.deepcopy(point) == point
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        makers.Point()


def test_one_field_and_none(makers: Makers) -> None:
    number = float("nan")
    assert makers.One(number) == makers.One(number)
    assert makers.One(number) != makers.One(float("nan"))
    assert makers.Nothing() == makers.Nothing()
    assert hash(makers.Nothing()) == hash(())


def test_frozen_ones_cannot_be_changed(makers: Makers) -> None:
    point = makers.Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'new'"):
        point.new = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    derived = makers.Derived(1)
    derived.new = 3
    assert derived.new == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        derived.x = 2
    open_one = makers.Open(1)
    open_one.a = 7
    assert open_one == makers.Open(7)
    with pytest.raises(TypeError, match="unhashable"):
        hash(open_one)


def test_a_derived_one_has_the_fields_of_both(makers: Makers) -> None:
    deeper = makers.Deeper(1, z=4)
    assert (deeper.x, deeper.y, deeper.z, deeper.hidden) == (1, 2.0, 4, "z4")
    assert deeper == makers.Deeper(1, 2.0, z=4)


def test_methods_of_its_own_stay(makers: Makers) -> None:
    whole = makers.Whole(1)
    assert repr(whole) == "whole"
    assert whole != makers.Whole(1)
    assert hash(whole) == object.__hash__(whole)


@value_types.dataclass(frozen=True)
class Sent:
    """Goes through a pipe."""

    number: int
    text: str = ""


def test_values_go_through_a_pipe() -> None:
    assert pickle.loads(pickle.dumps(Sent(3, "x"))) == Sent(3, "x")


def test_methods_are_compiled_once_for_a_number_of_fields() -> None:
    compiled: list[str] = []
    listening: list[bool] = []

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "compile":
            compiled.append(event)

    sys.addaudithook(hear)

    @value_types.dataclass(frozen=True)
    class First:
        a: int
        b: str = ""

    listening.append(True)

    @value_types.dataclass(frozen=True)
    class Second:
        other: float
        name: int = 3

    listening.clear()
    assert (First(1).a, First(1).b) == (1, "")
    assert (Second(2.0).other, Second(2.0).name) == (2.0, 3)
    assert compiled == []


def test_each_has_the_names_of_its_own_in_its_signature_and_messages(makers: Makers) -> None:
    assert list(inspect.signature(makers.Point).parameters) == ["x", "y", "names", "hidden"]
    assert inspect.signature(makers.Point).parameters["y"].default == 2.0
    assert inspect.signature(makers.Open).parameters["a"].annotation == "int"
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        makers.Point(1, z=2)
    with pytest.raises(TypeError, match=r"Open\.__init__\(\) missing .* 'a'"):
        makers.Open()


def test_a_default_that_all_would_share_is_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @value_types.dataclass
        class Shared:
            names: list[str] = []  # noqa: RUF012


def test_a_field_without_default_behind_one_with_a_default_is_refused() -> None:
    with pytest.raises(TypeError, match="non-default argument 'b' follows"):

        @value_types.dataclass
        class Backwards:
            a: int = 1
            b: int  # type: ignore[misc]


def test_fields_with_further_options_are_refused() -> None:
    with pytest.raises(TypeError, match=r"dataclasses\.dataclass is needed"):

        @value_types.dataclass(frozen=True)
        class Strange:
            a: int = field(init=False, default=1)
