from __future__ import annotations

import gzip
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.formats import registry, xplane
from powertui.data.formats.file_warnings import MAX_FINDINGS, FileWarnings
from powertui.data.model import Process, ProcessKind, Stat, Trace
from powertui.data.tools import op_stats, op_table
from powertui.data.wire import pure, schemas, windows
from powertui.errors import Cancelled, UnreadableFile
from tests.synthetic import xplane as synthetic

SMALL = "logdirs/trace_export/plugins/profile/2026_11_21_00_50_42/vm.xplane.pb"
JAX = "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50/vm.xplane.pb"


def new_space() -> Any:
    return schemas.message("XSpace")()


def add_plane(
    space: Any, name: str, names: dict[int, str] | None = None, stats: dict[int, str] | None = None
) -> Any:
    plane = space.planes.add(name=name)
    for key, text in (names or {}).items():
        plane.event_metadata[key].id = key
        plane.event_metadata[key].name = text
    for key, text in (stats or {}).items():
        plane.stat_metadata[key].id = key
        plane.stat_metadata[key].name = text
    return plane


def load(tmp_path: Path, space: Any, name: str = "host.xplane.pb") -> Trace:
    return load_bytes(
        tmp_path, space if isinstance(space, bytes) else space.SerializeToString(), name
    )


def load_bytes(tmp_path: Path, content: bytes, name: str = "host.xplane.pb") -> Trace:
    path = tmp_path / name
    path.write_bytes(content)
    return registry.read(path)


def plain(stat: Stat) -> tuple[str, Any, str]:
    value = stat.value
    return stat.name, "nan" if isinstance(value, float) and math.isnan(value) else value, stat.kind


def expected_stats(plane: Any, stats: Any) -> list[tuple[str, Any, str]]:
    out = []
    for stat in stats:
        kind = (stat.WhichOneof("value") or "str_value").removesuffix("_value")
        value = getattr(stat, kind + "_value")
        if kind == "ref":
            value = plane.stat_metadata[value].name
        out.append(plain(Stat(plane.stat_metadata[stat.metadata_id].name, value, kind)))  # type: ignore[arg-type]
    return out


def rows_of(trace: Trace) -> list[tuple[Any, ...]]:
    rows = []
    for process, track in trace.tracks():
        events = track.events
        for i in range(len(events)):
            name = int(events.name[i])
            stats = tuple(plain(s) for s in process.source.event_stats(int(events.position[i])))
            rows.append(
                (
                    process.name,
                    track.key,
                    int(events.start[i]),
                    int(events.duration[i]),
                    trace.names.full(name),
                    trace.names.display(name),
                    stats,
                )
            )
    return sorted(rows, key=repr)


def rows_of_message(space: Any) -> list[tuple[Any, ...]]:
    rows = []
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                meta = plane.event_metadata[event.metadata_id]
                start = line.timestamp_ns * 1000 + event.offset_ps
                stats = tuple(expected_stats(plane, event.stats))
                key = line.display_id or line.id
                rows.append(
                    (
                        plane.name,
                        key,
                        start,
                        event.duration_ps,
                        meta.name,
                        meta.display_name or meta.name,
                        stats,
                    )
                )
    return sorted(rows, key=repr)


@pytest.mark.parametrize("name", [SMALL, JAX])
def test_every_event_comes_out_as_protobuf_reads_it(data: Path, name: str) -> None:
    space = schemas.message("XSpace").FromString((data / name).read_bytes())
    trace = registry.read(data / name)
    assert rows_of(trace) == rows_of_message(space)
    assert trace.complete
    assert trace.format == "xplane"
    assert trace.host == "vm"
    assert not trace.warnings


