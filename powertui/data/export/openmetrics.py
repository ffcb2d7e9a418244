"""A window as OpenMetrics text with a time on every sample: what `promtool tsdb create-blocks-from
openmetrics` puts into a Prometheus, and Telegraf's `openmetrics` format into other databases.

Of a series Prometheus keeps one sample a millisecond, in the order of time. A reading has the
moment that it is about, as in every other export. A gauge that ends to be known has one NaN there:
without it Prometheus would show its last value for another five minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.energy import mixture
from powertui.data.export.readings import ChannelReadings
from powertui.data.export.sheets import channel_names, epoch_number, placed_channels
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, Floats, Int64s, PowerOnTrace, Trace
from powertui.data.power.own_tables import OPENMETRICS_WATTS
from powertui.data.sorted_columns import ends_run
from powertui.data.window import Window
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

_MS_PER_S = 1000
_NS_PER_MS = NS_PER_S // _MS_PER_S
_MAX_LABEL_CHARACTERS = 1000  # chosen, not measured: a longer name is cut with an ellipsis
_ROOM_FOR_NUMBER = 10  # characters behind a name, such as " (2)"
_LINES_AT_ONCE = 1 << 13  # encoded together; chosen, not measured


class SampleCounter:
    """How many samples were written, and how many fell into the millisecond of another."""

    def __init__(self) -> None:
        self.written = 0
        self.left_out = 0


class _Family(NamedTuple):
    """A metric family: its name with its unit, its type, and one sentence."""

    name: str
    unit: str  # the end of its name, as OpenMetrics asks; "" for a plain number
    type: str
    help: str

    def head(self) -> Iterator[str]:
        """The lines above its samples."""
        yield f"# HELP {self.name} {self.help}\n"
        yield f"# TYPE {self.name} {self.type}\n"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}\n"


class _Series(NamedTuple):
    """The samples of one set of labels; in the order of time."""

    labels: dict[str, str]
    at: Int64s  # ps on the profile's clock
    values: Floats  # a NaN is written as one
    suffix: str = ""  # of the family's name, of a counter


_WATTS = _Family(
    "powertui_power_watts",
    "watts",
    "gauge",
    OPENMETRICS_WATTS,
)
_JOULES = _Family(
    "powertui_energy_joules",
    "joules",
    "counter",
    "Energy since the start of the exported window, up to this reading.",
)
_STEP = _Family(
    "powertui_step",
    "",
    "gauge",
    "Number of the step that starts here. NaN: the last step has ended.",
)
_STEP_SECONDS = _Family(
    "powertui_step_duration_seconds",
    "seconds",
    "gauge",
    "Length of the step that starts here. NaN: the last step has ended.",
)
_EPOCH = _Family(
    "powertui_epoch",
    "",
    "gauge",
    "Number of the epoch that starts here. NaN: the last epoch has ended.",
)
_CLOCK = _Family(
    "powertui_clock_uncertainty_seconds",
    "seconds",
    "gauge",
    "All times of this export may be off by this, in either direction.",
)


def check(window: Window) -> None:
    """Raise `UsageError` where there is no wall time to write a sample at."""
    if not window.trace.clock.known:
        raise UsageError(
            "The wall time of this profile is not known, and a database needs the time of each "
            "sample.",
            hint="Export samples as CSV instead: they have the profile's own time.",
        )


def chunks(window: Window, run: str, counter: SampleCounter) -> Iterator[bytes]:
    """The text, piece by piece."""
    lines: list[str] = []
    for line in _lines(window, run, counter):
        lines.append(line)
        if len(lines) == _LINES_AT_ONCE:
            yield "".join(lines).encode("utf-8", "backslashreplace")
            lines.clear()
    lines.append("# EOF\n")
    yield "".join(lines).encode("utf-8", "backslashreplace")


def _lines(window: Window, run: str, counter: SampleCounter) -> Iterator[str]:
    """Line by line: all series of a family stand together, all samples of a series, too."""
    for family, series_of_family in _families(window, run):
        with_samples = [series for series in series_of_family if len(series.at)]
        if not with_samples:
            continue
        yield from family.head()
        for series in with_samples:
            yield from _samples(family, series, window.trace, counter)


def _families(window: Window, run: str) -> Iterator[tuple[_Family, Sequence[_Series]]]:
    trace = window.trace
    about = {"run": run, "host": trace.host}
    power = placed_channels(window)
    names = _told_apart(channel_names(power))
    watts: list[_Series] = []
    joules: list[_Series] = []
    for name, channel in zip(names, power, strict=True):
        labels = _power_labels(about, name, channel)
        readings = ChannelReadings.in_window(channel, window.lo, window.hi)
        watts.append(_watts(labels, readings, window.hi))
        joules.append(_joules(labels, readings, window))
    yield _WATTS, watts
    yield _JOULES, joules
    numbers, seconds = _steps(about, window)
    yield _STEP, [numbers]
    yield _STEP_SECONDS, [seconds]
    yield _EPOCH, [_epochs(about, window)]
    half_s = trace.clock.half_ns / NS_PER_S
    uncertainty = _Series(
        about,
        np.array([window.lo], np.int64),
        np.array([half_s]),
    )
    yield _CLOCK, [uncertainty]


def _power_labels(about: dict[str, str], name: str, channel: PowerOnTrace) -> dict[str, str]:
    """Which channel, and whether its watts are measured, estimated or assumed."""
    labels = {
        **about,
        "channel": name,
        "quality": channel.badge.value,
    }
    if channel.device:
        labels["device"] = channel.device
    return labels


def _told_apart(names: Sequence[str]) -> list[str]:
    """The names as they are written: names that become equal when cut get a number."""
    written: list[str] = []
    for name in names:
        text = plain(name, _MAX_LABEL_CHARACTERS - _ROOM_FOR_NUMBER)
        number = 2
        shown = text
        while shown in written:
            shown = f"{text} ({number})"
            number += 1
        written.append(shown)
    return written


# ── the series ───────────────────────────────────────────────────────────────────────────────────


def _watts(labels: dict[str, str], readings: ChannelReadings, end: int) -> _Series:
    """Every reading; of a gap, and behind the last reading, one NaN."""
    unknown = np.isnan(readings.values)
    is_new = np.ones(len(unknown), np.bool_)
    is_new[1:] = ~(unknown[1:] & unknown[:-1])
    at = readings.about[is_new]
    values = readings.values[is_new]
    if len(at):
        at = np.append(at, end)
        values = np.append(values, np.nan)
    return _Series(labels, at, values)


def _joules(labels: dict[str, str], readings: ChannelReadings, window: Window) -> _Series:
    """The window's energy as it adds up; nothing where it is not resolved."""
    energy = mixture.energy(readings.power, window.lo, window.hi)
    rows = np.arange(len(readings.at))
    parts = [part for part in readings.joules(rows) if part is not None]
    if not energy.resolved or len(parts) != len(rows):
        return _Series(labels, np.empty(0, np.int64), np.empty(0))
    # What was drawn up to the border between this reading and the next one.
    sums = np.concatenate([[0.0], np.cumsum(parts)])
    return _Series(
        {**labels, "quality": energy.badge.value},
        readings.edges,
        sums,
        "_total",
    )


