"""Recognizes by its content which dialect a power log is written in, and reads it.

Each dialect is one row of the table in `dialects`. After them come the readers that other packages
bring along by the entry point `powertui.power` (plugins.py): objects with `NAME`,
`sniff(head, path) -> int` (0 = not mine … 100 = certain), `load(source, options) -> PowerLog`, and
`UNITS_WRITTEN = True` where each reading has its unit beside it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np

from powertui import plugins
from powertui.data import elsewhere, packed
from powertui.data.asked import LogColumns
from powertui.data.model import Badge, PowerSeries, Warn, worst_badge
from powertui.data.power import outages, own_tables, plausible
from powertui.data.power.dialects import DIALECTS, Dialect, EnergyTable, PlainTable, PrintedWatts
from powertui.data.power.options import COLUMNS_HINT, PowerLog
from powertui.data.power.source import SQLITE, LogFile
from powertui.data.wire.stored import FileState
from powertui.errors import PowertuiError, UnreadableFile
from powertui.value_types import dataclass

# From this size on, the memory that reading took is handed back to the system: about 16 MB of times
# and watts. Chosen, not measured.
_LARGE_LOG_READINGS = 1 << 20
# Of all logs that are kept for their next `load`: 16 MB of times and watts.
_MAX_AHEAD_READINGS = 1 << 20
# The demo's: its sensor was simulated, and followed the load of a real machine.
SIMULATED_LOG = Path(__file__).absolute().parents[2] / "demo" / "data" / "power.csv"
IS_POWER = 50  # a score from which a file found by itself is taken for a power log
# The same where the file's name says power: one column that is named like time or power is enough
# then. Chosen: `table_signs` gives so much to such a table.
IS_POWER_BY_NAME = 20


@dataclass(frozen=True)
class _Ahead:
    """A log that was read before somebody asked for it."""

    state: FileState
    log: PowerLog
    readings: int


_ahead: dict[str, _Ahead] = {}
# By path, what `sniff` found: whoever looks for logs in a folder reads them next.
_sniffed: dict[str, tuple[FileState, LogReader]] = {}


@dataclass(frozen=True)
class LogReader:
    """What can read a log, and how sure it is that the log is its own."""

    name: str
    score: int  # 0 = not its own … 100 = certain
    load: Callable[[LogFile, LogColumns], PowerLog]
    units_written: bool = False  # each reading has its unit beside it
    takes_columns: bool = False  # it knows what to do with columns that a person named
    plugin: plugins.Plugin | None = None


def readers(head: str | bytes, path: str, *, without: str = "") -> Iterator[LogReader]:
    """All that could read a log that begins so, in the order of the table; plugins come last.

    `without` is a module that is not asked: one that reads parts of logs by other readers.
    """
    for dialect in DIALECTS:
        if not dialect.could_read(head):
            continue
        if not isinstance(dialect, Dialect):
            yield _row_reader(dialect)
        elif dialect.module != without:
            module = _module(dialect.module)
            score = dialect.score if dialect.signature else module.sniff(head, path)
            yield _reader(module, score)
    for plugin in plugins.plugin_group(plugins.POWER).plugins:
        reader = _reader(plugin.loaded, _plugin_score(plugin, head, path))
        yield replace(reader, plugin=plugin)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{name}")


def _reader(module: ModuleType, score: int) -> LogReader:
    return LogReader(
        str(module.NAME),
        score,
        module.load,
        units_written=getattr(module, "UNITS_WRITTEN", False),
        takes_columns=getattr(module, "TAKES_OPTIONS", False),
    )


def _row_reader(dialect: EnergyTable | PlainTable | PrintedWatts) -> LogReader:
    """The reader of a program's log that its row in the table of dialects describes."""
    if isinstance(dialect, EnergyTable):
        module = _module("energy_tables")
    elif isinstance(dialect, PlainTable):
        module = _module("plain_tables")
    else:
        module = _module("printed_watts")
    return LogReader(
        dialect.name,
        dialect.score,
        functools.partial(module.load, dialect),
        units_written=isinstance(dialect, PrintedWatts),
    )


