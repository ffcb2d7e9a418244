"""Exports of Nsight Systems: what is read, recounted in SQL, and what is refused."""

from __future__ import annotations

import os
import random
import sqlite3
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui.data.formats import registry
from powertui.data.model import Scope, Trace
from powertui.errors import UnreadableFile
from tests.unit import nsys_exports
from tests.unit.nsys_exports import EPOCH_NS, PIDS, STEPS, VERSIONS


@pytest.fixture(params=VERSIONS)
def export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, request.param)
    return path


def asked(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def has(path: Path, table: str) -> bool:
    return bool(asked(path, f"SELECT 1 FROM sqlite_master WHERE name = '{table}'"))


def sums(trace: Trace, side: str) -> Counter[tuple[str, int]]:
    """(name, ns) of every event on one side, counted."""
    found: Counter[tuple[str, int]] = Counter()
    for process, track in trace.tracks():
        if process.name.startswith(side):
            for name, length in zip(
                track.events.name.tolist(), track.events.duration.tolist(), strict=True
            ):
                found[trace.names.full(name), length // 1000] += 1
    return found


def test_work_on_devices_is_what_sql_counts(export: Path) -> None:
    work = "SELECT value, end - start FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON "
    work += "id = demangledName UNION ALL SELECT 'Memcpy HtoD', end - start FROM "
    work += "CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT 'Memset', end - start FROM "
    work += "CUPTI_ACTIVITY_KIND_MEMSET"
    if has(export, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
        work += " UNION ALL SELECT 'CUDA graph ' || graphId, end - start FROM "
        work += "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
    assert sums(registry.read(export), "/device:") == Counter(asked(export, work))


def test_calls_and_ranges_on_the_host_are_what_sql_counts(export: Path) -> None:
    found = sums(registry.read(export), "/host:")
    calls = asked(
        export,
        "SELECT substr(value, 1, instr(value, '_v') - 1), end - start FROM "
        "CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId",
    )
    ranges = asked(
        export,
        "SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)), "
        "CASE eventType WHEN 34 THEN 0 ELSE end - start END FROM NVTX_EVENTS",
    )
    waits = samples = []
    if has(export, "OSRT_API"):
        query = "SELECT value, end - start FROM OSRT_API JOIN StringIds ON id = nameId"
        waits = asked(export, query)
    if has(export, "COMPOSITE_EVENTS"):
        samples = asked(
            export,
            "SELECT coalesce((SELECT value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON "
            "s.id = c.symbol WHERE c.id = e.id AND stackDepth = 0), 'sample'), 0 "
            "FROM COMPOSITE_EVENTS e",
        )
        assert {name for name, _ in samples} == {"sample", "load_0", "load_1"}
    assert found == Counter([*calls, *ranges, *waits, *samples])


def test_waits_and_samples_have_lines_of_their_own_and_count_as_no_work(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, "2025.6")
    run = powertui.open(path)[0]
    (trace,) = run.opened.run.traces
    derived = {
        track.name for process, track in trace.tracks() if track.derived and len(track.events)
    }
    assert derived == {"main operating system", "main samples"}
    assert not set(run.tool("op_stats").frame.name) & {"pthread_cond_wait", "load_1", "sample"}
    assert not [warning.cause for warning in trace.warnings]


def test_launches_lead_to_their_kernels_in_each_process(export: Path) -> None:
    trace = registry.read(export)
    calls: dict[int, int] = {}
    kernels: dict[int, int] = {}
    for process, track in trace.tracks():
        column = process.source.columns(track.events.position, ("correlation_id",))
        ids = column["correlation_id"]
        side = kernels if process.name.startswith("/device:") else calls
        for row in np.flatnonzero(ids.present).tolist():
            name = trace.names.full(int(track.events.name[row]))
            if not name.startswith("CUDA graph"):
                side[int(ids.ints[row])] = int(track.events.start[row])
    processes = 1 if len(trace.devices) == 1 else len(PIDS)
    assert calls.keys() == kernels.keys()
    assert len(calls) == 3 * STEPS * processes
    assert all(0 < kernels[number] - start <= 20_000_000 for number, start in calls.items())


def test_numbered_ranges_are_steps(export: Path) -> None:
    run = powertui.open(export)[0]
    steps = run.opened.run.steps[0]
    assert len(steps) == STEPS
    assert steps.start.tolist() == [number * 10**9 for number in range(STEPS)]


def test_each_process_has_its_gpu_and_its_threads(tmp_path: Path) -> None:
    nsys_exports.write(tmp_path / "report.sqlite", "2025.6")
    trace = registry.read(tmp_path / "report.sqlite")
    names = ("main operating system", "main samples", "main started ranges")
    host_lines = [("main", 3), *((name, 1) for name in names)]
    assert [
        (process.name, [(track.name, track.lane_count) for track in process.tracks])
        for process in trace.processes
    ] == [
        ("/device:GPU:0", [("Stream #7", 1), ("Stream #13", 1)]),
        ("/device:GPU:1", [("Stream #7", 1), ("Stream #13", 1)]),
        ("/host:CPU train0 4711", host_lines),
        ("/host:CPU train1 4712", host_lines),
    ]
    facts = {stat.name: stat.value for stat in trace.processes[1].stats}
    assert facts["device_name"] == "NVIDIA H100"
    assert facts["uuid"] == "GPU-1"
    assert trace.clock.known
    assert trace.clock.mid_ns == EPOCH_NS


def test_sampled_power_counts_as_power_and_memory_as_bytes(tmp_path: Path) -> None:
    nsys_exports.write(tmp_path / "report.sqlite", "2022.4")
    run = powertui.open(tmp_path)[0].opened.run
    assert [(each.sensor.name, each.sensor.scope) for each in run.power] == [
        ("GPU 0 GPU Power", Scope.GPU),
        ("GPU 1 GPU Power", Scope.GPU),
    ]
    assert run.power[1].watts.tolist() == [300.0 + sample for sample in range(20)]
    memory = [each for each in run.traces[0].counters if each.unit == "bytes"]
    changes = asked(
        tmp_path / "report.sqlite",
        "SELECT bytes * (1 - 2 * memoryOperationType) FROM CUDA_GPU_MEMORY_USAGE_EVENTS "
        f"WHERE globalPid = {nsys_exports.global_tid(PIDS[0])} ORDER BY start",
    )
    held = np.cumsum([change for (change,) in changes]).tolist()
    assert memory[0].values.tolist() == held


def test_how_a_kernel_was_launched_is_read_when_asked(export: Path) -> None:
    frame = powertui.open(export)[0].tool("kernel_stats").frame
    row = frame[frame.kernel_name == nsys_exports.KERNELS[0]].iloc[0]
    assert (row.registers_per_thread, row.block_dim, row.grid_dim) == (32, "256,1,1", "128,1,1")
    assert row.occurrences % STEPS == 0


def test_the_file_and_its_folder_stay_as_they_are(export: Path) -> None:
    before = export.read_bytes()
    export.chmod(0o444)
    powertui.open(export)[0].tool("kernel_stats")
    assert export.read_bytes() == before
    assert [path.name for path in export.parent.iterdir()] == ["report.sqlite"]


def test_a_locked_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, "2022.4")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert registry.read(path).event_count == 244


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(UnreadableFile) as caught:
        registry.read(path)
    return caught.value.problem, caught.value.hint


def test_what_is_no_export_is_said_in_a_sentence(tmp_path: Path) -> None:
    report = tmp_path / "report.nsys-rep"
    report.write_bytes(b"\x00\x13NVIDIA" + bytes(90))
    assert refusal(report) == (
        "is a report of Nsight Systems, which only NVIDIA's tools read",
        "Export it: nsys export --type sqlite -o report.sqlite report.nsys-rep",
    )
    foreign = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE songs (name TEXT)")
        database.commit()
    assert refusal(foreign)[0] == "looks like a SQLite database"
    empty = tmp_path / "empty.sqlite"
    with closing(sqlite3.connect(empty)) as database:
        database.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER)")
        database.commit()
    assert refusal(empty)[0] == (
        "is an export of Nsight Systems without kernels, calls, ranges or metrics"
    )


def test_an_export_whose_list_of_tables_begins_late_is_known(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, "2025.6")
    data = path.read_bytes()
    # The list did not fit into the first page: its parts are where the file was as it grew.
    assert all(name not in data[:65_536] for name in (b"NVTX_EVENTS", b"CUPTI_", b"TARGET_"))
    assert registry.read(path).format == "nsys"


def test_a_truncated_export_is_said_in_a_sentence(export: Path) -> None:
    data = export.read_bytes()
    export.write_bytes(data[:-4096])  # its last page
    cause, hint = refusal(export)
    assert cause.startswith("is a damaged database (")
    assert hint == "Export it again: nsys export --type sqlite -o OUT.sqlite REPORT.nsys-rep"


def test_views_and_computed_columns_are_never_asked(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, "2022.4")
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET")
        database.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS WITH RECURSIVE n(start) AS "
            "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n"
        )
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, "
            "end AS (length(zeroblob(900000000))), graphId INTEGER)"
        )
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start) VALUES (1)")
        database.commit()
    names = sums(registry.read(path), "/device:")
    assert not any(name == "Memset" or name.startswith("CUDA graph") for name, _ in names)