def _steps(about: dict[str, str], window: Window) -> tuple[_Series, _Series]:
    """The number and the length of each step, at its start; NaN where the last one ends."""
    steps = window.steps
    rows = window.step_rows()
    rows = rows[steps.start[rows] >= window.lo]
    if not len(rows):
        nothing = _Series(about, np.empty(0, np.int64), np.empty(0))
        return nothing, nothing
    ends = steps.ends()[rows]
    at = np.append(steps.start[rows], int(ends.max()))
    # A step without a number of the program's own has that of its place in the list.
    own = steps.number[rows]
    numbers = np.where(own >= 0, own, rows).astype(float)
    lengths = steps.duration[rows] / PS_PER_S
    return (
        _Series(about, at, np.append(numbers, np.nan)),
        _Series(about, at, np.append(lengths, np.nan)),
    )


def _epochs(about: dict[str, str], window: Window) -> _Series:
    """The number of each epoch that starts in the window; NaN where the last one ends."""
    at: list[int] = []
    numbers: list[float] = []
    end: int | None = None
    for index in window.epoch_rows():
        bounds = window.epochs.bounds(index, window.steps)
        number = epoch_number(window, index)
        if bounds is None or number is None or bounds[0] < window.lo:
            continue
        at.append(bounds[0])
        numbers.append(float(number))
        end = bounds[1]
    if end is not None:
        at.append(end)
        numbers.append(float("nan"))
    return _Series(about, np.array(at, np.int64), np.array(numbers))


# ── the text ─────────────────────────────────────────────────────────────────────────────────────


def _samples(
    family: _Family,
    series: _Series,
    trace: Trace,
    counter: SampleCounter,
) -> Iterator[str]:
    """The lines of a series: of the samples of one millisecond the last."""
    unix_ms = (trace.clock.mid_ns + series.at // PS_PER_NS) // _NS_PER_MS
    order = np.argsort(unix_ms, kind="stable")
    unix_ms = unix_ms[order]
    is_last = ends_run(unix_ms)
    counter.left_out += len(unix_ms) - int(is_last.sum())
    name = f"{family.name}{series.suffix}{_label_text(series.labels)}"
    last_ms = unix_ms[is_last].tolist()
    last_values = series.values[order[is_last]].tolist()
    for ms, value in zip(last_ms, last_values, strict=True):
        counter.written += 1
        seconds, milliseconds = divmod(ms, _MS_PER_S)
        yield f"{name} {_number(value)} {seconds}.{milliseconds:03d}\n"


def _number(value: float) -> str:
    return "NaN" if value != value else repr(value)


def _label_text(labels: dict[str, str]) -> str:
    """`{run="a",host="b"}`: backslashes, quotes and line ends are escaped, as the format asks."""
    texts = []
    for label, value in labels.items():
        text = plain(value, _MAX_LABEL_CHARACTERS)
        text = text.replace("\\", "\\\\")
        text = text.replace('"', '\\"')
        texts.append(f'{label}="{text}"')
    joined = ",".join(texts)
    return f"{{{joined}}}"
