"""Columns as lines of bytes: every digit as exact integer arithmetic gives it, each text made once,
nothing held twice.
"""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from powertui import units
from powertui.data import export
from powertui.data import window as windows
from powertui.data.export import lines as export_lines
from powertui.data.export import rows as export_rows
from powertui.data.export import sheets, writing
from powertui.data.export.lines import CodeTexts, Ticks, join
from powertui.data.model import Events, Names, Run, Stat
from powertui.plain import cell
from tests.synthetic import Plan
from tests.synthetic.placed import make

EDGES = [
    0,
    1,
    -1,
    9999,
    10_000,
    -10_000,
    10**8 - 1,
    10**8,
    10**12,
    -(10**12),
    10**16 - 1,
    10**18,
    2**63 - 1,
    -(2**63),
]
INT64 = st.integers(-(2**63), 2**63 - 1)


def as_written(values: list[int], decimals: int) -> list[bytes]:
    return [units.fixed(value, 10**decimals, decimals).encode() for value in values]


@pytest.mark.parametrize("decimals", [*range(13), 18])
def test_times_at_every_edge(decimals: int) -> None:
    for values in (EDGES, *([edge] for edge in EDGES), [abs(e) for e in EDGES[:-1]]):
        column = Ticks(np.array(values, np.int64), decimals)
        assert join([column, b"\n"], len(values)).splitlines() == as_written(values, decimals)


@given(
    st.lists(INT64 | st.integers(-(10**6), 10**6), min_size=1, max_size=50),
    st.integers(0, 18),
    st.binary(max_size=9),
)
def test_times_are_exact_whatever_stands_before_them(
    values: list[int], decimals: int, before: bytes
) -> None:
    before = before.replace(b"\0", b"").replace(b"\n", b"")
    lines = join([before, Ticks(np.array(values, np.int64), decimals), b"\n"], len(values)).split(
        b"\n"
    )[:-1]
    assert lines == [before + text for text in as_written(values, decimals)]


def test_parts_of_every_kind_stand_in_their_order() -> None:
    texts = CodeTexts(3, lambda code: (b"", b"one", "zwölf".encode())[code])
    codes = np.array([2, 0, 1, 2], np.uint32)
    got = join(
        [
            b"<",
            (codes, texts),
            b"|",
            Ticks(np.array([5, -50, 0, 7]), 1),
            b"|",
            [b"a", b"", b"ccccc", b"d"],
            b">\n",
        ],
        4,
    )
    assert got.decode() == "<zwölf|0.5|a>\n<|-5.0|>\n<one|0.0|ccccc>\n<zwölf|0.7|d>\n"
    assert join([b"x\n"], 0) == b""
    assert join([Ticks(np.empty(0, np.int64), 12), b"\n"], 0) == b""


def test_a_text_is_made_once_and_again_only_when_they_outgrow_their_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def text(code: int) -> bytes:
        made.append(code)
        return b"%d" % code

    codes = np.arange(100) % 10
    texts = CodeTexts(10, text)
    for _ in range(3):
        assert texts.texts_for(codes) == [b"%d" % code for code in codes]
    assert sorted(made) == list(range(10))
    monkeypatch.setattr(export_lines, "_MAX_TEXT_BYTES", 5)
    for _ in range(2):
        assert texts.texts_for(codes) == [b"%d" % code for code in codes]
    assert len(made) == 30


# ── whole files ──────────────────────────────────────────────────────────────────────────────────