def test_texts_where_numbers_should_be_and_missing_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "report.sqlite"
    nsys_exports.write(path, "2025.6")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 'x' WHERE rowid = 1")
        database.execute("UPDATE NVTX_EVENTS SET end = NULL WHERE rowid = 1")
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 1 << 62 WHERE rowid = 2")
        database.execute("UPDATE StringIds SET value = char(27) || '[31m[red]' WHERE id = 14")
        database.commit()
    trace = registry.read(path)
    assert {(warning.cause, warning.count) for warning in trace.warnings} == {
        ("ranges without an end were extended to the end of the trace", 1),
        ("events at impossible times were left out", 1),
    }
    assert trace.event_count == 291


def test_mutated_exports_are_read_or_refused_and_never_written(tmp_path: Path) -> None:
    """A few of what `POWERTUI_NSYS_MUTANTS` asks for by the hundred thousand, in pieces that
    `POWERTUI_NSYS_SEED` tells apart.
    """
    chance = random.Random(os.environ.get("POWERTUI_NSYS_SEED", "34"))
    whole = {}
    for version in VERSIONS:
        nsys_exports.write(tmp_path / "whole.sqlite", version)
        whole[version] = (tmp_path / "whole.sqlite").read_bytes()
        (tmp_path / "whole.sqlite").unlink()
    path = tmp_path / "mutant.sqlite"
    outcomes: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(int(os.environ.get("POWERTUI_NSYS_MUTANTS", "200"))):
            data = bytearray(whole[chance.choice(VERSIONS)])
            for _ in range(chance.choice((1, 1, 3, 20))):
                at = chance.randrange(16, len(data))
                data[at] = chance.choice((0, 255, data[at] ^ 1 << chance.randrange(8), 1, 127))
            if chance.random() < 0.1:
                del data[chance.randrange(len(data)) :]
            path.write_bytes(data)
            try:
                trace = registry.read(path)
                for process, track in trace.tracks():
                    process.source.columns(track.events.position[:2], ("kernel_details", "bytes"))
                outcomes["read"] += 1
            except UnreadableFile:
                outcomes["refused"] += 1
            assert path.read_bytes() == bytes(data)
            assert [each.name for each in tmp_path.iterdir()] == ["mutant.sqlite"]
    assert outcomes["read"] > outcomes["refused"] > 0
