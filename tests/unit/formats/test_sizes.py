"""Files that are large in one respect: cost grows with the size, and what is refused is refused for
the true reason.
"""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from pathlib import Path
from types import FrameType

import pytest

from powertui.data import gzip_stream
from powertui.data.formats import file_warnings, json_events, registry, tf_trace, tfevents
from powertui.data.formats.json_pure import PureScanner
from powertui.data.power import registry as power
from powertui.errors import UnreadableFile
from tests.adversarial import sizes
from tests.synthetic.xplane import blob, number

_SMALL, _LARGE = 100, 400
# Four times the file makes at most 3.97 times the calls today. Where each of n things is held
# against all others, they are 16 times as many.
_MOST_GROWTH = 4.5
_FIXED_BYTES = 24 << 20  # buffers and tables that do not grow

_PROFILES = [
    shape
    for shape in sizes.ALL
    if not isinstance(shape, sizes.FolderShape) and not shape.name.startswith(("tfevents", "power"))
]
# The columns of a JSON log are those of its first 1,000 objects: objects and columns grow together
# up to there.
_LOGS = [
    shape
    for shape in sizes.POWER
    if shape.name not in ("power: JSON nest", "power: JSON lines of keys")
]


def read(path: Path) -> None:
    """Read a file as the program does; that it cannot be read is an answer, too."""
    try:
        if path.name.startswith("power."):
            power.load(str(path))
        else:
            registry.read(path)
    except UnreadableFile:
        return


def calls(path: Path) -> int:
    """How many calls of functions reading made: the same on any machine, however busy."""
    count = 0

    def hear(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(hear)
    try:
        read(path)
    finally:
        sys.setprofile(None)
    return count


def lines(path: Path) -> int:
    """How many lines of powertui's own code reading ran: what a loop within one call costs, too.

    Slower to count.
    """
    count = 0

    def hear(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return hear

    sys.settrace(
        lambda frame, event, argument: hear if "powertui" in frame.f_code.co_filename else None
    )
    try:
        read(path)
    finally:
        sys.settrace(None)
    return count


def problem_of(path: Path) -> str:
    with pytest.raises(UnreadableFile) as caught:
        registry.read(path)
    return caught.value.problem


# ── growth ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shape", [*_PROFILES, *_LOGS], ids=lambda shape: shape.name)
def test_calls_grow_with_the_file(shape: sizes.Shape, tmp_path: Path) -> None:
    paths = []
    for count in (_SMALL, _LARGE):
        folder = tmp_path / str(count)
        folder.mkdir()
        paths.append(shape.write(folder, count))
    read(paths[0])  # imports and tables that are made once
    small, large = (calls(path) for path in paths)
    assert large < _MOST_GROWTH * small, f"{small:,} calls, {large:,} for four times as many"


@pytest.mark.parametrize("shape", [*sizes.ROCPROF, *sizes.TF_TRACE], ids=lambda shape: shape.name)
def test_lines_of_code_grow_with_the_file(shape: sizes.Shape, tmp_path: Path) -> None:
    counts = []
    for count in (_SMALL, _LARGE):
        folder = tmp_path / str(count)
        folder.mkdir()
        counts.append(lines(shape.write(folder, count)))
    small, large = counts
    assert large < _MOST_GROWTH * small, f"{small:,} lines, {large:,} for four times as many"


@pytest.mark.parametrize("shape", sizes.PERFETTO[:2], ids=lambda shape: shape.name)
def test_empty_packets_take_little_memory(shape: sizes.Shape, tmp_path: Path) -> None:
    path = shape.write(tmp_path, 4 << 20)
    read(path)
    tracemalloc.start()
    read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < _FIXED_BYTES  # not even the 8 MB of the file are there at once


# ── limits ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pure", [False, True], ids=["compiled", "pure"])
@pytest.mark.parametrize(
    "name",
    [
        "json: processes",
        "json: threads",
        "json: asynchronous categories",
        "kineto: processes",
        "kineto: devices",
    ],
)
def test_lines_beyond_the_limit_are_left_out_and_counted(
    name: str, pure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_warnings, "MAX_PROCESSES", 100)
    monkeypatch.setattr(file_warnings, "MAX_LINES", 100)
    if pure:
        monkeypatch.setattr(json_events, "COMPILED", False)
    shape = next(shape for shape in sizes.JSON if shape.name == name)
    trace = registry.read(shape.write(tmp_path, 130))
    assert trace.event_count == 100
    assert [(warn.cause, warn.count) for warn in trace.warnings] == [
        ("there are more than 100 processes or 100 lines; events on the others were left out", 30)
    ]


@pytest.mark.parametrize(
    "name", ["rocprof: agents", "rocprof: queues", "tf_trace: devices", "tf_trace: resources"]
)
def test_first_lines_of_binary_traces_and_tables_are_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_warnings, "MAX_PROCESSES", 100)
    monkeypatch.setattr(file_warnings, "MAX_LINES", 100)
    shape = next(shape for shape in (*sizes.ROCPROF, *sizes.TF_TRACE) if shape.name == name)
    trace = registry.read(shape.write(tmp_path, 130))
    assert trace.event_count == 100
    lines = [track for process in trace.processes for track in process.tracks]
    assert sorted(
        int(track.events.start[0]) // 1000 ** (shape.file_name.endswith("csv")) for track in lines
    ) == list(range(100))
    assert (
        "there are more than 100 processes or 100 lines; events on the others were left out",
        30,
    ) in [(warn.cause, warn.count) for warn in trace.warnings]


def test_devices_without_events_are_limited_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf_trace, "MAX_PROCESSES", 100)
    path = tmp_path / "host.trace"
    path.write_bytes(
        b"".join(blob(1, number(1, i) + blob(2, blob(1, b"d%d" % i))) for i in range(130))
    )
    trace = registry.read(path)
    assert len(trace.processes) == 100
    assert [(warn.cause, warn.count) for warn in trace.warnings] == [
        ("there are more than 100 devices; others were left out", 30)
    ]


