"""Power that IBM's AIU (Spyre) writes into its own events: a running sum and the device's cycles.

Every event of the device holds `Power`, a sum that wraps at 2^32, and `TS1` to `TS5`, cycles that
wrap at 2^32 as well. Torch's profiler writes the same as `charge` and the list `cycles_ts`. The sum
was read at TS4. Between two readings its rise by the cycle is the mean power there, in a unit that
IBM does not document: 12 V over 512 steps of a converter, by the source of acelyzer. So all of its
watts are assumed, until another sensor settles the scale (`energy.aiu_scale`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from powertui.data.model import (
    PS_PER_S,
    Badge,
    Bools,
    CountedEvents,
    Counter,
    Floats,
    Int64s,
    Names,
    Process,
    ProcessKind,
    StatColumn,
    StatSource,
    Trace,
    Track,
    UInt64s,
    Warn,
)
from powertui.data.quantiles import median_of_column
from powertui.data.sorted_columns import begins_run
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

__all__ = [
    "SAMPLED_EVENTS",
    "line_label",
    "with_power",
    "writes_registers",
]

_COUNTER = "power sum"  # the counter's name in a trace
_WATTS_PER_SUM = (
    12 / 512
)  # W for each unit of the sum a cycle: 12 V, 512 steps (acelyzer; unproven)
_MAX_WATTS = 75.0  # W, the limit of the card: what implies more is a damaged reading
_NOMINAL_HZ = 560e6  # cycles/s, where no event shows a rate (acelyzer's default; files show 557e6)
_WRAP = 1 << 32  # of the sum and of the cycles
# Several wraps fit between two readings that are far apart. The one nearest to the usual power is
# taken where the next one is this many times the spread of the sure ones away.
_MIN_SPREADS = 4.0
_MIN_SPREAD_W = 1.0  # W; the sure ones of an idle device hardly differ
SAMPLED_EVENTS = 16  # of a line, looked at to know whose events it holds
_MAX_READ_NAMES = 64  # of a line, looked at to label it

# The kind of an event by its name, and the cycles that it lasts: from TS<n> to TS<n+1>.
_PHASES = {"Cmpt Exec": 3, "Cmpt Prep": 2, "DmaI": 1, "DmaO": 4}
_PHASE = re.compile(r"(?:^|\s)(Cmpt Exec|Cmpt Prep|DmaI|DmaO)$")
_CYCLES = ("TS1", "TS2", "TS3", "TS4", "TS5")
_SUM = "Power"
_TORCH_SUM = "charge"
_TORCH_CYCLES = "cycles_ts"
_NUMBER = re.compile(r"AIU:(\d+)$")


def writes_registers(source: StatSource, positions: UInt64s) -> bool:
    """Whether some of these events hold the device's registers."""
    columns = source.columns(positions[:SAMPLED_EVENTS], ("TS4", _TORCH_CYCLES))
    return any(bool(column.present.any()) for column in columns.values())


def line_label(names: Names, indices: Iterable[int]) -> str:
    """What a line of the device holds, by how the names of its events end; "" where they differ."""
    phases: set[str] = set()
    for index in list(indices)[:_MAX_READ_NAMES]:
        match = _PHASE.search(names.display(index))
        phases.add(match[1] if match else "")
    if len(phases) == 1:
        return phases.pop()
    return ""


def with_power(trace: Trace) -> Trace:
    """The trace with a counter of watts for each AIU whose events hold the registers."""
    counters: list[Counter] = []
    warnings: list[Warn] = []
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE or not _NUMBER.search(process.name):
            continue
        power = _device_power(process)
        if power is None:
            continue
        counters.append(power.counter(process.name))
        warnings += power.warnings(trace.path, process.name)
    if not counters:
        return trace
    return replace(
        trace,
        counters=(*trace.counters, *counters),
        warnings=(*trace.warnings, *warnings),
    )


# ── the registers of a device ────────────────────────────────────────────────────────────────────


class _Registers(NamedTuple):
    """What the events of a device hold, those that hold all of it."""

    total: Int64s  # the running sum, 0 to 2^32
    cycles: Int64s  # TS4, 0 to 2^32
    start_cycles: Int64s  # TS3
    start: Int64s  # ps of the trace
    end: Int64s
    is_run: Bools  # ran from TS3 to TS4: its two ends are known in cycles and in ps

    def rows(self, which: Int64s | Bools) -> _Registers:
        """Some of them."""
        return _Registers(
            total=self.total[which],
            cycles=self.cycles[which],
            start_cycles=self.start_cycles[which],
            start=self.start[which],
            end=self.end[which],
            is_run=self.is_run[which],
        )


