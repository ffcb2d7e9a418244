"""From the tables of an export to a trace: GPUs with streams, processes with threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from powertui.data.formats.builder import LIMIT_NS, ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import LineQuota
from powertui.data.formats.json_stats import PairNames, stat
from powertui.data.formats.nsys import counters, step_ranges
from powertui.data.formats.nsys.database import MISSING, NsysDatabase
from powertui.data.formats.nsys.identities import Identities
from powertui.data.formats.nsys.row_groups import row_groups
from powertui.data.formats.nsys.stats import NsysStats, StoredRows
from powertui.data.formats.nsys.table_events import TableEvents, line_of_pieces
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Bools, Clock, Int64s, Stat, Trace, UInt32s
from powertui.errors import UnreadableFile

_KERNELS = "KERNEL"
_COPIES = "MEMCPY"
_SETS = "MEMSET"
_GRAPHS = "GRAPH_TRACE"
_CALLS = "RUNTIME"
_DRIVER_CALLS = "DRIVER"
_CUPTI = "CUPTI_ACTIVITY_KIND_"
_NVTX = "NVTX_EVENTS"
_NOT_DRAWN = {
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "waits for streams and events are not drawn",
    "SCHED_EVENTS": "moves between cores are not drawn",
}
# CUPTI's kinds of copies, in the words of PyTorch's traces.
_COPY_KINDS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
}
_OSRT = "OSRT_API"
_SAMPLES = "COMPOSITE_EVENTS"
_CHAINS = "SAMPLING_CALLCHAINS"
# The lines of a thread, by number: what its program called, and beside that its started ranges, its
# calls of the operating system and where the CPU's samples found it. The last two say again what
# the thread did meanwhile: they are drawn and searched, and no table adds their time to its calls'.
_CALL_LINE, _STARTED_LINE, _SYSTEM_LINE, _SAMPLE_LINE = range(4)
_LINE_NAMES = ("", " started ranges", " operating system", " samples")
_PUSH_POP, _START_END, _MARK = 59, 60, 34  # of `eventType` in NVTX_EVENTS
_MAX_RANGE_NAMES = 200_000  # more names than that are no steps of one name; chosen
_CLOCK_NS = 1_000_000  # the session's start is written to the µs; ± of its evidence
_UNIX_NS = (10**17, 4 * 10**18)  # three years … 2096


def read(source: OpenedFile, progress: Progress) -> Trace:
    """The whole trace."""
    database = NsysDatabase(source)
    try:
        return _Assembly(source, database, progress).trace()
    finally:
        database.close()


class _Assembly:
    """One export on its way into a trace."""

    def __init__(self, source: OpenedFile, database: NsysDatabase, progress: Progress) -> None:
        self.source = source
        self.database = database
        self.progress = progress
        self.builder = TraceBuilder(source.path, "nsys", size=source.size)
        self.names = PairNames()
        self.stats = NsysStats(source.path)
        self.identities = Identities(database)
        self.quota = LineQuota()
        self.last_ns = 0
        self._processes: dict[tuple[str, int], ProcessBuilder] = {}

    def trace(self) -> Trace:
        """Everything that the export holds and that is drawn."""
        device_parts = [part for part in self._device_events() if len(part.start)]
        host_parts = [part for part in self._host_events() if len(part.start)]
        parts = (*device_parts, *host_parts)
        self.identities.count_processes([part.process for part in parts])
        self._add_devices(device_parts)
        self._add_hosts(host_parts)
        builder = self.builder
        self.quota.say(builder.findings)
        builder.clock = self._clock()
        counters.add_counters(self.database, builder, self.identities, self.progress)
        for table, cause in _NOT_DRAWN.items():
            if self.database.has(table):
                builder.findings.add(cause, table)
        if not builder.events and not builder.counted:
            raise UnreadableFile(
                self.source.path,
                "is an export of Nsight Systems without kernels, calls, ranges or metrics",
                hint="Record with nsys profile --trace=cuda,nvtx, and export that report.",
            )
        size = self.source.size
        self.progress(size, size, builder.events)
        return builder.build(self.names, complete=True, warnings=self.source.warnings)

    def _clock(self) -> Clock:
        rows = self.database.rows("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"], 1)
        epoch_ns = rows[0]["utcEpochNs"] if rows else None
        if not isinstance(epoch_ns, int) or not _UNIX_NS[0] < epoch_ns < _UNIX_NS[1]:
            return Clock()
        return Clock(
            epoch_ns - _CLOCK_NS,
            epoch_ns + _CLOCK_NS,
            "absolute timestamps",
            "times count from the session's start, which the file states in UTC",
        )

    # ── what ran on GPUs ──

    def _device_events(self) -> Iterator[TableEvents]:
        for kind in (_KERNELS, _COPIES, _SETS, _GRAPHS):
            table = _CUPTI + kind
            if self.database.has(table, "start", "end"):
                yield self._of_device_table(kind, table)

    def _of_device_table(self, kind: str, table: str) -> TableEvents:
        names = ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"]
        name_column = self._name_column(kind, table)
        if name_column:
            names.append(name_column)
        columns = self.database.integers(table, names, self.progress)
        process = columns["globalPid"]
        base = self._store(table, columns, process)
        named = np.zeros(len(process), np.int64)
        if name_column:
            named = columns[name_column]
        name = self._event_names(kind, named)
        device = self.identities.gpus(process, columns["deviceId"])
        lanes = (device, columns["contextId"], columns["streamId"])
        return self._events(columns, name, base, process, lanes)

    def _name_column(self, kind: str, table: str) -> str:
        wanted = {
            _KERNELS: ("demangledName", "shortName", "name", "mangledName"),
            _COPIES: ("copyKind",),
            _GRAPHS: ("graphId",),
        }.get(kind, ())
        there = self.database.tables[table]
        return next((name for name in wanted if name in there), "")

    def _event_names(self, kind: str, numbers: Int64s) -> UInt32s:
        """An index for each event, by what its row names it."""
        codes, distinct = pd.factorize(numbers)
        distinct_ids = np.asarray(distinct, np.int64)
        texts = self.database.texts(distinct_ids) if kind == _KERNELS else {}
        indices = []
        for number in distinct_ids.tolist():
            if kind == _KERNELS:
                text = texts.get(number) or f"kernel {number}"
            elif kind == _COPIES:
                direction = _COPY_KINDS.get(number, "")
                text = f"Memcpy {direction}".strip()
            elif kind == _SETS:
                text = "Memset"
            elif number > MISSING:
                text = f"CUDA graph {number}"
            else:
                text = "CUDA graph"
            indices.append(self.names.index(text, text))
        return np.array(indices, np.uint32)[codes]

    def _store(self, table: str, columns: dict[str, Int64s], process: Int64s) -> int:
        """Keep where the rows of a table are; returns the position of the first."""
        count = len(process)
        correlation = columns.get("correlationId")
        unique: Int64s | None = None
        if correlation is not None and table != _NVTX:
            # Each process counts its own from 1: together with its number they are unique.
            owner = self.identities.ordinals(process)
            unique = np.where(correlation > 0, owner << 40 | correlation & 0xFFFFFFFFFF, MISSING)
        base = self.stats.next_base
        self.stats.add(
            StoredRows(
                table=table,
                columns=self.database.tables[table],
                base=base,
                count=count,
                first_row=self.database.first_row(table, count) if count else None,
                correlation=unique,
            )
        )
        return base

    def _events(
        self,
        columns: dict[str, Int64s],
        name: UInt32s,
        base: int,
        process: Int64s,
        lanes: tuple[Int64s, ...],
        drawn: Bools | None = None,
    ) -> TableEvents:
        """Those whose times can be, as columns."""
        start = columns["start"]
        end = columns["end"]
        is_possible = (np.abs(start) < LIMIT_NS) & (np.abs(end) < LIMIT_NS)
        impossible = int(len(start) - is_possible.sum())
        self.builder.findings.add("events at impossible times were left out", count=impossible)
        if drawn is not None:
            is_possible &= drawn
        position = np.arange(base, base + len(start), dtype=np.uint64)
        length = end - start
        if is_possible.all():
            parts = TableEvents(start, length, name, position, process, lanes)
        else:
            rows = np.flatnonzero(is_possible)
            parts = TableEvents(
                start=start[rows],
                length=length[rows],
                name=name[rows],
                position=position[rows],
                process=process[rows],
                lanes=tuple(lane[rows] for lane in lanes),
            )
        if len(parts.start):
            self.last_ns = max(self.last_ns, int((parts.start + parts.length).max()))
        return parts

    def _add_devices(self, parts: Sequence[TableEvents]) -> None:
        pieces_of: dict[tuple[int, ...], list[tuple[TableEvents, Int64s]]] = {}
        for part in parts:
            gpu_of_event, *context_and_stream = part.lanes
            lanes = (gpu_of_event, part.process, *context_and_stream)
            for key, rows in row_groups(lanes):
                pieces_of.setdefault(key, []).append((part, rows))
        # A label says what tells a stream from others of its GPU: nothing where one process uses
        # each GPU, and a stream has one context.
        processes = {(gpu, process) for gpu, process, _, _ in pieces_of}
        gpus = {gpu for gpu, _ in processes}
        shares_gpus = len(processes) > len(gpus)
        contexts = Counter((gpu, process, stream) for gpu, process, _, stream in pieces_of)
        for (gpu, process, context, stream), pieces in sorted(pieces_of.items()):
            if not self._admits(("device", gpu), pieces):
                continue
            number = max(stream, 0)
            label = f"Stream #{number}"
            if shares_gpus:
                label += f" of process {self.identities.pid(process)}"
            if contexts[gpu, process, stream] > 1:
                label += f", context {context}"
            device = self._process("device", gpu)
            device.add(number, label, line_of_pieces(pieces))

    # ── what ran on the host ──

    def _host_events(self) -> Iterator[TableEvents]:
        for kind in (_CALLS, _DRIVER_CALLS):
            table = _CUPTI + kind
            if self.database.has(table, "start", "end"):
                yield self._of_calls(table)
        if self.database.has(_NVTX, "start"):
            yield from self._of_ranges()
        if self.database.has(_OSRT, "start", "end", "globalTid"):
            yield self._of_calls(_OSRT, _SYSTEM_LINE)
        if self.database.has(_SAMPLES, "start", "globalTid"):
            yield self._of_samples()

    def _of_calls(self, table: str, line: int = _CALL_LINE) -> TableEvents:
        names = ["start", "end", "globalTid", "correlationId", "nameId"]
        columns = self.database.integers(table, names, self.progress)
        thread = columns["globalTid"]
        process = self.identities.processes_of(thread)
        base = self._store(table, columns, process)
        otherwise = "CUDA call" if line == _CALL_LINE else "call"
        name = self._text_names(columns["nameId"], otherwise)
        lines = np.full(len(thread), line, np.int64)
        return self._events(columns, name, base, thread, (lines,))

    def _of_samples(self) -> TableEvents:
        """Moments at which the CPU was found in a thread, by the function on top of its stack."""
        columns = self.database.integers(_SAMPLES, ["id", "start", "globalTid"], self.progress)
        columns["end"] = columns["start"]
        thread = columns["globalTid"]
        base = self._store(_SAMPLES, columns, thread)
        symbols = self._top_symbols(columns["id"])
        name = self._text_names(symbols, "sample")
        line = np.full(len(thread), _SAMPLE_LINE, np.int64)
        return self._events(columns, name, base, thread, (line,))

    def _top_symbols(self, samples: Int64s) -> Int64s:
        """The text's number of the function in which each sample was taken."""
        symbols = np.full(len(samples), MISSING, np.int64)
        if not self.database.has(_CHAINS, "id", "symbol", "stackDepth"):
            return symbols
        tops = self.database.integers(
            _CHAINS,
            ["id", "symbol"],
            self.progress,
            zero="stackDepth",
        )
        order = np.argsort(tops["id"], kind="stable")
        ids = tops["id"][order]
        if not len(ids):
            return symbols
        symbol_of_id = tops["symbol"][order]
        place = np.searchsorted(ids, samples)
        place = np.minimum(place, len(ids) - 1)
        has_stack = ids[place] == samples
        symbols[has_stack] = symbol_of_id[place[has_stack]]
        return symbols

    def _text_names(self, ids: Int64s, otherwise: str) -> UInt32s:
        codes, distinct = pd.factorize(ids)
        numbers = np.asarray(distinct, np.int64)
        texts = self.database.texts(numbers)
        indices = []
        for number in numbers.tolist():
            text = texts.get(number) or otherwise
            if text.startswith("cu"):
                # "cudaLaunchKernel_v7000": the version says nothing to a person.
                text, _, _ = text.partition("_v")
            indices.append(self.names.index(text, text))
        return np.array(indices, np.uint32)[codes]

    def _of_ranges(self) -> Iterator[TableEvents]:
        """NVTX: pushed ranges and marks on their threads, started ones on a line of their own."""
        names = ["start", "end", "eventType", "textId", "globalTid"]
        columns = self.database.integers(_NVTX, names, self.progress)
        thread = columns["globalTid"]
        kind = columns["eventType"]
        if "eventType" not in self.database.tables[_NVTX]:
            kind = np.full(len(thread), _PUSH_POP, np.int64)
        is_pushed = kind == _PUSH_POP
        is_started = kind == _START_END
        is_mark = kind == _MARK
        is_range = is_pushed | is_started
        base = self._store(_NVTX, columns, thread)
        name = self._range_names(columns["textId"])
        columns["end"] = self._range_ends(columns, is_range, is_mark)
        self._mark_steps(columns, name, thread, np.flatnonzero(is_pushed), base)
        line = np.where(is_started, _STARTED_LINE, _CALL_LINE)
        lanes = (line.astype(np.int64),)
        is_drawn = is_range | is_mark
        yield self._events(columns, name, base, thread, lanes, is_drawn)

    def _range_ends(self, columns: dict[str, Int64s], is_range: Bools, is_mark: Bools) -> Int64s:
        start = columns["start"]
        end = columns["end"]
        is_open = is_range & (end < start)
        self.builder.findings.add(
            "ranges without an end were extended to the end of the trace",
            count=int(is_open.sum()),
        )
        last_ns = int(max(self.last_ns, end.max(initial=0)))
        latest_end = np.maximum(last_ns, start)
        end = np.where(is_open, latest_end, end)
        return np.where(is_mark, start, end)

    def _mark_steps(
        self,
        columns: dict[str, Int64s],
        name: UInt32s,
        thread: Int64s,
        rows: Int64s,
        base: int,
    ) -> None:
        """Tell the stats which pushed ranges are steps."""
        distinct, of_row = np.unique(name[rows], return_inverse=True)
        if len(distinct) > _MAX_RANGE_NAMES:
            return
        numbers = step_ranges.step_numbers(
            [self.names.full(index) for index in distinct.tolist()],
            of_row.ravel().astype(np.int64),
            columns["start"][rows],
            columns["end"][rows] - columns["start"][rows],
            thread[rows],
        )
        is_step = numbers != step_ranges.NOT_A_STEP
        self.stats.mark_steps(base + rows[is_step], numbers[is_step])

    def _range_names(self, ids: Int64s) -> UInt32s:
        """By their registered texts, else by those that the rows themselves hold."""
        name = self._text_names(ids, "NVTX range")
        if "text" not in self.database.tables[_NVTX]:
            return name
        for row, text in self.database.own_texts(_NVTX, "text", len(ids)):
            name[row] = self.names.index(text, text)
        return name

    def _add_hosts(self, parts: Sequence[TableEvents]) -> None:
        groups: dict[tuple[int, ...], list[tuple[TableEvents, Int64s]]] = {}
        for part in parts:
            lanes = (part.process, *part.lanes)
            for key, rows in row_groups(lanes):
                groups.setdefault(key, []).append((part, rows))
        for (thread, line), pieces in sorted(groups.items()):
            pid = self.identities.pid(thread)
            if not self._admits(("host", pid), pieces):
                continue
            host = self._process("host", pid)
            host.add(
                self.identities.tid(thread),
                self.identities.thread_name(thread) + _LINE_NAMES[line],
                line_of_pieces(pieces),
                derived=line in (_SYSTEM_LINE, _SAMPLE_LINE),
            )

    def _admits(self, place: tuple[str, int], pieces: Sequence[tuple[TableEvents, Int64s]]) -> bool:
        is_admitted = self.quota.admits(place)
        if not is_admitted:
            for _, rows in pieces:
                self.quota.left_out += len(rows)
        return is_admitted

    def _process(self, side: str, number: int) -> ProcessBuilder:
        key = (side, number)
        if key not in self._processes:
            facts: tuple[Stat, ...]
            if side == "device":
                name = f"/device:GPU:{number}"
                facts = self.identities.gpu_facts(number)
            else:
                name = self.identities.process_name(number)
                facts = (stat("pid", number),)
            self._processes[key] = self.builder.process(name, facts, self.stats)
        return self._processes[key]
