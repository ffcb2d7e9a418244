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
_START_BEFORE_FIT_S = settings.MOMENT_S


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
    last = int(series.times[-1])
    logged_ns = last - int(series.times[0])
    pace = int(logged_ns / max(len(series) - 1, 1))
    markers = [(log, wall) for log in logs for _, _, wall in log.markers]
    starts = [
        (log, wall)
        for log in logs
        if (wall := _start(log)) is not None and not log.markers and log.group != "validation"
    ]
    best: tuple[int, Anchor] | None = None
    for marker, wall in markers:
        lo = wall - last - _MAX_LOST_READINGS * pace
        hi = wall - last
        about = (
            f"PowerBoard's marker was written at {_clock(wall)}; the log's last reading is "
            f"{last / NS_PER_S:.2f} s after its "
            f"start, and up to {_MAX_LOST_READINGS} readings of {pace / NS_PER_S:.2f} s may be "
            "missing at "
            "its end"
        )
        for log, at in starts:
            low = max(lo, at - round(_START_BEFORE_FIT_S * NS_PER_S))
            high = min(hi, at)
            if low > high or not _may_be_one_process(marker, log):
                continue
            if best is None or high - low < best[0]:
                evidence = (about, _agreement(marker, log, at))
                best = (high - low, _by_marker(low, high, "and first training record", evidence))
        if best is None:
            best = (hi - lo + NS_PER_S, _by_marker(lo, hi, "alone", (about,)))
    return best[1] if best else None


def _may_be_one_process(marker: EventLog, log: EventLog) -> bool:
    return marker.pid is None or log.pid is None or marker.pid == log.pid


def _by_marker(
    lo_ns: int,
    hi_ns: int,
    with_what: str,
    evidence: tuple[str, ...],
) -> Anchor:
    return Anchor(Clock(lo_ns, hi_ns, "powerboard marker", f"marker {with_what}"), evidence)


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
    groups: dict[str, str] = (
        {file.path: file.group for file in entry.tfevents if file.kind == "scalars"}
        if entry is not None
        else {}
    )
    folders: dict[Path, None] = {}
    for path in [*paths, *([entry.path] if entry is not None and entry.path != "-" else [])]:
        place = Path(path).absolute()
        for folder in list(place.parents)[: 2 if place.is_file() else 7]:
            folders[folder] = None
    for folder in folders:
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


def _start(log: EventLog) -> int | None:
    return log.keras_graph_ns if log.keras_graph_ns is not None else log.first_ns


def _clock(ns: int) -> str:
    """Unix time with milliseconds: what the files themselves hold."""
    return f"{ns // NS_PER_S}.{ns % NS_PER_S // 1_000_000:03}"