def test_stat_columns_agree_with_single_events(data: Path) -> None:
    trace = registry.read(data / JAX)
    checked = 0
    for process, track in trace.tracks():
        positions = track.events.position
        singles = [process.source.event_stats(int(p)) for p in positions]
        names = sorted({stat.name for stats in singles for stat in stats})
        columns = process.source.columns(positions, [*names, "no such stat", "nor such"])
        assert not columns["no such stat"].present.any()
        assert columns["no such stat"] is columns["nor such"], "one column of nothing is enough"
        for name in names:
            column = columns[name]
            for row, stats in enumerate(singles):
                first = next((s for s in stats if s.name == name), None)
                assert bool(column.present[row]) == (first is not None)
                if first is None:
                    assert column.text(row) is None
                elif first.kind in ("int64", "uint64"):
                    assert isinstance(first.value, int)
                    assert int(column.ints[row]) == (first.value + (1 << 63)) % (1 << 64) - (
                        1 << 63
                    )
                    assert column.floats[row] == float(first.value)
                elif first.kind == "double":
                    assert column.floats[row] == first.value
                else:
                    assert column.text(row) == first.value
                checked += 1
    assert checked > 10_000


def test_types_that_flip_within_one_stat_stay_what_they_were(tmp_path: Path) -> None:
    space = new_space()
    plane = add_plane(space, "/host:CPU", {1: "op"}, {1: "x", 2: "12", 3: "word"})
    line = plane.lines.add(id=1, name="python")
    values: list[dict[str, Any]] = [
        {"int64_value": -5},
        {"uint64_value": (1 << 64) - 1},
        {"double_value": 2.5},
        {"double_value": 3.0},
        {"ref_value": 2},
        {"ref_value": 3},
        {"str_value": "7"},
        {"bytes_value": b"abc"},
        {"ref_value": 99},
        {"double_value": math.inf},
    ]
    for i, value in enumerate(values):
        event = line.events.add(metadata_id=1, offset_ps=i * 10, duration_ps=1)
        event.stats.add(metadata_id=1, **value)
        event.stats.add(metadata_id=1, int64_value=1000)  # repeated: the first counts
    line.events.add(metadata_id=1, offset_ps=500, duration_ps=1)
    trace = load(tmp_path, space)
    process = trace.processes[0]
    events = process.tracks[0].events
    column = process.source.columns(events.position, ["x"])["x"]
    assert column.present.tolist() == [True] * 10 + [False]
    assert column.ints.tolist() == [-5, -1, 0, 3, 12, 0, 7, 0, 0, 0, 0]
    assert column.floats[:5].tolist() == [-5.0, float((1 << 64) - 1), 2.5, 3.0, 12.0]
    assert np.isnan(column.floats[5])
    assert [column.text(i) for i in (4, 5, 6, 7)] == ["12", "word", "7", "3 bytes"]
    assert len(process.source.event_stats(int(events.position[0]))) == 2


def test_one_stat_name_under_two_numbers_is_one_column(tmp_path: Path) -> None:
    space = new_space()
    plane = add_plane(space, "/host:CPU", {1: "op"}, {1: "x", 2: "x"})
    line = plane.lines.add(id=1, name="python")
    for i in range(2):
        line.events.add(metadata_id=1, offset_ps=i, duration_ps=1).stats.add(
            metadata_id=i + 1, int64_value=i + 10
        )
    process = load(tmp_path, space).processes[0]
    assert process.source.columns(process.tracks[0].events.position, ["x"])["x"].ints.tolist() == [
        10,
        11,
    ]


def test_counted_events_go_to_the_tables_not_to_the_timeline(tmp_path: Path) -> None:
    space = new_space()
    plane = add_plane(space, "/device:TPU:0", {1: "op", 2: "sum"})
    line = plane.lines.add(id=1, name="XLA Ops", timestamp_ns=5)
    line.events.add(metadata_id=1, offset_ps=10, duration_ps=3)
    line.events.add(metadata_id=2, num_occurrences=77, duration_ps=900)
    line.events.add(metadata_id=1, offset_ps=20, duration_ps=0)
    trace = load(tmp_path, space)
    track = trace.processes[0].tracks[0]
    assert track.events.start.tolist() == [5010, 5020]
    assert track.events.duration.tolist() == [3, 0]
    assert track.aggregates is not None
    assert track.aggregates.occurrences.tolist() == [77]
    assert track.aggregates.duration.tolist() == [900]
    assert trace.names.full(int(track.aggregates.name[0])) == "sum"
    assert trace.event_count == 3
    ops, counted = op_table.result(op_stats.op_stats(trace)).tables
    assert counted.id == "counted"
    assert [column.values[0] for column in counted.columns] == ["sum", "XLA Ops", 77, 900]
    assert len(ops.columns[0].values) == 1