def _plugin_score(plugin: plugins.Plugin, head: str | bytes, path: str) -> int:
    """How sure a plugin is of this head; one that raises is not."""

    def sniff() -> int:
        return int(plugin.loaded.sniff(head, path))

    return int(plugins.guarded(plugin, "sniff", sniff, 0))


def _surest_reader(source: LogFile, *, without: str = "") -> LogReader | None:
    """The reader that is surest of a log; None when none takes it for its own."""
    head: str | bytes = source.head_text
    # Of a database, and of a first line longer than the head, there is no text to look at.
    if source.head.startswith(SQLITE) or not head:
        head = source.head
    if isinstance(head, str) and own_tables.own_export(head):
        return None
    surest = max(
        readers(head, source.path, without=without),
        key=lambda reader: reader.score,
        default=None,
    )
    if surest is not None and surest.score > 0:
        return surest
    return None


def sniff(path: str) -> tuple[str, int]:
    """The dialect's name and how sure it is; ("", 0) when this is no readable power log."""
    state = FileState.at(path)
    try:
        reader = _surest_reader(LogFile(path))
    except PowertuiError:
        return "", 0
    if reader is None:
        return ("", 0)
    if state is not None:
        _sniffed[path] = state, reader
    return (reader.name, reader.score)


def why_not_taken(path: str) -> str:
    """Why a file whose name says power was not taken, and what to type for it; "" where powertui
    itself wrote it, and of another machine's that was not fetched: it is not, only for this.
    """
    if elsewhere.away(path):
        return ""
    try:
        if own_tables.own_export(LogFile(path).head_text):
            return ""
        load(path)
    except UnreadableFile as error:
        return error.cause
    except PowertuiError:
        return ""
    return (
        "may be a power log, but no column is named like power. If it is this run's: --power FILE"
    )


def _sniffed_reader(path: str) -> LogReader | None:
    """What `sniff` found, unless the file changed since."""
    sniffed = _sniffed.pop(path, None)
    if sniffed is None:
        return None
    state, reader = sniffed
    if state != FileState.at(path):
        return None
    return reader


def load_ahead(path: str) -> PowerLog:
    """Read a power log that is going to be read again: the next `load` gives the same one.

    It is kept until then, unless the file changes or there are too many readings already.
    """
    elsewhere.at_hand(path)
    state = FileState.from_status(Path(path).stat())
    log = load(path)
    readings = sum(map(len, log.series))
    # A copy: another thread may take what it reads next.
    readings_ahead = sum(ahead.readings for ahead in tuple(_ahead.values()))
    if readings + readings_ahead <= _MAX_AHEAD_READINGS:
        _ahead[path] = _Ahead(state, log, readings)
    return log


def _log_read_ahead(path: str) -> PowerLog | None:
    """The log as `load_ahead` read it; None where the file changed since, or was not read."""
    read_ahead = _ahead.pop(path, None)
    if read_ahead is None:
        return None
    if read_ahead.state != FileState.from_status(Path(path).stat()):
        return None
    return read_ahead.log


def load(path: str, options: LogColumns | None = None) -> PowerLog:
    """Read a power log. Raises `UnreadableFile` when nothing at all is left of it."""
    options = options or LogColumns()
    elsewhere.at_hand(path)
    if options == LogColumns():
        read_ahead = _log_read_ahead(path)
        if read_ahead is not None:
            return read_ahead
    source = LogFile(path, options.limit)
    _refuse_empty(source)
    reader = _sniffed_reader(path) or _surest_reader(source)
    if options.time_col or options.watts_col:
        reader = _reader_of_columns(source, reader)
    if reader is None:
        raise _not_a_log(source)
    log = _load(reader, source, options)
    if not log.series:
        problem = f"looks like {reader.name}, but has no readings"
        raise UnreadableFile(path, problem, hint=COLUMNS_HINT)
    has_unit = options.unit is not None or reader.units_written
    log = checked(log, has_unit=has_unit)
    if source.loss:
        warning = Warn(path, "", source.loss, is_loss=True)
        log = replace(log, warnings=(warning, *log.warnings))
    if Path(path).absolute() == SIMULATED_LOG:
        return _simulated(log)
    return log