@pytest.mark.parametrize("name", ["xplane: empty planes", "xplane: empty lines"])
def test_empty_planes_and_lines_take_little_memory(name: str, tmp_path: Path) -> None:
    shape = next(shape for shape in sizes.XPLANE if shape.name == name)
    path = shape.write(tmp_path, 1 << 20)
    assert registry.read(path).event_count == 1
    tracemalloc.start()
    trace = registry.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (trace.event_count, trace.warnings) == (1, ())
    assert peak < _FIXED_BYTES  # columns of the empty ones would take 60 MB


def test_a_profile_of_empty_planes_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(b"\x0a\x00" * 1_000)
    assert problem_of(path) == "is empty: it contains only empty planes"


@pytest.mark.parametrize(
    "name", ["perfetto: tracks", "perfetto: described tracks", "perfetto: processes of one name"]
)
def test_tracks_beyond_the_limit_are_left_out_and_counted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_warnings, "MAX_PROCESSES", 100)
    monkeypatch.setattr(file_warnings, "MAX_LINES", 100)
    shape = next(shape for shape in sizes.PERFETTO if shape.name == name)
    trace = registry.read(shape.write(tmp_path, 130))
    assert trace.event_count == 100
    assert (
        "there are more than 100 processes or 100 lines; events on the others were left out",
        30,
    ) in [(warn.cause, warn.count) for warn in trace.warnings]


# ── true reasons ─────────────────────────────────────────────────────────────────────────────────

_EVENT = {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "op"}


