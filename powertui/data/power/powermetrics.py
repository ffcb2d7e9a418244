"""macOS's powermetrics, as text or as plists one after the other: mean milliwatts of each interval,
whose length is told.

Dates have whole seconds. The ends of the intervals are put together from their lengths, and laid
where the dates say.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Int64s, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, column_times, stamps, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.quantiles import median_of_column
from powertui.errors import UnreadableFile

NAME = "powermetrics"
UNITS_WRITTEN = True
_SAMPLE = (
    r"\*\*\* Sampled system activity \(([^)]{1,60})\) \((\d{1,12}(?:\.\d{1,6})?)ms elapsed\) \*\*\*"
)
_NAME = (
    r"([A-Z][A-Za-z]{1,20}(?: [A-Z][a-z]{1,12})?) Power(?: \([^)]{1,60}\))?|Intel energy "
    r"model derived package power \([^)]{1,40}\)"
)
_POWER = rf"\s{{0,20}}(?:{_NAME}):\s{{0,20}}([\d.]{{1,20}})\s?(m?W)\s*"
# Members of the plists: Apple's chips, and the package of Intel's.
_KEYS = {
    "cpu_power": "CPU",
    "gpu_power": "GPU",
    "ane_power": "ANE",
    "dram_power": "DRAM",
    "combined_power": "Combined",
    "package_watts": "Package",
}
_SCOPES = {
    "ANE": Scope.RAIL,
    "DRAM": Scope.DRAM,
    "Combined": Scope.PACKAGE,
    "Package": Scope.PACKAGE,
}
_MAX_TOUCHING_NS = 50_000_000  # ns: intervals this close follow one another
# By so much the lengths put together may leave the dates: beyond it something was between two
# samples. Chosen, not measured.
_MAX_DRIFT_S = 1.5


def sniff(head: str, _path: str) -> int:
    """By its banner, or by the keys of its plists."""
    if re.search(_SAMPLE, head):
        return 98
    if "<key>elapsed_ns</key>" not in head:
        return 0
    return 97 if re.search(r"<key>(?:\w+_power|processor)</key>", head) else 0


class _Sample:
    def __init__(self, when: str, seconds: float, line: int) -> None:
        self.when = when
        self.seconds = seconds
        self.line = line
        self.watts: dict[str, float] = {}


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Processor, graphics, neural engine, and what they make together."""
    notes = Notes(source.path)
    if "<plist" in source.head_text:
        samples = _plists(source.text)
    else:
        samples = _text(source.text)
    samples = [sample for sample in samples if sample.watts]
    if not samples:
        raise UnreadableFile(
            source.path,
            "comes from powermetrics, but holds no power",
            hint="Record it with: sudo powermetrics --samplers cpu_power,gpu_power -i 1000",
        )
    written = column_times.from_texts([sample.when for sample in samples])
    column = times.in_zone(written, options.tz)
    lines = np.array([sample.line for sample in samples])
    notes.drop_all(lines[~column.ok], "has no date that can be read")
    seconds = np.array([sample.seconds for sample in samples])
    length, has_length = column_times.lengths(seconds)
    good = column.ok & has_length & (length < times.DAY)
    if not good.any():
        raise UnreadableFile(source.path, "comes from powermetrics, but no date in it can be read")
    ends = _ends(column.ns[good], length[good])
    starts = ends - length[good]
    zero = int(starts[0])
    clock = times.clock(column, zero)
    timed = list(itertools.compress(samples, good.tolist()))
    names = dict.fromkeys(name for sample in timed for name in sample.watts)
    has_total = "Combined" in names or "Package" in names
    series: list[PowerSeries] = []
    for name in names:
        readings = np.array([sample.watts.get(name, np.nan) for sample in timed])
        ns, watts, joules = _intervals(starts - zero, ends - zero, readings)
        sensor = Sensor(
            name,
            source=NAME,
            scope=_scope(name, has_total=has_total),
            host=options.host,
        )
        channel = assemble.power_series(
            sensor,
            ns,
            watts,
            clock=clock,
            notes=notes,
            joules=joules,
        )
        series.append(channel)
    guess = f"powermetrics: mean mW of each interval; time: {column.words}"
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def _scope(name: str, *, has_total: bool) -> Scope:
    """What a reading covers. Processor and graphics are parts of the whole chip where that is
    reported, too.
    """
    if name == "CPU":
        return Scope.CORE if has_total else Scope.PACKAGE
    if name == "GPU":
        return Scope.RAIL if has_total else Scope.GPU
    return _SCOPES.get(name, Scope.RAIL)


