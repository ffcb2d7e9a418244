"""Which lines of torch-neuronx' timeline of operators say again what its HLO ops say: the modules
and framework ops above them, and how busy the device was meanwhile. They are drawn, and no table
adds their time to the ops'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from powertui.data.model import Process, Trace

_OVERVIEW = "Process Overview"
# The processes that hold HLO ops, under the names that makers.py gives them.
_PARTS = frozenset(
    ("/device:NeuronCore:0", "Process Execution", "Process Control", "Process Data Transfer")
)
_HLO_LINE = "HLO Ops"


def marked(traces: Iterable[Trace]) -> Iterator[Trace]:
    """Traces with such lines marked as derived; all others as they are."""
    for trace in traces:
        processes = tuple(_marked(process) for process in trace.processes)
        yield trace if processes == trace.processes else replace(trace, processes=processes)


def _marked(process: Process) -> Process:
    names = {track.name for track in process.tracks}
    is_part = process.name in _PARTS and _HLO_LINE in names
    if not is_part and process.name != _OVERVIEW:
        return process
    tracks = tuple(
        track if track.name == _HLO_LINE or track.derived else replace(track, derived=True)
        for track in process.tracks
    )
    return replace(process, tracks=tracks)
