"""What a server is asked for the power of a run: the time and the machines of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from powertui.data.asked import ReadOptions
from powertui.data.formats.tfevents import EventLog
from powertui.data.model import NS_PER_S, PS_PER_NS, Trace
from powertui.errors import UnreadableFile
from powertui.power_server import PowerQuestion


def bounds_of_run(traces: Sequence[Trace], logs: Sequence[EventLog]) -> tuple[int, int] | None:
    """From when to when a run went on (Unix ns), by its profiles and scalars; None where neither
    shows it.
    """
    moments: list[int] = []
    for trace in traces:
        clock = trace.clock
        if clock.lo_ns is not None and clock.hi_ns is not None:
            start_ps, end_ps = trace.span
            moments += (clock.lo_ns + start_ps // PS_PER_NS, clock.hi_ns + end_ps // PS_PER_NS)
    for log in logs:
        moments += (moment for moment in (log.first_ns, log.last_ns) if moment is not None)
    return (min(moments), max(moments)) if moments else None


def question(
    url: str,
    bounds: tuple[int, int] | None,
    hosts: Iterable[str],
    options: ReadOptions,
) -> PowerQuestion:
    """What to ask. Raises `UnreadableFile` where nobody knows when the run was."""
    if bounds is None:
        raise UnreadableFile(
            url,
            "cannot be asked for the power of this run: its files do not show when it was",
            hint="Fetch that time into a file (docs/fleets.md) and name the file with --power.",
        )
    names = {host for host in hosts if host}
    # A server may know them by the names that a person assigned.
    folded = {name.casefold() for name in names}
    for logged, host in (*options.assigned_hosts, *options.called_hosts):
        if logged and host.casefold() in folded:
            names.add(logged)
    return PowerQuestion(
        start_s=bounds[0] / NS_PER_S,
        end_s=bounds[1] / NS_PER_S,
        hosts=frozenset(names),
    )