def _simulated(log: PowerLog) -> PowerLog:
    """A log of a simulated sensor: no figure made of it is called measured."""
    series = []
    for channel in log.series:
        scale = worst_badge((channel.sensor.scale, Badge.SIMULATED))
        sensor = replace(channel.sensor, scale=scale)
        series.append(replace(channel, sensor=sensor))
    return replace(log, series=tuple(series))


def checked(log: PowerLog, *, has_unit: bool) -> PowerLog:
    """A log as read, without what is no reading of power. Raises `UnreadableFile` when nothing is
    left.
    """
    log = _plausible(log, has_unit=has_unit)
    log = _with_guess(_with_shared_times(log))
    if sum(map(len, log.series)) > _LARGE_LOG_READINGS:
        packed.give_back()
    return log


def _refuse_empty(source: LogFile) -> None:
    """Raise for a file that holds no log at all, whatever it is called."""
    if not source.head.strip():
        raise UnreadableFile(source.path, "is empty", hint="Check that the recording was started.")
    if source.head.startswith(b"version https://git-lfs"):
        raise UnreadableFile(
            source.path, "is only a Git LFS pointer, not the file itself", hint="Run: git lfs pull"
        )


def load_text(source: LogFile, text: str, options: LogColumns, *, without: str) -> PowerLog:
    """Read a part of a log by the reader that is surest of it."""
    part = LogFile.of_text(source, text)
    reader = _surest_reader(part, without=without)
    if reader is None:
        raise _not_a_log(part)
    return _load(reader, part, options)


def _reader_of_columns(source: LogFile, surest: LogReader | None) -> LogReader | None:
    """The reader for columns that a person named.

    It is a generic one, except where the dialect's own reader takes columns too.
    """
    if source.head.startswith(SQLITE):
        return surest
    if surest is not None and surest.takes_columns:
        return surest
    is_json = source.head_text.lstrip().startswith(("{", "["))
    name = "generic_json" if is_json else "generic_csv"
    return _reader(_module(name), 1)


def _load(reader: LogReader, source: LogFile, options: LogColumns) -> PowerLog:
    """The log as its reader gives it; a plugin that fails is named as the one that did."""
    try:
        return reader.load(source, options)
    except PowertuiError:
        raise
    except Exception as error:
        if reader.plugin is None:
            raise
        problem = (
            f"the plugin {reader.plugin.name!r} of {reader.plugin.package} failed on it "
            f"({type(error).__name__}: {error})"
        )
        raise UnreadableFile(
            source.path, problem, hint="Report it to its authors, or uninstall it."
        ) from None


def _plausible(log: PowerLog, *, has_unit: bool) -> PowerLog:
    """The log without channels of more watts than any machine draws.

    A log of such channels alone is refused.
    """
    series: list[PowerSeries] = []
    warnings: list[Warn] = []
    for channel in log.series:
        continuous = outages.without_outages(channel)
        checked, warning = plausible.plausible_part(continuous, told=has_unit)
        if checked is not None:
            series.append(checked)
        if warning is not None:
            warnings.append(warning)
    if not series:
        raise UnreadableFile(log.path, warnings[0].cause, hint=COLUMNS_HINT)
    return replace(
        log,
        series=tuple(series),
        warnings=(*log.warnings, *warnings),
    )


def _with_shared_times(log: PowerLog) -> PowerLog:
    """The log with one array of times for all channels that were read in the same rows.

    The times of a hundred channels would take more memory than their watts.
    """
    times = log.series[0].times
    series = []
    for channel in log.series:
        if np.array_equal(channel.times, times):
            channel = replace(channel, times=times)
        series.append(channel)
    return replace(log, series=tuple(series))


def _with_guess(log: PowerLog) -> PowerLog:
    """The log with its guess as a warning of the first channel: whoever shows the channel also
    shows how it was read.
    """
    if not log.guess:
        return log
    first, *others = log.series
    guess = Warn(log.path, "", f"read as {log.guess}")
    warnings = (*first.warnings, guess)
    first = replace(first, warnings=warnings)
    return replace(log, series=(first, *others))


def _not_a_log(source: LogFile) -> UnreadableFile:
    from powertui.data.power import unknown_logs  # most files are known

    return unknown_logs.not_a_log(source)