def _ends(dates: Int64s, length: Int64s) -> Int64s:
    """Where each interval ends: the lengths one after the other, so long as they keep to
    the dates.
    """
    since_start = np.cumsum(length)
    # A date's seconds are cut: the end was half a second later in the mean.
    mean_dates = dates + NS_PER_S // 2
    offset = mean_dates - since_start
    drift = np.abs(np.diff(offset, prepend=offset[0]))
    begins_anew = drift > _MAX_DRIFT_S * NS_PER_S
    block = np.cumsum(begins_anew)
    ends = np.empty(len(dates), np.int64)
    for number in range(int(block[-1]) + 1):
        mine = block == number
        typical_offset = int(median_of_column(offset[mine]))
        ends[mine] = since_start[mine] + typical_offset
    return ends


def _intervals(
    starts: np.ndarray,
    ends: np.ndarray,
    readings: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of means, with a gap wherever an interval does not follow the one before."""
    ns: list[int] = []
    means: list[float] = []
    rows = zip(
        starts.tolist(),
        ends.tolist(),
        readings.tolist(),
        strict=True,
    )
    for start, end, reading in rows:
        if not ns or start > ns[-1] + _MAX_TOUCHING_NS:
            ns.append(start)
            means.append(float("nan"))
        if end > ns[-1]:
            ns.append(end)
            means.append(reading)
    times_ns = np.array(ns, np.int64)
    watts = np.array(means)
    joules = np.full(len(watts), np.nan)
    joules[1:] = watts[1:] * np.diff(times_ns) / NS_PER_S
    return times_ns, watts, joules


def _text(text: str) -> list[_Sample]:
    samples: list[_Sample] = []
    for number, line in stamps.numbered_lines(text.split("\n")):
        if match := re.search(_SAMPLE, line):
            when, milliseconds = match.groups()
            seconds = float(milliseconds) / 1e3
            samples.append(_Sample(when, seconds, number))
        elif samples and (match := re.fullmatch(_POWER, line)):
            name, reading, unit = match.groups()
            factor = 1e-3 if unit == "mW" else 1.0
            watts = table.number(reading) * factor
            if np.isfinite(watts):
                samples[-1].watts.setdefault(name or "Package", watts)
    return samples


def _plists(text: str) -> list[_Sample]:
    samples: list[_Sample] = []
    line = counted = 0
    key = ""
    for match in re.finditer(
        r"<plist|<key>([^<]{1,80})</key>|<(integer|real|date|string)>([^<]{0,80})<", text
    ):
        if match[0] == "<plist":
            line += text.count("\n", counted, match.start())
            counted = match.start()
            samples.append(_Sample("", 0.0, line + 1))
        elif match[1]:
            key = match[1]
        elif samples:
            _add_member(samples[-1], key, match[2], match[3].strip())
            key = ""
    return samples


def _add_member(sample: _Sample, key: str, kind: str, value: str) -> None:
    """What one key of a plist says of its sample."""
    if key == "timestamp" and kind == "date" and not sample.when:
        sample.when = value
        return
    number = table.number(value)
    is_number = np.isfinite(number)
    if key == "elapsed_ns" and not sample.seconds:
        sample.seconds = number / 1e9 if is_number else 0.0
    elif key in _KEYS and is_number:
        # Intel's package alone is in watts; all else is in milliwatts.
        factor = 1.0 if key == "package_watts" else 1e-3
        sample.watts.setdefault(_KEYS[key], number * factor)
