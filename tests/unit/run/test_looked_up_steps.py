"""Look-ups that take a short way where that is quicker: both ways give the same."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from powertui.data import sorted_columns
from powertui.data.model import Int64s
from powertui.data.run import asked_work, drawn_steps
from powertui.data.run.marks import join_marks
from powertui.data.tools import typed_events
from powertui.data.tools.typed_events import Typed


@pytest.mark.parametrize("limit", [12, 5_000], ids=["counted", "sorted"])
def test_keys_are_counted_alike_whether_they_are_few_or_many(limit: int) -> None:
    keys: Int64s = np.random.default_rng(3).integers(0, 12, 900)
    found, counts = sorted_columns.counted(keys, limit)
    expected, expected_counts = np.unique(keys, return_counts=True)
    assert found.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()


def opened_by_hand(moment: int, line: int, marks: list[tuple[int, int, int]]) -> int:
    """The row of the mark that is open: that of the own line, else the one opened last."""
    open_marks = [
        (mark_line == line, start, row)
        for row, (mark_line, start, length) in enumerate(marks)
        if start <= moment < start + length
    ]
    return max(open_marks)[2] if open_marks else -1


@pytest.mark.parametrize("line_count", [1, 3])
def test_the_mark_of_the_calls_own_line_counts_and_then_the_one_opened_last(
    line_count: int,
) -> None:
    chance = np.random.default_rng(8)
    marks: list[tuple[int, int, int]] = []
    for line in range(line_count):
        moment = line * 3
        for _ in range(40):
            length = int(chance.integers(1, 30))
            marks.append((line, moment, length))
            moment += length + int(chance.integers(0, 12))
    starts = np.array([start for _, start, _ in marks])
    columns = replace(
        join_marks([]),
        lines=np.array([line for line, _, _ in marks], np.int32),
        start=starts,
        duration=np.array([length for _, _, length in marks]),
    )
    rows = SimpleNamespace(marks=columns, row_of=np.arange(len(marks)))
    moments = chance.permutation(np.arange(0, 700))
    lines = chance.integers(0, 5, len(moments)).astype(np.int32)
    asked = chance.random(len(moments)) < 0.8
    found = asked_work._open_at(moments, lines, asked, rows)  # type: ignore[arg-type]
    for at, moment in enumerate(moments.tolist()):
        open_marks = [start for _, start, length in marks if start <= moment < start + length]
        if asked[at] and len(open_marks) != len(set(open_marks)):
            continue  # two that were opened at once: either is right
        expected = opened_by_hand(moment, int(lines[at]), marks) if asked[at] else -1
        assert found[at] == expected


@pytest.mark.parametrize("own_count", [30, 100])
@pytest.mark.parametrize("count", [3, 90, 100], ids=["few", "most", "all"])
def test_types_are_the_same_for_few_and_for_most_events(count: int, own_count: int) -> None:
    chance = np.random.default_rng(5)
    names = chance.integers(0, 6, 100).astype(np.uint32)
    own_rows = np.sort(chance.choice(100, own_count, replace=False))
    line = Typed(
        number=0,
        process=None,  # type: ignore[arg-type]
        track=SimpleNamespace(events=_Events(names)),  # type: ignore[arg-type]
        by_name=np.arange(6, dtype=np.uint8),
        rows=own_rows,
        kinds=chance.integers(6, 9, own_count).astype(np.uint8),
    )
    rows = chance.choice(100, count, replace=False)
    assert (typed_events._MIN_LOOKED_UP * count > 100) == (count >= 90)
    own_kinds = dict(zip(line.rows.tolist(), line.kinds.tolist(), strict=True))
    for chosen in (rows, np.sort(rows)):
        expected = [own_kinds.get(row, int(names[row])) for row in chosen.tolist()]
        assert line.types_for(chosen).tolist() == expected
        start, end = line.times(chosen)
        assert start.tolist() == line.track.events.start[chosen].tolist()
        assert end.tolist() == (start + line.track.events.duration[chosen]).tolist()


class _Events:
    """Events of which only names and times are asked."""

    def __init__(self, name: object) -> None:
        self.name = name
        self.start = np.arange(100) * 10
        self.duration = np.arange(100) % 7

    def __len__(self) -> int:
        return 100

    @property
    def end(self) -> Int64s:
        return self.start + self.duration


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64])
def test_values_are_found_among_others_of_any_kind(kind: type) -> None:
    chance = np.random.default_rng(6)
    ascending = np.unique(chance.integers(-50, 50, 40)).astype(kind)
    values = chance.integers(-60, 60, 300).astype(kind)
    place, is_there = sorted_columns.places_among(ascending, values)
    known = set(ascending.tolist())
    for value, at, found in zip(values.tolist(), place.tolist(), is_there.tolist(), strict=True):
        assert found == (value in known)
        assert not found or ascending[at] == value


@pytest.mark.parametrize("device_count", [1, 2])
def test_work_belongs_to_the_step_that_its_device_drew_around_it(device_count: int) -> None:
    devices = [f"GPU {number}" for number in range(device_count)]
    drawn = drawn_steps.DrawnSteps(
        device=devices * 2,
        start=np.repeat([30, 0], device_count),  # the later steps first
        duration=np.full(2 * device_count, 20),
        row=np.repeat([1, 0], device_count),
    )
    starts = np.array([-1, 0, 19, 20, 30, 49, 50])
    work = SimpleNamespace(
        devices=devices,
        device=np.repeat(np.arange(device_count), len(starts)),
        start=np.tile(starts, device_count),
    )
    work = _Sized(work)
    found = drawn_steps.in_drawn_steps(work, drawn)  # type: ignore[arg-type]
    assert found.tolist() == [-1, 0, 0, -1, 1, 1, -1] * device_count


class _Sized(SimpleNamespace):
    """Work whose events are counted."""

    def __init__(self, columns: SimpleNamespace) -> None:
        super().__init__(**vars(columns))

    def __len__(self) -> int:
        return len(self.start)