def test_names_of_planes_do_not_mix(tmp_path: Path) -> None:
    space = new_space()
    add_plane(space, "/host:empty")
    for name, texts in (
        ("/host:CPU", {1: "a", 2: "b"}),
        ("/device:GPU:0", {1: "kernel", 7: "copy"}),
    ):
        plane = add_plane(space, name, texts)
        line = plane.lines.add(id=1, name="line")
        for i, key in enumerate(texts):
            line.events.add(metadata_id=key, offset_ps=i * 5, duration_ps=1)
    trace = load(tmp_path, space)
    found = {
        p.name: [trace.names.full(int(n)) for t in p.tracks for n in t.events.name]
        for p in trace.processes
    }
    assert found == {
        "/device:GPU:0": ["kernel", "copy"],
        "/host:CPU": ["a", "b"],
        "/host:empty": [],
    }
    assert len(trace.names) == 4
    whole = np.arange(4, dtype=np.int64)
    assert sorted(trace.names.texts(whole).strings()) == ["a", "b", "copy", "kernel"]
    assert trace.names.texts(whole[::-1]).strings() == [trace.names.full(i) for i in (3, 2, 1, 0)]
    with pytest.raises(IndexError):
        trace.names.full(4)


@pytest.mark.parametrize(
    "keys",
    [[1, 2, 3], [5, 1 << 31, (1 << 32) - 1], [1, (1 << 32) + 1, 1 << 62], [-1, 1, -(1 << 63)]],
)
def test_any_metadata_id_finds_its_name(tmp_path: Path, keys: list[int]) -> None:
    space = new_space()
    plane = add_plane(space, "/host:CPU", {key: f"name {key}" for key in keys})
    line = plane.lines.add(id=1, name="line")
    for i, key in enumerate([*keys, 4, 1 << 40]):
        line.events.add(metadata_id=key, offset_ps=i * 5, duration_ps=1)
    trace = load(tmp_path, space)
    names = [trace.names.full(int(n)) for n in trace.processes[0].tracks[0].events.name]
    assert names == [*(f"name {key}" for key in keys), "event 4", f"event {1 << 40}"]
    assert trace.names.display(len(trace.names) - 1) == f"event {1 << 40}"
    assert trace.names.stats(len(trace.names) - 1) == ()


def test_metadata_stats_are_read_when_asked(data: Path) -> None:
    trace = registry.read(data / JAX)
    process = next(p for p in trace.processes if p.name == "/host:metadata")
    assert process.kind is ProcessKind.META
    source = process.source
    assert isinstance(source, xplane.PlaneStats)
    modules = {trace.names.full(i): {s.name: s for s in trace.names.stats(i)} for i in source.names}
    assert modules
    for name, stats in modules.items():
        assert name.startswith("jit_")
        assert stats["Hlo Proto"].kind == "bytes"
        assert isinstance(stats["Hlo Proto"].value, bytes)


def test_the_session_is_found_for_the_clock(data: Path) -> None:
    trace = registry.read(data / SMALL)
    environment = next(p for p in trace.processes if p.name == "Task Environment")
    stats = {s.name: s.value for s in environment.stats}
    assert stats["profile_start_time"] == 1795222242753075388
    assert trace.stop_ns == stats["profile_stop_time"] == 1795222242941091530
    assert not trace.clock.known  # which clock to believe is not the reader's business


def test_the_profilers_own_errors_are_warnings_that_can_be_found(tmp_path: Path) -> None:
    space = new_space()
    space.errors.append("Failed to load libcupti (is it installed and accessible?)")
    space.warnings.append("no GPU")
    space.hostnames.append("34.83.195.179:6003")
    trace = load(tmp_path, space)
    assert [w.cause for w in trace.warnings] == [
        "profiler error: Failed to load libcupti (is it installed and accessible?)",
        "profiler warning: no GPU",
    ]
    assert trace.event_count == 0
    assert trace.host == "host"
    assert trace.hostnames == ("34.83.195.179:6003",)


