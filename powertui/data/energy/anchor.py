"""PowerBoard's evidence: its logs have no wall clock, but its marker and the run's own scalars
have.

`libipmi.start()` is called just before `model.fit`, so the log's zero lies shortly before the first
record of the training run's tfevents. `dbToCSV()` writes a marker (a tfevents file in a folder
`demo_logs`) right after the last reading, so the zero also lies the log's length before the
marker's wall time, give or take the readings that its two buffers lose. Where both agree, the zero
is known to about a second without any clock in the log itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from powertui.data.energy import settings
from powertui.data.formats import tfevents
from powertui.data.formats.filenames import MARKERS_FOLDER
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

_MAX_LOST_READINGS = 11  # at the end: dbToCSV can lose one of its two buffers
# start() is called before fit(), which prepares itself before it writes its first record. Chosen,
# not measured.
_START_BEFORE_FIT_NS = round(settings.MOMENT_S * NS_PER_S)


@dataclass(frozen=True)
class Anchor:
    """Where a PowerBoard log's zero lies in Unix time, and why."""

    clock: Clock
    evidence: tuple[str, ...]


def find(series: PowerSeries, logs: Sequence[EventLog]) -> Anchor | None:
    """The zero of this log, from a marker, or from the training run when its length fits the log's.

    None without either.
    """
    if not len(series):
        return None
    last_ns = int(series.times[-1])
    logged_ns = last_ns - int(series.times[0])
    pace_ns = int(logged_ns / max(len(series) - 1, 1))
    starts = _training_starts(logs)
    agreeing: list[Anchor] = []
    alone: list[Anchor] = []
    for marker, wall_ns in _markers(logs):
        hi = wall_ns - last_ns
        lo = hi - _MAX_LOST_READINGS * pace_ns
        about = (
            f"PowerBoard's marker was written at {_clock(wall_ns)}; the log's last reading is "
            f"{last_ns / NS_PER_S:.2f} s after its "
            f"start, and up to {_MAX_LOST_READINGS} readings of {pace_ns / NS_PER_S:.2f} s may be "
            "missing at "
            "its end"
        )
        alone.append(_by_marker(lo, hi, "alone", (about,)))
        for log, start_ns in starts:
            low = max(lo, start_ns - _START_BEFORE_FIT_NS)
            high = min(hi, start_ns)
            if low > high or not _may_be_one_process(marker, log):
                continue
            evidence = (about, _agreement(marker, log, start_ns))
            agreeing.append(_by_marker(low, high, "and first training record", evidence))
    if agreeing:
        return min(agreeing, key=_width_and_start)
    # Of several runs a log has but one marker, and nothing shows which.
    return _only(alone)


def _width_and_start(anchor: Anchor) -> tuple[int, int]:
    """The narrowest first, whatever the order of the files."""
    lo_ns, hi_ns = anchor.clock.lo_ns, anchor.clock.hi_ns
    assert lo_ns is not None
    assert hi_ns is not None
    return hi_ns - lo_ns, lo_ns


def _only(anchors: list[Anchor]) -> Anchor | None:
    """The anchor, if all of them are one."""
    zeros = {anchor.clock.lo_ns for anchor in anchors}
    return anchors[0] if len(zeros) == 1 else None


def _markers(logs: Sequence[EventLog]) -> list[tuple[EventLog, int]]:
    """Each marker with the moment at which it was written (Unix ns)."""
    markers = []
    for log in logs:
        for _, _, wall_ns in log.markers:
            markers.append((log, wall_ns))
    return markers


def _training_starts(logs: Sequence[EventLog]) -> list[tuple[EventLog, int]]:
    """Each log of a training with its first moment (Unix ns)."""
    starts = []
    for log in logs:
        start_ns = _start(log)
        if start_ns is None or log.markers or log.group == "validation":
            continue
        starts.append((log, start_ns))
    return starts


def _may_be_one_process(marker: EventLog, log: EventLog) -> bool:
    return marker.pid is None or log.pid is None or marker.pid == log.pid


def _by_marker(
    lo_ns: int,
    hi_ns: int,
    with_what: str,
    evidence: tuple[str, ...],
) -> Anchor:
    clock = Clock(lo_ns, hi_ns, "powerboard marker", f"marker {with_what}")
    return Anchor(clock, evidence)


def _agreement(marker: EventLog, log: EventLog, at: int) -> str:
    """That a training's first record and the marker lead to one start, in words."""
    agreed = (
        f"{Path(log.path).name} begins at {_clock(at)}, and the reading of "
        "power starts just before that: both agree"
    )
    if marker.pid is not None and marker.pid == log.pid:
        agreed += f" (both files name process {log.pid})"
    return agreed


def near(entry: RunEntry | None, paths: Iterable[str]) -> tuple[EventLog, ...]:
    """The run's tfevents, and markers in folders `demo_logs` beside the run, its logdir or the
    power logs.
    """
    groups: dict[str, str] = {}
    paths = list(paths)
    if entry is not None:
        for event_file in entry.tfevents:
            if event_file.kind == "scalars":
                groups[event_file.path] = event_file.group
        if entry.path != "-":
            paths.append(entry.path)
    for folder in _folders_above(paths):
        try:
            for file in sorted((folder / MARKERS_FOLDER).glob("*tfevents*"))[:64]:
                groups.setdefault(str(file), "")
        except OSError:
            continue
    logs = []
    for name, group in groups.items():
        try:
            logs.append(tfevents.read(name, group))
        except UnreadableFile:
            continue  # loading has counted it among the run's warnings
    return tuple(logs)


def _folders_above(paths: Iterable[str]) -> Iterable[Path]:
    """The folders in which markers may be, each once: two above a file, seven above a folder."""
    folders: dict[Path, None] = {}
    for path in paths:
        place = Path(path).absolute()
        levels = 2 if place.is_file() else 7
        for folder in list(place.parents)[:levels]:
            folders[folder] = None
    return folders


def _start(log: EventLog) -> int | None:
    if log.keras_graph_ns is not None:
        return log.keras_graph_ns
    return log.first_ns


def _clock(ns: int) -> str:
    """Unix time with milliseconds: what the files themselves hold."""
    return f"{ns // NS_PER_S}.{ns % NS_PER_S // 1_000_000:03}"
