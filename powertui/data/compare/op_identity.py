"""What an op is besides its name: where its program has it, and the shape it makes.

Compilers number what they make. With one op more in front of a network, XLA gave ten of the 40 ops
of a step another name, and nine of those names had been other ops' before. Their paths and
shapes stayed: `jit(step)/jvp(layer1)/dot_general`, `f32[512,384]`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data import hlo, wire
from powertui.data.compare.part import HostWindow
from powertui.data.compare.torch_identity import torch_contexts
from powertui.data.compare.values import OpIdentity
from powertui.data.formats import kineto
from powertui.data.model import Int64s, Process, ProcessKind, Stat, Trace, Track
from powertui.data.run import stat_carriers
from powertui.data.tools import op_sums
from powertui.data.tools.op_stats import OpStats
from powertui.data.window import touches

# Ops whose identity is read, those with most own time: others explain nothing. Chosen.
_MAX_OPS = 2_000
_MAX_CONTEXTS = 8  # an op that more places share has no place of its own
_STATS = ("hlo_op", "hlo_module", "program_id", "name", "tf_op", "shape")
_LAYOUT = re.compile(r"\{[^{}]*\}")
_NUMBER = re.compile(r"(?:[._]\d+)+(?=\.kd$|$)|\(\d+\)$")
_KERNEL_SUFFIX = ".kd"
_UNNAMED_PROGRAM = "XlaModule:"  # stands for the framework's op where XLA runs a whole program


def without_number(name: str) -> str:
    """A name without the number that tells it from others: of `fusion.12` and `fusion_12` the
    fusion, of `jit_step(1234)` the program.
    """
    return _NUMBER.sub("", name).removesuffix(_KERNEL_SUFFIX) or name


def op_identities(window: HostWindow, stats: OpStats, rows: Int64s) -> dict[int, OpIdentity]:
    """By row what is known of these ops; those of which nothing is known are left out."""
    own_time = stats.self_time[rows]
    by_own_time = np.argsort(-own_time, kind="stable")
    rows = rows[by_own_time][:_MAX_OPS]
    contexts = _contexts(window, stats, rows)
    identities = {}
    for row in rows.tolist():
        process = int(stats.process[row])
        name = int(stats.name[row])
        places = contexts.get((process, name))
        if places is not None:
            identities[row] = joined(sorted(places))
    return identities


def _contexts(
    window: HostWindow,
    stats: OpStats,
    rows: Int64s,
) -> dict[tuple[int, int], set[OpIdentity]]:
    """By (process, name) the places that an op is called from."""
    trace = window.profile.trace
    contexts: dict[tuple[int, int], set[OpIdentity]] = defaultdict(set)
    if trace.format == kineto.NAME:
        for context in torch_contexts(window, stats, rows):
            op = (context.process, context.name)
            identity = OpIdentity(context.path, context.shape, context.is_compiled)
            contexts[op].add(identity)
        return contexts
    reader = _XlaReader(window, stats.lo, stats.hi)
    process_of_row = stats.process[rows]
    for number, process in enumerate(trace.processes):
        rows_of_process = rows[process_of_row == number]
        names = stats.name[rows_of_process]
        for name, identity in reader.identities(process, names):
            contexts[number, name].add(identity)
    return contexts


def joined(identities: Sequence[OpIdentity]) -> OpIdentity:
    """An op that stands in several places: all of them, or none where they are too many."""
    if len(identities) > _MAX_CONTEXTS:
        return OpIdentity("", "", identities[0].is_numbered)
    paths: dict[str, None] = {}
    shapes: dict[str, None] = {}
    is_numbered = True
    for identity in identities:
        paths[identity.path] = None
        shapes[identity.shape] = None
        is_numbered = is_numbered and identity.is_numbered
    return OpIdentity(
        path=" | ".join(paths),
        shape=" | ".join(shapes),
        is_numbered=is_numbered,
    )


class _XlaReader:
    """Reads what XLA's and TensorFlow's events say of their ops."""

    def __init__(self, window: HostWindow, lo: int, hi: int) -> None:
        self._trace: Trace = window.profile.trace
        self._profile = window.profile
        self._bounds = lo, hi

    def identities(self, process: Process, names: Int64s) -> Iterator[tuple[int, OpIdentity]]:
        """(name, what its first and its last event on each line say)."""
        tracks = []
        for track in process.tracks:
            if op_sums.counts(track) and len(track.events):
                tracks.append(track)
        if process.kind is ProcessKind.HOST:
            carried = stat_carriers.carried(self._trace, process, tracks, ("hlo_op",))
            has_op = carried["hlo_op"]
            names = names[has_op[names]]
        if not len(names):
            return
        for track in tracks:
            rows = _first_and_last(track, names, *self._bounds)
            if not len(rows):
                continue
            events = track.events
            positions = events.positions(rows)
            columns = process.source.columns(positions, _STATS)
            for place, name in enumerate(events.name[rows].tolist()):
                stats = _texts_of(self._trace.names.stats(name))
                for stat in _STATS:
                    text = columns[stat].text(place)
                    stats[stat] = text or stats.get(stat, "")
                op_name = self._trace.names.display(name)
                identity = self._identity(op_name, stats)
                if identity is not None:
                    yield name, identity

    def _identity(self, name: str, stats: dict[str, str]) -> OpIdentity | None:
        op = stats["hlo_op"].rpartition("::")[2]
        path = stats["name"] or stats["tf_op"]
        shape = stats["shape"]
        if op:
            programs = hlo.modules(self._profile)
            module = hlo.find(programs, stats["program_id"], stats["hlo_module"])
            instruction = None
            if module is not None:
                instruction = module.instructions.get(op)
            if instruction is not None:
                path = instruction.provenance or path
                shape = instruction.shape or shape
        if path.endswith(_UNNAMED_PROGRAM):
            path = ""
        if not path and not shape:
            return None
        # A kernel of a library has a name of its own; the others are called after their op.
        is_numbered = not op or _plain(name) == _plain(op)
        shape_without_layout = _LAYOUT.sub("", shape)
        return OpIdentity(path, shape_without_layout, is_numbered)


def _plain(name: str) -> str:
    return name.removesuffix(_KERNEL_SUFFIX).replace(".", "_")


def _texts_of(stats: Sequence[Stat]) -> dict[str, str]:
    texts = {}
    for stat in stats:
        if stat.name in _STATS and not isinstance(stat.value, bytes):
            texts[stat.name] = str(stat.value)
    return texts


def _first_and_last(track: Track, names: Int64s, lo: int, hi: int) -> Int64s:
    """The rows of the first and of the last event of each name in a window."""
    events = track.events
    is_inside = touches(events.start, events.end, lo, hi)
    rows = np.flatnonzero(is_inside)
    is_named = np.isin(events.name[rows], names)
    rows = rows[is_named]
    if not len(rows):
        return rows
    name_of_row = events.name[rows]
    from_the_last = name_of_row[::-1]
    _, first = np.unique(name_of_row, return_index=True)
    _, from_the_end = np.unique(from_the_last, return_index=True)
    last = len(rows) - 1 - from_the_end
    first_and_last = np.concatenate([rows[first], rows[last]])
    return wire.distinct(first_and_last)