def test_the_name_of_a_host_is_as_long_as_such_names_may_be(tmp_path: Path) -> None:
    space = new_space()
    space.hostnames.append("h" * 300)
    assert load(tmp_path, space).hostnames == ("h" * 255,)


@pytest.mark.parametrize("careful", [False, True])
def test_a_file_that_is_cut_while_it_is_read_is_said_to_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, careful: bool
) -> None:
    """What was read of it before is kept."""
    monkeypatch.setattr(windows, "WINDOW", 1 << 16)
    space = new_space()
    line = add_plane(space, "/host:CPU", {1: "op"}).lines.add(id=1, name="line")
    for i in range(40_000):
        line.events.add(
            metadata_id=1, offset_ps=i * 10, duration_ps=-1 if careful and i == 7 else 5
        )
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(space.SerializeToString())

    def cut(done: int, total: int, events: int) -> None:
        if events:
            os.truncate(path, 1000)

    trace = list(registry.load(str(path), cut))[-1]
    assert 0 < trace.event_count < 40_000
    assert any("changed since it was opened" in warning.cause for warning in trace.warnings)


def test_lines_in_unix_time_are_shifted_by_the_session_else_by_the_first_of_them(
    tmp_path: Path,
) -> None:
    unix = 1_795_222_242_000_000_000

    def space(with_session: bool) -> Any:
        made = new_space()
        plane = add_plane(made, "/host:CPU", {1: "a"})
        for i, stamp in enumerate((unix + 5000, unix + 2000, 700)):
            plane.lines.add(id=i, name=f"t{i}", timestamp_ns=stamp).events.add(
                metadata_id=1, offset_ps=1, duration_ps=1
            )
        if with_session:
            env = add_plane(
                made, "Task Environment", stats={1: "profile_start_time", 2: "profile_stop_time"}
            )
            env.stats.add(metadata_id=1, uint64_value=unix)
            env.stats.add(metadata_id=2, uint64_value=unix + 10**9)
        return made

    def starts(trace: Trace) -> list[int]:
        return [int(t.events.start[0]) for _, t in trace.tracks()]

    assert starts(load(tmp_path, space(True))) == [5_000_001, 2_000_001, 700_001]
    alone = load(tmp_path, space(False))
    assert starts(alone) == [3_000_001, 1, 700_001]
    assert (alone.clock.lo_ns, alone.clock.source) == (unix + 2000, "absolute timestamps")


@pytest.mark.parametrize("stamp", [(1 << 63) - 1, -(1 << 63), 5 * 10**17, -(10**16)])
def test_a_line_at_an_impossible_time_is_left_out(tmp_path: Path, stamp: int) -> None:
    space = new_space()
    plane = add_plane(space, "/host:CPU", {1: "a"})
    plane.lines.add(id=1, name="good").events.add(metadata_id=1, offset_ps=1, duration_ps=1)
    plane.lines.add(id=2, name="bad", timestamp_ns=stamp).events.add(
        metadata_id=1, offset_ps=1, duration_ps=1
    )
    trace = load(tmp_path, space)
    assert trace.event_count == 1
    assert trace.span == (1, 2)
    assert "impossible" in trace.warnings[0].cause


# ── other ways in ──


def test_gzip_and_any_name_are_read_alike(data: Path, tmp_path: Path) -> None:
    content = (data / SMALL).read_bytes()
    rows = rows_of(registry.read(data / SMALL))
    assert rows_of(load_bytes(tmp_path, gzip.compress(content), "vm.xplane.pb")) == rows
    assert rows_of(load_bytes(tmp_path, content, "some file")) == rows


def test_progress_is_told_and_may_stop_it(data: Path) -> None:
    told: list[tuple[int, int, int]] = []
    registry.read(data / JAX, lambda done, total, events, /: told.append((done, total, events)))
    size = (data / JAX).stat().st_size
    assert told[-1] == (size, size, 2978)
    assert told == sorted(told)

    def stop(done: int, total: int, events: int, /) -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        registry.read(data / JAX, stop)


