"""The power logs beside a training, and the servers that are asked for its power."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from powertui.data import packed
from powertui.data.asked import LogColumns
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import PowerSeries, Warn
from powertui.errors import UnreadableFile

if TYPE_CHECKING:
    from powertui.data.power.options import PowerLog
    from powertui.data.training.training_records import TrainingRecords

# From so many readings or records on, memory that reading them took is given back to the system:
# below that it costs more time than it saves. Chosen, not measured.
GIVE_BACK_ROWS = 1 << 20


def read_power(
    records: TrainingRecords,
    warnings: list[Warn],
    events: list[EventLog],
) -> list[PowerSeries]:
    """The power beside a training. What cannot be read is a warning, unless it was named."""
    power: list[PowerSeries] = []
    options = records.options.columns or LogColumns(
        tz=records.options.tz,
        limit=records.options.limit,
    )
    paths = records.options.power_paths(
        [file.path for file in records.entry.power], is_log_alone=records.entry.is_log_alone
    )
    if not paths:
        return power
    from powertui.data.energy import sensor as sensors
    from powertui.data.power import hosts_like_parts, log_columns, repeated_logs

    columns = log_columns.columns_by_log(paths, options)
    for path in paths:
        try:
            read = _power_log(records, path, columns[path], events)
        except UnreadableFile as error:
            if path in records.options.power:
                raise  # it was asked for by name
            warnings.append(Warn(file=error.path, where="", cause=error.cause))
            continue
        power += read.series
        warnings += read.warnings
    distinct, repeated = repeated_logs.without_repeats(power)
    warnings += repeated
    power = [sensors.described(series) for series in distinct]
    if sum(len(series) for series in power) > GIVE_BACK_ROWS:
        packed.give_back()
    if not power:
        return power
    power = hosts_like_parts.with_hosts(power, records.host_names())
    if not records.options.shown_names:
        return power
    from powertui.data.power import called_hosts

    return called_hosts.with_names(power, records.options.shown_names)


def _power_log(
    records: TrainingRecords,
    path: str,
    columns: LogColumns,
    events: list[EventLog],
) -> PowerLog:
    server = records.options.server(path)
    if server is None:
        return records.beside.power(path, columns)
    from powertui.data import server_question

    bounds = records.extent_with(scalar_span(events))
    hosts = {*records.host_names(), *records.machines()}
    question = server_question.question(path, bounds, hosts, records.options)
    return records.beside.fetched(path, server, question, columns)


def scalar_span(events: Iterable[EventLog]) -> tuple[int, int] | None:
    """From the first to the last record of scalars."""
    logs = [log for log in events if not log.is_marker]
    first = [log.first_ns for log in logs if log.first_ns is not None]
    last = [log.last_ns for log in logs if log.last_ns is not None]
    return (min(first), max(last)) if first and last else None