def _registers(process: Process) -> _Registers | None:
    parts: list[_Registers] = []
    for track in process.tracks:
        if len(track.events):
            part = _of_track(process.source, track)
            if len(part.total):
                parts.append(part)
    if not parts:
        return None
    return _Registers(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_track(source: StatSource, track: Track) -> _Registers:
    events = track.events
    names = (_SUM, _TORCH_SUM, _TORCH_CYCLES, "TS3", "TS4")
    columns = source.columns(events.position, names)
    total, has_total = _whole_numbers(columns[_SUM])
    torch_total, has_torch = _whole_numbers(columns[_TORCH_SUM])
    started, has_start = _whole_numbers(columns["TS3"])
    ended, has_end = _whole_numbers(columns["TS4"])
    for row in np.flatnonzero(columns[_TORCH_CYCLES].present & has_torch & ~has_end).tolist():
        cycles = _cycle_list(columns[_TORCH_CYCLES].text(row))
        if cycles is not None:
            started[row] = cycles[2]
            ended[row] = cycles[3]
            total[row] = torch_total[row]
            has_start[row] = has_end[row] = has_total[row] = True
    good = np.flatnonzero(has_total & has_start & has_end & (total > 0))
    length = (ended - started) % _WRAP
    is_run = (length > 0) & (events.duration > 0)
    if _line_phase(track.name):
        is_run &= _line_phase(track.name) == "Cmpt Exec"
    registers = _Registers(
        total=total % _WRAP,
        cycles=ended % _WRAP,
        start_cycles=started % _WRAP,
        start=events.start,
        end=events.end,
        is_run=is_run,
    )
    return registers.rows(good)


def _line_phase(label: str) -> str:
    """What all events of a line are by its label ("DmaI 2"); "" where they are of several kinds."""
    return next((phase for phase in _PHASES if label.startswith(phase)), "")


def _whole_numbers(column: StatColumn) -> tuple[Int64s, Bools]:
    """A column's numbers, decimal or hexadecimal, as numbers or as text."""
    values = column.ints.copy()
    present = column.present.copy()
    if column.texts is None:
        return values, present
    for row in np.flatnonzero(present).tolist():
        text = column.texts[row]
        if text is None:
            continue
        number = _integer(text)
        present[row] = number is not None
        values[row] = number or 0
    return values, present


def _integer(text: str) -> int | None:
    """A register as it was written: "3620872431" or "0x438d671c"."""
    if len(text) > 20:
        return None
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 62 else None


def _cycle_list(text: str | None) -> list[int] | None:
    """The five cycles as torch's profiler writes them."""
    try:
        values = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(values, list) or len(values) != len(_CYCLES):
        return None
    numbers = [_integer(str(value)) for value in values]
    if None not in numbers:
        return [number for number in numbers if number is not None]
    return None


# ── from registers to watts ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Power:
    """The watts of a device between the readings of its sum, by time."""

    start: Int64s  # ps
    end: Int64s
    watts: Floats  # NaN where the sum may have wrapped more than once
    damaged: int  # readings left out
    far_apart: int  # stretches in which the sum may have wrapped, of which the likeliest is taken

    def counter(self, process: str) -> Counter:
        """A level from each reading on, 0 in a hole; and the stretches as they were counted."""
        is_known = np.isfinite(self.watts)
        is_last = np.append(self.end[:-1] < self.start[1:], True)
        fall = self.end[is_last]
        times = np.concatenate((self.start, fall))
        values = np.concatenate((np.where(is_known, self.watts, 0.0), np.zeros(len(fall))))
        order = np.argsort(times, kind="stable")
        return Counter(
            name=_COUNTER,
            unit="W",
            process=process,
            times=times[order],
            values=values[order],
            counted=CountedEvents(self.start[is_known], self.end[is_known], self.watts[is_known]),
            scale=Badge.ASSUMED,
        )

    def warnings(self, path: str, process: str) -> Iterator[Warn]:
        """What could not be believed."""
        causes = {
            "readings of the power sum that imply more than 75 W were left out": self.damaged,
            "stretches without power: the sum may have wrapped several times": int(
                np.isnan(self.watts).sum()
            ),
            "stretches in which the power sum may have wrapped: the likeliest power was taken": (
                self.far_apart
            ),
        }
        for cause, count in causes.items():
            if count:
                yield Warn(path, process, cause, count)


def _device_power(process: Process) -> _Power | None:
    registers = _registers(process)
    if registers is None:
        return None
    rate = _cycle_rate(registers)
    registers = registers.rows(np.argsort(registers.end, kind="stable"))
    cycles = _unwrapped(registers, rate)
    edges = _Edges.of_runs(registers, cycles, rate)
    # Events of one moment hold one reading; a later copy of it says nothing new.
    order = np.argsort(cycles, kind="stable")
    first = order[begins_run(cycles[order])]
    kept, damaged = _plausible(registers.total[first], cycles[first])
    rows = first[kept]
    if len(rows) < 2:
        return None
    watts, far_apart = _watts(registers.total[rows], cycles[rows])
    at = edges.ps(cycles[rows])
    is_stretch = np.diff(at) > 0
    if is_stretch.any():
        return _Power(
            start=at[:-1][is_stretch],
            end=at[1:][is_stretch],
            watts=watts[is_stretch],
            damaged=damaged,
            far_apart=far_apart,
        )
    return None


def _cycle_rate(registers: _Registers) -> float:
    """Cycles a second, by what ran from TS3 to TS4."""
    runs = registers.rows(registers.is_run)
    length = (runs.cycles - runs.start_cycles) % _WRAP
    duration = (runs.end - runs.start).astype(np.float64)
    if not len(length):
        return _NOMINAL_HZ
    measured = median_of_column(length / duration) * PS_PER_S
    # A file of other meaning must not stretch the axis.
    return measured if 0.5 < measured / _NOMINAL_HZ < 2 else _NOMINAL_HZ


def _unwrapped(registers: _Registers, rate: float) -> Int64s:
    """TS4 without its wraps, each 7.7 s: events are by their end, which says about how many."""
    step = np.diff(registers.cycles)
    expected = np.diff(registers.end) * (rate / PS_PER_S)
    step = step + _WRAP * np.rint((expected - step) / _WRAP).astype(np.int64)
    return np.concatenate((registers.cycles[:1], registers.cycles[:1] + np.cumsum(step)))


class _Edges(NamedTuple):
    """The device's cycles on the trace's clock, by the ends of what ran."""

    cycles: Floats
    at: Floats  # ps
    rate: float

    @classmethod
    def of_runs(cls, registers: _Registers, cycles: Int64s, rate: float) -> _Edges:
        """From every run's start and end; from every event's end where nothing ran."""
        edge_cycles, edge_times = cycles, registers.end
        is_run = registers.is_run
        if is_run.any():
            length = (registers.cycles - registers.start_cycles) % _WRAP
            run_end = cycles[is_run]
            run_start = run_end - length[is_run]
            edge_cycles = np.concatenate((run_start, run_end))
            edge_times = np.concatenate((registers.start[is_run], registers.end[is_run]))
        order = np.lexsort((edge_times, edge_cycles))
        distinct = order[begins_run(edge_cycles[order])]
        # What is interpolated between must never fall.
        rising_times = np.maximum.accumulate(edge_times[distinct].astype(np.float64))
        return cls(edge_cycles[distinct].astype(np.float64), rising_times, rate)

    def ps(self, cycles: Int64s) -> Int64s:
        """When the device counted so far."""
        at = np.interp(cycles, self.cycles, self.at)
        ps_per_cycle = PS_PER_S / self.rate
        before = cycles < self.cycles[0]
        after = cycles > self.cycles[-1]
        at[before] = self.at[0] - (self.cycles[0] - cycles[before]) * ps_per_cycle
        at[after] = self.at[-1] + (cycles[after] - self.cycles[-1]) * ps_per_cycle
        return np.rint(at).astype(np.int64)


def _rise(total: Int64s, cycles: Int64s) -> Floats:
    """W between readings that follow each other, if the sum wrapped once at most."""
    per_cycle: Floats = (np.diff(total) % _WRAP) / np.diff(cycles)
    return per_cycle * _WATTS_PER_SUM


def _plausible(total: Int64s, cycles: Int64s) -> tuple[Int64s, int]:
    """The rows whose reading fits the ones beside it, and how many do not.

    A reading from which nothing plausible rises, and without which all is plausible, is damaged.
    """
    rows = np.arange(len(total))
    too_much = np.flatnonzero(_rise(total, cycles) > _MAX_WATTS)
    damaged: list[int] = []
    for row in too_much.tolist():
        after = row + 2
        if row in damaged or after >= len(total):
            damaged.append(row + 1)
            continue
        around = [row, after]
        if _rise(total[around], cycles[around])[0] <= _MAX_WATTS:
            damaged.append(row + 1)
    return np.delete(rows, damaged), len(damaged)


def _watts(total: Int64s, cycles: Int64s) -> tuple[Floats, int]:
    """(W of each stretch, of how many the median power alone says how often the sum wrapped)."""
    least_w = _rise(total, cycles)
    wrap_w = _WRAP / np.diff(cycles) * _WATTS_PER_SUM  # what one wrap more would add
    # One wrap more would be above the card's limit: so there was none.
    is_sure = wrap_w > _MAX_WATTS
    watts = np.where(is_sure & (least_w <= _MAX_WATTS), least_w, np.nan)
    sure_w = watts[np.isfinite(watts)]
    open_rows = np.flatnonzero(~is_sure)
    if not len(sure_w) or not len(open_rows):
        return watts, 0
    spread_w = max(float(np.ptp(_middle(sure_w))), _MIN_SPREAD_W)
    is_told_apart = wrap_w[open_rows] >= _MIN_SPREADS * spread_w
    rows = open_rows[is_told_apart]
    missing_w = median_of_column(sure_w) - least_w[rows]
    wraps = np.maximum(0, np.rint(missing_w / wrap_w[rows]))
    watts[rows] = least_w[rows] + wraps * wrap_w[rows]
    return watts, len(rows)


def _middle(values: Floats) -> Floats:
    """Those between the 5th and the 95th percentile: a short stretch is rounded coarsely."""
    lo, hi = np.percentile(values, (5, 95))
    middle: Floats = values[(values >= lo) & (values <= hi)]
    return middle