class Odd(Names):
    """Names that need quotes, an apostrophe, an escape, or nothing."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self._count

    def full(self, index: int) -> str:
        self.asked.append(index)
        odd = (
            "plain",
            "a,b",
            'quo"te',
            "=1+1",
            " -x",
            "",
            "two\nlines",
            "nul\0nul",
            "Grüße, \U0001f600",
            "\ud800 half",
        )[index % 10]
        return f"{odd}{index}" if odd else ""

    display = full

    def stats(self, index: int) -> tuple[Stat, ...]:
        return ()


@pytest.fixture(scope="module")
def run() -> Run:
    made = make(1, Plan(seconds=12, step_s=0.05, epochs=2))
    return Run("synthetic", "x", (made.trace,), (made.steps,), (made.epochs,))


def with_names(run: Run) -> tuple[Run, Odd]:
    trace = run.traces[0]
    names = Odd(len(trace.names))
    return replace(run, traces=(replace(trace, names=names),)), names


def rows_one_by_one(run: Run, lo: int, hi: int) -> list[list[object]]:
    """What the file has to hold, written down the slow way. Exact numbers are bytes."""
    trace = run.traces[0]
    rows: list[list[object]] = []
    for cut in windows.window_summary(trace, lo, hi).cuts():
        for row in range(cut.first, cut.last):
            start, duration = int(cut.track.events.start[row]), int(cut.track.events.duration[row])
            unix = trace.clock.mid_ns + start // 1000
            iso = f"{datetime.fromtimestamp(unix // 10**9, timezone.utc):%Y-%m-%dT%H:%M:%S}.{unix % 10**9:09d}Z"
            rows.append(
                [
                    units.fixed(unix, 10**9, 9).encode(),
                    iso,
                    units.fixed(start, 10**12, 12).encode(),
                    units.fixed(duration, 10**12, 12).encode(),
                    cut.process.name,
                    cut.track.name or str(cut.track.key),
                    cut.depth,
                    "yes" if cut.track.derived else "no",
                    trace.names.full(int(cut.track.events.name[row])),
                ]
            )
    return rows


def test_the_csv_is_what_the_csv_module_would_write(run: Run, tmp_path) -> None:
    odd, names = with_names(run)
    lo, hi = -(10**12), 9 * 10**12
    wanted = io.StringIO()
    writer = csv.writer(wanted, lineterminator="\r\n")
    for row in rows_one_by_one(odd, lo, hi):
        writer.writerow(
            [
                c.decode() if isinstance(c, bytes) else cell(c) if isinstance(c, str) else c
                for c in row
            ]
        )
    names.asked.clear()
    path = tmp_path / "e.csv"
    export.write(odd, 0, lo, hi, what="events", path=str(path))
    body = path.read_bytes().split(b"derived,name\r\n", 1)[1]
    assert body == wanted.getvalue().encode("utf-8", "backslashreplace")
    assert sorted(names.asked) == sorted(
        set(names.asked)
    )  # each name was made ready once, not once a row


def test_the_json_holds_the_same_rows(run: Run, tmp_path) -> None:
    odd, _ = with_names(run)
    path = tmp_path / "e.json"
    export.write(odd, 0, 0, 9 * 10**12, what="events", path=str(path))
    wanted = [
        [float(c) if isinstance(c, bytes) else c for c in row]
        for row in rows_one_by_one(odd, 0, 9 * 10**12)
    ]
    assert json.loads(path.read_text())["rows"] == wanted


def test_a_number_that_json_does_not_have_is_null() -> None:
    assert [
        writing._json_cell(value) for value in (float("nan"), float("inf"), 1.5, None, "x")
    ] == [
        b"null",
        b"null",
        b"1.5",
        b"null",
        b'"x"',
    ]


def test_perfetto_spans_are_exact_and_named(run: Run, tmp_path) -> None:
    odd, names = with_names(run)
    export.write(odd, 0, -(10**12), 10**14, what="perfetto", path=str(tmp_path / "p.json"))
    found = [
        e
        for e in json.loads((tmp_path / "p.json").read_text(), parse_float=str)["traceEvents"]
        if e["ph"] == "X"
    ]
    events = [e for e in found if e["pid"] >= 10]
    wanted = [
        (units.fixed(start, 10**6, 6), units.fixed(duration, 10**6, 6), names.full(name))
        for cut in windows.window_summary(odd.traces[0], -(10**12), 10**14).cuts()
        for start, duration, name in zip(
            cut.events.start.tolist(),
            cut.events.duration.tolist(),
            cut.events.name.tolist(),
            strict=True,
        )
    ]
    assert [(e["ts"], e["dur"], e["name"]) for e in events] == wanted


def test_short_lanes_are_written_together(run: Run) -> None:
    cuts = list(windows.window_summary(run.traces[0], 0, 10**14).cuts())
    pieces = list(export_rows.gathered(cuts))
    assert sum(len(piece[0]) for piece in pieces) == sum(cut.last - cut.first for cut in cuts)
    assert all(len(piece[0]) == sheets.CHUNK_ROWS for piece in pieces[:-1])


def long(run: Run, events: int) -> Run:
    """The run with one line alone, its outermost events played again and again."""
    trace = run.traces[0]
    process, track = max(trace.tracks(), key=lambda found: len(found[1].lane(0)))
    lane, length = track.lane(0), trace.span[1] - trace.span[0] + 1
    times = -(-events // len(lane))
    start = (lane.start[None] + np.arange(times)[:, None] * length).ravel()
    columns = (
        start,
        *(np.tile(column, times) for column in (lane.duration, lane.name, lane.position)),
    )
    line = replace(
        track, events=Events(*(column[:events] for column in columns)), lanes=np.array([0, events])
    )
    return replace(
        run,
        traces=(
            replace(trace, processes=(replace(process, tracks=(line,)),), span=(0, times * length)),
        ),
    )


def test_writing_takes_no_more_memory_for_more_events(run: Run, tmp_path) -> None:
    peaks = []
    for events in (20_000, 200_000):
        some = long(run, events)
        for what in ("events", "perfetto"):
            tracemalloc.start()
            export.write(some, 0, 0, 10**18, what=what, path=str(tmp_path / f"{what}{events}"))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert (tmp_path / "events200000").stat().st_size > 9 * (
        tmp_path / "events20000"
    ).stat().st_size
    assert max(peaks[2:]) < 1.5 * max(peaks[:2]), peaks