@pytest.fixture(params=["compiled", "pure", "singly"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to read JSON."""
    if request.param == "singly":
        monkeypatch.setattr(json_events, "ONE_BY_ONE", True)
    elif request.param == "pure":
        monkeypatch.setattr(json_events, "COMPILED", False)


@pytest.mark.usefixtures("scanner")
def test_an_event_that_is_nested_too_deeply_costs_that_event(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json"
    nested = (
        '{"ph":"X","pid":1,"tid":1,"ts":2,"dur":1,"name":"op","args":{"deep":'
        + "[" * 100_000
        + "]" * 100_000
        + "}}"
    )
    path.write_text(f'{{"traceEvents":[{json.dumps(_EVENT)},{nested},{json.dumps(_EVENT)}]}}')
    trace = registry.read(path)
    assert trace.event_count == 2
    assert [warn.cause for warn in trace.warnings] == [
        "events that are nested too deeply to be a trace were left out"
    ]


@pytest.mark.usefixtures("scanner")
def test_a_file_of_one_nested_event_is_not_called_truncated(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json"
    path.write_text('{"traceEvents":[{"ph":"X","args":' + "[" * 100_000 + "]" * 100_000 + "}]}")
    problem = problem_of(path)
    assert problem == (
        "contains no event that can be read: events that are nested too deeply to be a "
        "trace were left out"
    )
    path.write_text('{"traceEvents":[{"ph":"X","args":' + "[" * 100_000 + "]" * 100)
    assert problem_of(path) == "the list of events ends in the middle: the file is truncated"


@pytest.mark.usefixtures("scanner")
def test_a_long_name_costs_its_event(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json"
    long = json.dumps(_EVENT | {"name": 'n"\\' * (2 << 20)})
    path.write_text(f'{{"traceEvents":[{json.dumps(_EVENT)},{long},{json.dumps(_EVENT)}]}}')
    trace = registry.read(path)
    assert trace.event_count == 2
    assert [warn.cause for warn in trace.warnings] == [
        "events that are longer than 8 MiB were left out"
    ]
    path.write_text(f'{{"traceEvents":[{long}]}}')
    assert (
        problem_of(path)
        == "contains no event that can be read: events that are longer than 8 MiB were left out"
    )
    path.write_text(f'{{"traceEvents":[{long[:-4]}')
    assert problem_of(path) == "the list of events ends in the middle: the file is truncated"


@pytest.mark.usefixtures("scanner")
@pytest.mark.parametrize(
    ("member", "cause"),
    [
        ('"' + "x" * (12 << 20) + '"', "the member 'extra' is longer than 8 MiB and was left out"),
        (
            "[" * 100_000 + "]" * 100_000,
            "the member 'extra' is nested too deeply to be a trace and was left out",
        ),
        (
            "7" * 10_000,
            "the member 'extra' is written with thousands of digits in one number and was left out",
        ),
    ],
    ids=["long", "deep", "digits"],
)
def test_a_member_that_is_too_large_costs_that_member(
    member: str, cause: str, tmp_path: Path
) -> None:
    path = tmp_path / "host.trace.json"
    path.write_text(f'{{"extra":{member},"traceEvents":[{json.dumps(_EVENT)}]}}')
    trace = registry.read(path)
    assert trace.event_count == 1
    assert [warn.cause for warn in trace.warnings] == [cause]


@pytest.mark.usefixtures("scanner")
def test_a_list_of_damaged_events_is_not_called_truncated(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json"
    path.write_text('{"traceEvents":[' + ",".join(['{"ph"}'] * 1_000) + "]}")
    assert problem_of(path) == "contains only damaged events"


@pytest.mark.parametrize("name", ["host.trace.json", "host.xplane.pb", "host.pftrace", "power.csv"])
def test_a_file_of_blanks_is_empty(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b" \n" * 100_000)
    assert problem_of(path) == "is empty: it contains only spaces and line breaks"
    path.write_bytes(b" \n" * 100_000 + b"x")
    assert problem_of(path) == "begins with 200,000 blanks, which no profile does"


def test_empty_gzip_members_are_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host.trace.json.gz"
    path.write_bytes(gzip.compress(b"") * 3)
    assert problem_of(path) == "is empty: it unpacks to 0 bytes"
    monkeypatch.setattr(gzip_stream, "MAX_EMPTY_MEMBERS", 50)
    path.write_bytes(gzip.compress(b"") * 100)
    assert problem_of(path).startswith("is empty as far as it was read: its first ")


def test_empty_gzip_members_between_others_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "host.trace.json.gz"
    text = json.dumps({"traceEvents": [_EVENT] * 100}).encode()
    parts = [gzip.compress(text[at : at + 7]) + gzip.compress(b"") for at in range(0, len(text), 7)]
    path.write_bytes(gzip.compress(b"") * 5 + b"".join(parts))
    trace = registry.read(path)
    assert (trace.event_count, trace.warnings) == (100, ())


def test_a_tfevents_file_that_is_packed_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1700000000.host.gz"

    def problem() -> str:
        with pytest.raises(UnreadableFile) as caught:
            tfevents.read(str(path))
        return caught.value.problem

    path.write_bytes(gzip.compress(b"") * 3)
    assert problem() == "is empty: it unpacks to 0 bytes"
    path.write_bytes(gzip.compress(b"x" * 1_000))
    assert problem() == "is packed with gzip: scalars are read from unpacked files only"


def test_a_power_log_of_empty_gzip_members_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "power.csv.gz"
    path.write_bytes(gzip.compress(b"") * 3)
    with pytest.raises(UnreadableFile) as caught:
        power.load(str(path))
    assert caught.value.problem.startswith("is empty")


def test_a_trace_of_empty_packets_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "host.pftrace"
    path.write_bytes(b"\x0a\x00" * 1_000)
    assert problem_of(path) == "is empty: it contains only empty packets"


def test_scanners_agree_on_odd_sizes() -> None:
    """A piece that the pure scanner cannot decode is given to Python item by item, as the compiled
    one does.
    """
    text = b'{"ph":"X","args":' + b"[" * 5_000 + b"]" * 5_000 + b'},{"ph":"X"}]}'
    batch, _, status = PureScanner().scan(text, 0, 0)
    assert (batch, status) == (None, 1)
