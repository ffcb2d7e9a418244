"""Where PyTorch's kernels and compiled ops stand: modules, operator, shapes of the inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from powertui.data import wire
from powertui.data.compare.part import HostWindow
from powertui.data.model import Int64s, Process, Track
from powertui.data.run import stat_carriers
from powertui.data.tools import torch_links
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.thread_time import FRAME_LINE_SUFFIX
from powertui.data.tools.torch_links import COPIES, SETS, DeviceStreams, HostCalls, Links
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple

# Launches of a kernel that are looked at: the first of a window, which are the same ones in every
# run of a program. Chosen; an encoder of 24 layers launches a kernel 24 times in a step.
_LAUNCHES = 64
_MODULE = "nn.Module: "
_COMPILED = "triton_"  # what TorchInductor calls its kernels, numbered in the order it makes them
_INSTANCE = re.compile(r"_\d+$")


class TorchContext(NamedTuple):
    """One place that an op was called from."""

    process: int  # over Trace.processes
    name: int  # of the op, into Trace.names
    path: str  # "BertModel/BertLayer/Linear/aten::addmm"
    shape: str  # of the operator's inputs
    is_compiled: bool


def torch_contexts(window: HostWindow, stats: OpStats, rows: Int64s) -> Iterator[TorchContext]:
    """The places of kernels, and of the ops of the host that a compiler numbered."""
    links = torch_links.torch_links(window.profile)
    if links is None:
        return
    reader = _Reader(links)
    on_device = stats.on_device[rows]
    kernel_rows = rows[on_device]
    yield from reader.of_kernels(stats, stats.name[kernel_rows])
    names = stats.trace.names
    host_rows = rows[~on_device]
    compiled = []
    for name in stats.name[host_rows].tolist():
        if names.display(name).startswith(_COMPILED):
            compiled.append(name)
    yield from reader.of_operators(stats, np.array(compiled, np.int64))


class _Reader:
    def __init__(self, links: Links) -> None:
        self._links = links
        self._modules: dict[int, _Modules] = {}  # by line

    @cached_property
    def _lines(self) -> list[tuple[int, Process, Track]]:
        """(number of the process, process, line), in the order of the trace."""
        trace = self._links.trace
        return [
            (number, process, track)
            for number, process in enumerate(trace.processes)
            for track in process.tracks
        ]

    def of_kernels(self, stats: OpStats, names: Int64s) -> Iterator[TorchContext]:
        device = self._links.device
        operators = self._links.operator
        is_copy = device.of_kind(COPIES | SETS)
        is_named = np.isin(device.name, names)
        has_operator = operators >= 0
        is_asked = has_operator & ~is_copy & is_named
        asked_rows = np.flatnonzero(is_asked)
        rows = self._first_inside(stats, device, asked_rows)
        return self._contexts(device, rows, operators[rows])

    def of_operators(self, stats: OpStats, names: Int64s) -> Iterator[TorchContext]:
        host = self._links.host
        is_named = np.isin(host.name, names)
        asked_rows = np.flatnonzero(host.operator & is_named)
        rows = self._first_inside(stats, host, asked_rows)
        return self._contexts(host, rows, rows)

    def _contexts(
        self,
        events: HostCalls | DeviceStreams,
        rows: Int64s,
        operators: Int64s,
    ) -> Iterator[TorchContext]:
        """The places of events, by the operators that they are of."""
        names = self._links.trace.names
        for row, (path, shape) in zip(rows.tolist(), self._places(operators), strict=True):
            line = int(events.line[row])
            process, _, _ = self._lines[line]
            name = int(events.name[row])
            is_compiled = names.display(name).startswith(_COMPILED)
            yield TorchContext(
                process=process,
                name=name,
                path=path,
                shape=shape,
                is_compiled=is_compiled,
            )

    def _first_inside(
        self,
        stats: OpStats,
        events: HostCalls | DeviceStreams,
        rows: Int64s,
    ) -> Int64s:
        """The first of these events of each name, of those that touch the window."""
        is_inside = np.zeros(len(rows), np.bool_)
        line_of_row = events.line[rows]
        for line in wire.distinct(line_of_row).tolist():
            at = np.flatnonzero(line_of_row == line)
            columns = self._lines[line][2].events
            place = events.row[rows[at]]
            start = columns.start[place]
            end = start + columns.duration[place]
            is_inside[at] = touches(start, end, stats.lo, stats.hi)
        rows = rows[is_inside]
        return _first_of_each(events.name[rows], rows)

    def _places(self, operators: Int64s) -> list[tuple[str, str]]:
        """(path, shapes) of operators, given as rows of the host's calls."""
        host = self._links.host
        names = self._links.trace.names
        places = [("", "")] * len(operators)
        line_of_operator = host.line[operators]
        for line in wire.distinct(line_of_operator).tolist():
            at = np.flatnonzero(line_of_operator == line)
            _, process, track = self._lines[line]
            rows = host.row[operators[at]]
            shapes = stat_carriers.stat_column(process, track, rows, "Input Dims")
            starts = track.events.start[rows].tolist()
            modules = self._modules.get(line)
            if modules is None:
                modules = _Modules(self._links, process, track)
                self._modules[line] = modules
            for order, place in enumerate(at.tolist()):
                operator = int(operators[place])
                name_of_operator = names.full(int(host.name[operator]))
                name = _INSTANCE.sub("", name_of_operator)
                outer = modules.around(starts[order])
                path = "/".join([*outer, name])
                places[place] = path, shapes.text(order) or ""
        return places


class _Modules:
    """The modules of a network that a thread runs, by when."""

    def __init__(self, links: Links, process: Process, thread: Track) -> None:
        names = links.trace.names
        self._lanes: list[tuple[Int64s, Int64s, list[str]]] = []
        frame_line = thread.name + FRAME_LINE_SUFFIX
        for track in process.tracks:
            if track.name != frame_line or track.key != thread.key:
                continue
            events = track.events
            module_of = {}
            for name in wire.distinct(events.name).tolist():
                text = names.full(name)
                if text.startswith(_MODULE):
                    module_of[name] = text.removeprefix(_MODULE)
            is_module = np.isin(events.name, list(module_of))
            for depth in range(track.lane_count):
                lane = track.rows_of_lane(depth)
                rows = np.arange(lane.start, lane.stop)
                rows = rows[is_module[rows]]
                if not len(rows):
                    continue
                texts = [module_of[name] for name in events.name[rows].tolist()]
                starts = events.start[rows]
                ends = events.end[rows]
                self._lanes.append((starts, ends, texts))

    def around(self, moment: int) -> Iterator[str]:
        """Those that run at a moment, from the outermost on, without their numbers."""
        for start, end, texts in self._lanes:
            after = int(start.searchsorted(moment, side="right"))
            row = after - 1
            if row >= 0 and int(end[row]) > moment:
                yield _INSTANCE.sub("", texts[row])


def _first_of_each(names: Int64s, rows: Int64s) -> Int64s:
    """The first rows of each name, so many of them."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    begins = np.searchsorted(ordered, ordered, side="left")
    number_in_name = np.arange(len(ordered)) - begins
    first = order[number_in_name < _LAUNCHES]
    return rows[np.sort(first)]
