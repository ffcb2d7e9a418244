from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.formats.json_stream import JsonStream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)


def pieces(text: str, size: int) -> list[bytes]:
    raw = text.encode()
    return [raw[i : i + size] for i in range(0, len(raw), size)]


def collect(text: str, size: int = 1 << 20) -> tuple[list[Any], dict[str, Any], JsonStream]:
    stream = JsonStream(pieces(text, size), "events")
    items: list[Any] = []
    members: dict[str, Any] = {}
    for key, value in stream:
        if key == "events":
            items.append(value)
        else:
            members[key] = value
    return items, members, stream


@settings(max_examples=150, deadline=None)
@given(
    st.lists(OBJECTS | VALUES, max_size=8),
    st.dictionaries(st.text(max_size=5).filter(lambda k: k != "events"), VALUES, max_size=3),
    st.integers(1, 30),
    st.sampled_from([None, 1, 4]),
    st.booleans(),
)
def test_any_json_comes_out_as_json_loads_reads_it(
    items: list[Any], members: dict[str, Any], size: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(
        {**members, "events": items, "after": 12.5}, indent=indent, ensure_ascii=ascii_only
    )
    if "\\ud" in text.lower():
        return  # halves of surrogate pairs cannot be compared as text
    got, others, stream = collect(text, size)
    assert got == items
    assert others == {**members, "after": 12.5}
    assert not stream.problem
    assert not stream.damaged
    bare, _, stream = collect(json.dumps(items, indent=indent), size)
    assert bare == items
    assert not stream.problem


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_text_cut_anywhere_gives_the_items_before_the_cut(data: st.DataObject) -> None:
    items = [{"n": i, "text": "a}, {b" * (i % 3), "in": {"x": [1, 2]}} for i in range(12)]
    text = json.dumps({"first": 1, "events": items, "last": 2})
    cut = data.draw(st.integers(0, len(text) - 1))
    got, _, stream = collect(text[:cut], data.draw(st.integers(1, 40)))
    assert got == items[: len(got)]
    assert stream.problem
    whole = [
        i for i in range(12) if text.index(json.dumps(items[i])) + len(json.dumps(items[i])) <= cut
    ]
    assert len(got) == len(whole)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_damaged_item_costs_that_item_alone(size: int) -> None:
    text = '{"events": [{"a": 1}, {"b": oops}, {"c": 3}, {"d": 1e}, {"e": 5}], "x": 1}'
    got, members, stream = collect(text, size)
    assert got == [{"a": 1}, {"c": 3}, {"e": 5}]
    assert members == {"x": 1}
    assert stream.damaged == 2


def test_brackets_and_digits_without_end_are_damage_not_a_crash() -> None:
    deep = "[" * 200_000
    got, _, stream = collect('{"events": [{"a": ' + deep + '}, {"b": 2}]}')
    assert got == [{"b": 2}]
    assert stream.damaged == 1
    long = "9" * 100_000
    got, _, stream = collect('{"events": [{"a": ' + long + '}, {"b": 2}]}')
    assert {"b": 2} in got


def test_bytes_that_are_no_utf8_and_a_byte_order_mark_are_survived() -> None:
    stream = JsonStream([b'\xef\xbb\xbf{"events": [{"a": "\xff\xfe"}]}'], "events")
    assert list(stream) == [("events", {"a": "��"})]


def test_what_is_no_json_says_so() -> None:
    assert collect("hello")[2].problem
    assert collect("")[2].problem


def test_no_more_than_a_few_pieces_are_held_at_a_time() -> None:
    held = 0
    stream: JsonStream

    def feed() -> Any:
        nonlocal held
        yield b'{"events": ['
        for i in range(2000):
            held = max(held, len(stream._text))
            yield b",".join([b""] * (i > 0) + [json.dumps({"i": i, "pad": "x" * 100}).encode()] * 8)
        yield b"]}"

    stream = JsonStream(feed(), "events")
    assert sum(1 for _ in stream) == 16_000
    assert held < 10_000


def test_raw_gives_the_text_of_the_item() -> None:
    text = '{"events": [ {"a": 1} , {"b":  "x, y"}]}'
    stream = JsonStream(pieces(text, 5), "events")
    assert [stream.raw() for _ in stream] == ['{"a": 1}', '{"b":  "x, y"}']
