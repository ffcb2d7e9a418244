"""What the launches of a program's functions carry: how much of the host's XLA ops each runs, and
which of them trains.

A function that is launched once in ten steps may block for longer than all of them: its own time
says little. What XLA ran for it does, and so do the gradients in its program: the HLO of a training
step holds transposed derivatives, the graph of one holds ops of a gradient tape.
"""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from powertui.data import texts
from powertui.data.model import Bools, Int64s, ProcessKind, Trace
from powertui.data.run.device_intervals import host_lines
from powertui.data.run.marks import Marks, carried, rows_named

# Ops of one line that are looked at: evenly spread, of longer lines. Chosen, not measured.
_MAX_OPS = 20_000
_CALL = re.compile(r"^(?:PjitFunction\((?P<called>.+)\)|(?:jit|pjit|pmap|xla)_(?P<module>\w+))$")
_NOT_WORD = re.compile(r"\W+")
_GRADIENT_IN_HLO = b"transpose(jvp"
_GRADIENT_OPS = (b"gradient_tape/", b"backprop", b"resourceapply", b"assignsubvariable")
# Of a function's launches: in so many of them gradients were computed. Chosen, not measured.
_MIN_TRAINING_LAUNCHES = 0.5


def function_key(name: str) -> str:
    """What a launch and the program that it runs have in common: "step" of `PjitFunction(step)` and
    of `jit_step`; "" for what launches no XLA program.
    """
    match = _CALL.match(name)
    if match is None:
        return ""
    return _NOT_WORD.sub("_", match["called"] or match["module"]).strip("_")


def shares_of_functions(trace: Trace) -> dict[str, float]:
    """The share of XLA's ops on the host that ran for each function; empty without such ops."""
    lengths: dict[str, float] = defaultdict(float)
    for process, lines in host_lines(trace):
        names = carried(trace, process, [track for _, track in lines], ("hlo_op",))["hlo_op"]
        for _, track in lines:
            rows = rows_named(track.events.name, names)
            if not len(rows):
                continue
            rows = rows[:: len(rows) // _MAX_OPS + 1]
            column = process.source.columns(track.events.positions(rows), ("hlo_module",))
            modules = column["hlo_module"]
            for place, ps in enumerate(track.events.duration[rows].tolist()):
                lengths[function_key(modules.text(place) or "")] += ps
    total = sum(lengths.values())
    return {key: ps / total for key, ps in lengths.items() if key} if total else {}


def training_functions(trace: Trace) -> frozenset[str]:
    """The functions whose XLA program computes gradients."""
    out = set()
    for process in trace.processes:
        if not process.name.startswith("/host:metadata"):
            continue
        for index in getattr(process.source, "names", ()):
            for stat in trace.names.stats(index):
                if isinstance(stat.value, bytes) and _GRADIENT_IN_HLO in stat.value:
                    out.add(function_key(trace.names.full(index).partition("(")[0]))
    return frozenset(out)


def gradient_moments(trace: Trace) -> Int64s:
    """When TensorFlow's ops that compute or apply gradients began on the host, ascending."""
    names = _gradient_names(trace)
    parts = [np.empty(0, np.int64)]
    for process, track in trace.tracks():
        if process.kind is ProcessKind.HOST and not track.derived and len(track.events):
            parts.append(track.events.start[rows_named(track.events.name, names)])
    return np.sort(np.concatenate(parts))


def trains(launches: Marks, moments: Int64s) -> bool:
    """Whether gradients were computed in most of these launches."""
    first = moments.searchsorted(launches.start)
    last = moments.searchsorted(launches.start + launches.duration)
    return bool((last > first).mean() >= _MIN_TRAINING_LAUNCHES)


def _gradient_names(trace: Trace) -> Bools:
    out = np.zeros(len(trace.names), np.bool_)
    for at in range(0, len(trace.names), texts.BATCH):
        some = np.arange(at, min(at + texts.BATCH, len(trace.names)))
        low = trace.names.texts(some).lower()
        for part in _GRADIENT_OPS:
            out[some] |= low.contain(part)
    return out