def test_a_long_line_is_decoded_in_slices_that_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xplane, "SLICE", 10)
    space = new_space()
    plane = add_plane(space, "/host:CPU", {1: "a", 1 << 40: "wide"})
    line = plane.lines.add(id=1, name="python", display_name="shown")
    for i in range(95):
        if i % 7 == 3:
            line.events.add(metadata_id=1, num_occurrences=i + 1)
        else:
            line.events.add(
                metadata_id=1 << 40 if i % 5 == 0 else 1, offset_ps=i * 10, duration_ps=5
            )
    told: list[int] = []
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(space.SerializeToString())
    trace = registry.read(path, lambda done, total, events, /: told.append(events))
    assert told == [*range(10, 91, 10), 95]
    track = trace.processes[0].tracks[0]
    assert track.name == "shown"
    assert track.events.start.tolist() == [i * 10 for i in range(95) if i % 7 != 3]
    names = [trace.names.full(int(n)) for n in track.events.name]
    assert names == ["wide" if i % 5 == 0 else "a" for i in range(95) if i % 7 != 3]
    assert track.aggregates is not None
    assert track.aggregates.occurrences.tolist() == [i + 1 for i in range(95) if i % 7 == 3]


def test_parts_come_first_and_the_whole_last(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xplane, "FIRST_PART", 200)
    traces = list(registry.load(data / JAX))
    assert len(traces) > 1
    assert [t.complete for t in traces] == [False] * (len(traces) - 1) + [True]
    counts = [t.event_count for t in traces]
    assert counts == sorted(counts)
    assert all(t.processes for t in traces)
    # a part that was handed out does not change any more
    assert sum(p.event_count for p in traces[0].processes) == counts[0]


def test_short_lines_are_shown_before_a_long_one_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xplane, "LONG_LINE", 50)
    space = new_space()
    plane = add_plane(space, "/host:CPU", {1: "a"})
    for key, count in enumerate((60, 3, 5)):
        line = plane.lines.add(id=key, name=f"t{key}")
        for i in range(count):
            line.events.add(metadata_id=1, offset_ps=i * 10, duration_ps=1)
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(space.SerializeToString())
    parts = [{track.name for _, track in trace.tracks()} for trace in registry.load(path)]
    assert parts == [{"t1", "t2"}, {"t0", "t1", "t2"}]


def test_a_profile_of_nothing_is_a_trace_and_foreign_fields_are_not(tmp_path: Path) -> None:
    space = new_space()
    space.hostnames.append("vm")
    assert load(tmp_path, space).event_count == 0
    with pytest.raises(UnreadableFile, match="not a profile"):
        load(tmp_path, b"\x2a\x02ab" * 5)


# ── files that are not whole ──


