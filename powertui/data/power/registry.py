"""Which dialect a power log is written in, by its content, and the log itself.

Each dialect is one module with `NAME`, `sniff(head, path) -> int` (0 = not mine … 100 = certain)
and `load(source, options) -> PowerLog`, and `UNITS_WRITTEN = True` where the unit stands beside
each of its readings. It has one line here: its name, and words of which one stands in every head
that it takes. A module is imported when such a head comes along: most folders hold one kind of log
or none. The readers of any JSON and of any table come last, and behind them what other packages
bring along by the entry point `powertui.power` (plugins.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import numpy as np

from powertui import plugins
from powertui.data import elsewhere, packed
from powertui.data.asked import LogColumns
from powertui.data.model import PowerSeries, Warn
from powertui.data.power import outages, own, plausible, table
from powertui.data.power.options import PowerLog
from powertui.data.power.source import SQLITE, LogFile
from powertui.errors import PowertuiError, UnreadableFile

DIALECTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("recording", ("powertui recording", "time_unix_s,mono_s")),
    ("powerboard", ("Sensor_Reading", "SensorData")),
    ("nvidia_smi", ("power.draw", "utilization.gpu", " W", ", P")),
    ("nvidia_dmon", ("pwr",)),
    ("nvidia_query", ("nvidia_smi_log", "nvsmi_device", "NVSMI LOG")),
    ("nvidia_table", ("Pwr:Usage/Cap",)),
    ("dcgm", ("Entity",)),
    ("rocm_smi", ("Power (W)", "SCLK")),
    ("amd_smi", ("_power", "power_usage", "POWER")),
    ("aiu_smi", ("pwr",)),
    ("tegrastats", ("RAM ",)),
    ("ipmitool", ("Watts", "watts", "Sensor ID", "ower", "OWER")),
    (
        "redfish",
        ("PowerConsumedWatts", "PowerInputWatts", "PowerWatts", "ReadingUnits", "MetricValues"),
    ),
    ("prometheus", ("{", "watt", "joule", "power", "POWER", "status")),
    ("influx", ("=",)),
    ("slurm", ("ConsumedEnergy", "Series", "CurrentWatts")),
    ("codecarbon", ("cpu_energy",)),
    ("eco2ai", ("power_consumption(kW",)),
    ("zeus", ("window_name",)),
    ("scaphandre", ("consum", "Host:")),
    ("perf_stat", ("Joules",)),
    ("turbostat", ("Watt", "_J")),
    ("likwid", ("MetricsCount", "NumMetrics", "RDTSC", "Energy consumed")),
    ("powermetrics", ("Sampled system activity", "elapsed_ns")),
    ("power_gadget", ("Elapsed Time", "System Time", "RDTSC")),
    ("amester", ("PWR", "rcnt")),
    (
        "rapl",
        (
            "energy_uj",
            "rapl",
            "RAPL",
            "timestamp;tag;duration",
            "package",
            "Package",
            "dram",
            "pkg",
            "core",
            "psys",
            "pp0",
        ),
    ),
    ("pm_counters", (" us",)),
    ("ptdaemon", ("Watts,",)),
    ("shelly", ("apower", "act_power", "meters")),
    ("tasmota", ("ENERGY",)),
    ("wall_plug", ("oltage", "pannung", "OLTAGE")),
    ("powergraph", (":",)),
    ("lm_sensors", ("Adapter: ",)),
    (
        "log_lines",
        (
            *(f"{digit}W" for digit in "0123456789"),
            " W",
            " mW",
            " kW",
            " watt",
            " Watt",
            "0mW",
            "0kW",
            " milliwatt",
            " kilowatt",
        ),
    ),
    ("generic_json", ("{",)),
    ("generic_csv", ()),
)
_MANY = 1 << 20  # readings: what reading them took is worth handing back
IS_POWER = 50  # a score from which a file found by itself is taken for a power log

_HINT = (
    "Name its columns, or number them from 1: --time-col NAME --watts-col NAME --unit W "
    "(and --tz for local times)."
)


def _readers(head: str) -> Iterator[ModuleType]:
    """The readers that could take a log that begins so."""
    for name, words in DIALECTS:
        if not words or any(word in head for word in words):
            yield importlib.import_module(f"{__package__}.{name}")
    yield from (plugin.found for plugin in plugins.plugin_group(plugins.POWER).plugins)


def _sure(dialect: ModuleType, head: str | bytes, path: str) -> int:
    """How sure a dialect is of this head; a plugin that raises is not."""
    for plugin in plugins.plugin_group(plugins.POWER).plugins:
        if plugin.found is dialect:
            return int(plugins.guarded(plugin, "sniff", lambda: int(dialect.sniff(head, path)), 0))
    return int(dialect.sniff(head, path))


def _best(source: LogFile) -> tuple[ModuleType | None, int]:
    head = source.head_text if not source.head.startswith(SQLITE) else ""
    if own.what(head):
        return None, 0
    best: tuple[ModuleType | None, int] = (None, 0)
    for dialect in _readers(head or source.head.decode("latin-1")):
        score = _sure(dialect, head if head else source.head, source.path)
        if score > best[1]:
            best = (dialect, score)
    return best


def sniff(path: str) -> tuple[str, int]:
    """The dialect's name and how sure it is; ("", 0) when this is no power log (or cannot be
    opened).
    """
    try:
        dialect, score = _best(LogFile(path))
    except PowertuiError:
        return "", 0
    return (str(dialect.NAME), score) if dialect is not None else ("", 0)


def load(path: str, options: LogColumns | None = None) -> PowerLog:
    """Read a power log. Raises `UnreadableFile` when nothing at all is left of it."""
    options = options or LogColumns()
    elsewhere.at_hand(path)
    source = LogFile(path, options.limit)
    if not source.head.strip():
        raise UnreadableFile(path, "is empty", hint="Check that the recording was started.")
    if source.head.startswith(b"version https://git-lfs"):
        raise UnreadableFile(
            path, "is only a Git LFS pointer, not the file itself", hint="Run: git lfs pull"
        )
    dialect, score = _best(source)
    if options.time_col or options.watts_col:
        dialect, score = _for_columns(source, dialect, score)
    if dialect is None and (ours := own.what(source.head_text)):
        raise UnreadableFile(
            path,
            f"holds {ours}, not a power log",
            hint="Name the log itself, or columns: --time-col --watts-col.",
        )
    if dialect is None or score <= 0:
        raise UnreadableFile(path, _looks(source), hint=_HINT + plugins.left_out(plugins.POWER))
    log = _loaded(dialect, source, options)
    if not log.series:
        raise UnreadableFile(path, f"looks like {dialect.NAME}, but has no readings", hint=_HINT)
    found = _with_guess(
        _plausible(log, told=options.unit is not None or getattr(dialect, "UNITS_WRITTEN", False))
    )
    if sum(map(len, found.series)) > _MANY:
        packed.give_back()
    return found


def _loaded(dialect: ModuleType, source: LogFile, options: LogColumns) -> PowerLog:
    plugin = next(
        (one for one in plugins.plugin_group(plugins.POWER).plugins if one.found is dialect), None
    )
    try:
        log: PowerLog = dialect.load(source, options)
    except PowertuiError:
        raise
    except Exception as error:
        if plugin is None:
            raise
        problem = (
            f"the plugin {plugin.name!r} of {plugin.package} failed on it "
            f"({type(error).__name__}: {error})"
        )
        raise UnreadableFile(
            source.path, problem, hint="Report it to its authors, or uninstall it."
        ) from None
    return log


def _plausible(log: PowerLog, *, told: bool) -> PowerLog:
    """Without what nothing draws.

    Channels that nothing draws like are left out; a log of such alone is refused.
    """
    judged = [plausible.checked(outages.without(series), told=told) for series in log.series]
    kept = tuple(series for series, _ in judged if series is not None)
    refused = tuple(why for _, why in judged if why is not None)
    if not kept:
        raise UnreadableFile(log.path, refused[0].cause, hint=_HINT)
    return replace(log, series=_on_the_same_times(kept), warnings=(*log.warnings, *refused))


def _on_the_same_times(found: tuple[PowerSeries, ...]) -> tuple[PowerSeries, ...]:
    """Channels that were read in the same rows hold their times once: a hundred of them are
    many.
    """
    first = found[0]
    return (
        first,
        *(
            replace(one, times=first.times)
            if len(one) == len(first) and np.array_equal(one.times, first.times)
            else one
            for one in found[1:]
        ),
    )


def _with_guess(log: PowerLog) -> PowerLog:
    """The guess goes along with the first channel, so that whoever shows a log shows how it was
    read.
    """
    if not log.guess:
        return log
    first = log.series[0]
    said = replace(first, warnings=(*first.warnings, Warn(log.path, "", f"read as {log.guess}")))
    return replace(log, series=(said, *log.series[1:]))


def _for_columns(
    source: LogFile, dialect: ModuleType | None, score: int
) -> tuple[ModuleType | None, int]:
    """Columns named by a person are the generic reader's, save where a dialect knows what to do
    with them.
    """
    if source.head.startswith(SQLITE) or getattr(dialect, "TAKES_OPTIONS", False):
        return dialect, score
    name = "generic_json" if source.head_text.lstrip()[:1] in ("{", "[") else "generic_csv"
    return importlib.import_module(f"{__package__}.{name}"), 1


def _looks(source: LogFile) -> str:
    head = source.head
    if head.startswith(b"\x89HDF"):
        return (
            "is an HDF5 file, which powertui does not read (of Slurm's profiles: sh5util -j "
            "JOB -E --series=Energy writes a CSV)"
        )
    if b"\x00" in head[:1024] and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is binary, and not a power log that powertui knows"
    layout = table.shape(source.head_text)
    if layout is not None and layout.named and len({name for name in layout.names if name}) > 1:
        names = ", ".join(filter(None, layout.names))
        return (
            "has no column that is named like power or energy (its columns are: "
            f"{_printable(names)})"
        )
    first = next((line.strip() for line in source.head_text.split("\n") if line.strip()), "")
    if layout is not None and not layout.named:
        return f"has no header that names its columns (its first line is: {_printable(first)!r})"
    return f"has no column named like power or time (its first line is: {_printable(first)!r})"


def _printable(text: str) -> str:
    return "".join(ch if ch.isprintable() else "?" for ch in text[:60]) + (
        "" if len(text) <= 60 else "…"
    )