def test_a_file_cut_anywhere_gives_what_is_there_or_one_sentence(
    data: Path, tmp_path: Path
) -> None:
    content = (data / SMALL).read_bytes()
    whole = {(row[1], row[2], row[3]) for row in rows_of(registry.read(data / SMALL))}
    kept = 0
    refused: list[tuple[int, str]] = []
    for cut in [*range(1, 64), *range(64, len(content), len(content) // 120)]:
        try:
            trace = load_bytes(tmp_path, content[:cut])
        except UnreadableFile as error:
            refused.append((cut, error.problem))
            continue
        assert trace.warnings, cut
        rows = {
            (t.key, s, d)
            for _, t in trace.tracks()
            for s, d in zip(t.events.start.tolist(), t.events.duration.tolist(), strict=True)
        }
        # events of the line that was cut are there too; its display id may be gone
        assert {(s, d) for _, s, d in rows} <= {(s, d) for _, s, d in whole}
        kept += trace.event_count
        for i in range(len(trace.names)):
            trace.names.display(i)
    assert kept > 10_000
    assert [cut for cut, _ in refused] == list(
        range(1, len(refused) + 1)
    )  # only while no event is whole
    assert all("truncated" in problem or "begins" in problem for _, problem in refused)


@settings(max_examples=80, deadline=None)
@given(
    damage=st.lists(
        st.tuples(st.integers(0, 44_000), st.binary(min_size=1, max_size=4)),
        min_size=1,
        max_size=40,
    )
)
def test_damage_anywhere_never_crashes_nor_stretches_time(
    damage: list[tuple[int, bytes]], data: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray((data / SMALL).read_bytes())
    for at, garbage in damage:
        content[at : at + len(garbage)] = garbage
    folder = tmp_path_factory.mktemp("damaged")
    try:
        trace = load_bytes(folder, bytes(content))
    except UnreadableFile:
        return
    lo, hi = trace.span
    assert -(1 << 61) <= lo <= hi <= 1 << 62
    for process, track in trace.tracks():
        assert (track.events.duration >= 0).all()
        for name in np.unique(track.events.name).tolist():
            trace.names.display(name)
            trace.names.stats(name)
        for position in track.events.position[:20].tolist():
            process.source.event_stats(position)
        process.source.columns(track.events.position, ["id", "_src"])


def test_a_mangled_file_is_told_by_what_it_became(data: Path, tmp_path: Path) -> None:
    content = (data / SMALL).read_bytes().decode("utf-8", "replace").encode()
    with pytest.raises(UnreadableFile, match="EF BF BD") as error:
        load_bytes(tmp_path, content, "vm.xplane.pb")
    assert "binary" in error.value.hint


@pytest.mark.parametrize(
    "content", [b"\x00" * 100, b"hello, this is text\n" * 20, b"\x93\xff\xfe\xfd" * 10, b"<html>"]
)
def test_other_content_under_the_right_name_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UnreadableFile) as error:
        load_bytes(tmp_path, content, "vm.xplane.pb")
    assert error.value.hint


# ── with and without a compiler ──


def columns_of(trace: Trace) -> list[Any]:
    return [
        [
            track.name,
            track.lanes.tolist(),
            *(c.tolist() for c in (e.start, e.duration, e.name, e.position)),
            e.place.dtype,
        ]
        for _, track in trace.tracks()
        for e in [track.events]
    ]


LINES = st.lists(
    st.tuples(
        st.booleans(),
        st.lists(
            st.tuples(st.integers(0, 400), st.integers(-1, 90), st.sampled_from("abc")), max_size=50
        ),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.skipif(not wire.COMPILED, reason="there is no compiled scanner to compare with")
@settings(max_examples=60, deadline=None)
@given(lines=LINES)
def test_the_trace_is_the_same_without_a_compiler(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any]
) -> None:
    """Sorted lines go straight into lanes, others the general way, and all of them that way without
    a compiler.
    """
    space = [
        synthetic.Line(
            f"t{i}",
            [
                synthetic.Event(n, s, d)
                for s, d, n in (sorted(e, key=lambda r: (r[0], -r[1])) if tidy else e)
            ],
        )
        for i, (tidy, e) in enumerate(lines)
    ]
    content = synthetic.encode([synthetic.Plane("/host:CPU", space)])
    folder = tmp_path_factory.mktemp("both")
    compiled = load_bytes(folder, content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "COMPILED", False)
        for name in (
            "blocks",
            "ends",
            "hop",
            "nest",
            "pick",
            "scan_events",
            "scan_stats",
            "stats",
            "sums",
        ):
            patch.setattr(wire, name, getattr(pure, name))
        without = load_bytes(folder, content)
    assert columns_of(compiled) == columns_of(without)
    assert (compiled.span, compiled.event_count, compiled.warnings) == (
        without.span,
        without.event_count,
        without.warnings,
    )


# ── real ones ──


def own(shared: Path, name: str) -> Trace:
    (path,) = (shared / "own" / name).rglob("*.xplane.pb")
    return registry.read(path)


@pytest.mark.parametrize(
    ("name", "events"),
    [("keras_cifar", 767_110), ("custom_loop", 69_080), ("two_epochs_with_burst", 179_470)],
)
def test_known_counts(shared_data: Path, name: str, events: int) -> None:
    trace = own(shared_data, name)
    assert trace.event_count == events
    assert not trace.warnings
    held = sum(
        c.nbytes
        for _, t in trace.tracks()
        for c in (t.events.start, t.events.duration, t.events.name, t.events.place)
    )
    assert held == 24 * events


def test_both_runs_of_jax(shared_data: Path) -> None:
    counts = [
        registry.read(path).event_count
        for path in sorted((shared_data / "own/jax_cpu").rglob("*.xplane.pb"))
    ]
    assert counts == [57_528, 2_978]


def test_every_public_profile_is_read_as_protobuf_reads_it_or_explained(shared_data: Path) -> None:
    paths = sorted((shared_data / "public").rglob("*.xplane.pb"))
    assert paths
    for path in paths:
        if "corrupt" in str(path):
            with pytest.raises(UnreadableFile, match="EF BF BD"):
                registry.read(path)
            continue
        space = schemas.message("XSpace").FromString(path.read_bytes())
        trace = registry.read(path)
        assert trace.event_count == sum(
            len(line.events) for plane in space.planes for line in plane.lines
        )
        assert rows_of(trace) == rows_of_message(space)
        assert not trace.warnings


def test_idle_devices_are_counted_and_derived_lines_marked(shared_data: Path) -> None:
    trace = registry.read(
        shared_data
        / "public/tf_gpu_multiworker/plugins/profile/GPU-multi-worker/34.83.195.179_6003.xplane.pb"
    )
    assert trace.host == "34.83.195.179_6003"
    assert len(trace.devices) == 8
    empty = [p.name for p in trace.processes if p.empty]
    assert 0 < len(empty) < 8

    def derived(process: Process) -> set[str]:
        return {track.name for track in process.tracks if track.derived}

    busy = next(p for p in trace.processes if p.name == "/device:GPU:4")
    assert {"Steps", "TensorFlow Ops", "TensorFlow Name Scope"} <= derived(busy)
    assert not any(name.startswith("Stream") for name in derived(busy))


def test_a_file_of_empty_things_is_read_as_far_as_any_profile_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.synthetic import xplane as made

    for name, most in (("_MAX_PLANES", 5), ("_MAX_LINES", 7), ("_MAX_TEXTS", 3)):
        monkeypatch.setattr(xplane, name, most)
    plane = made.blob(2, b"/host:CPU") + made.blob(3, made.blob(4, b"\x08\x01\x10\x00\x18\x05"))
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(
        made.blob(1, plane) * 4
        + made.blob(1, plane + made.blob(3, b"\x08\x01") * 9) * 3
        + made.blob(4, b"host") * 10
    )
    trace = registry.read(path)
    said = {warn.cause: warn.count for warn in trace.warnings}
    assert said["there are more planes than any profile has; the others were left out"] == 2
    assert said["there are more lines than any profile has; the others were left out"] == 7
    assert said["there are more host names than any profile has; the others were left out"] == 7
    assert len(trace.hostnames) == 3
    assert trace.event_count == 5


def test_findings_of_one_file_are_no_more_than_anyone_reads() -> None:
    findings = FileWarnings("x")
    for number in range(5000):
        findings.add(f"error {number}")
    assert len(findings.all()) == MAX_FINDINGS + 1
    assert sum(warn.count for warn in findings.all()) == 5000


def test_a_decoder_that_gets_no_further_does_not_hold_the_reader_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = new_space()
    line = add_plane(space, "/host:CPU", {1: "a"}).lines.add(id=1, name="python")
    for i in range(50):
        line.events.add(metadata_id=1, offset_ps=i * 10, duration_ps=5)
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(space.SerializeToString())
    real = wire.scan_events

    def stands(data: Any, place: int, *rest: Any) -> Any:
        found = real(data, place, *rest)
        return (
            found._replace(rows=0, next=place) if place else found._replace(rows=5, next=place + 40)
        )

    monkeypatch.setattr(xplane._LineReader, "_read_packed", lambda *_: False)
    monkeypatch.setattr(xplane.wire, "scan_events", stands)
    assert registry.read(path).event_count <= 5
