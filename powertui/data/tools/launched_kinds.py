"""The kinds of kernels whose own names are silent: those of the operators that launched them.

`compute_cuda_kernel` says nothing; `aten::repeat_interleave`, which launched it, copies. This is
the one place that decides, for tables, legend and colors alike. A name has one kind: where
operators of several kinds launched kernels of one name, that whose kernels took most time.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui.data import category, kernel_names
from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.tools import op_types

# What a device does; the other kinds are work of a host.
_DEVICE_WORK = frozenset(
    (
        Category.MATMUL,
        Category.CONVOLUTION,
        Category.ELEMENTWISE,
        Category.REDUCTION,
        Category.NORMALIZATION,
        Category.MEMORY,
        Category.COMMUNICATION,
        Category.OPTIMIZER,
    )
)
_SILENT = frozenset((Category.OTHER.value, Category.RUNTIME.value, Category.HOST.value))
# Where XLA and TensorFlow write what an event of a device belongs to, the most exact first.
_STATS = ("tf_op", "hlo_category", "name", "hlo_op")
# Names whose kinds are looked up, of those with most time. Chosen, not measured.
_MAX_LOOKED_AT = 20_000
# Silent names that are looked at, from the one with most time on. Chosen, not measured.
_MAX_NAMES = 256
# Events of one name that are asked for their operator. Chosen, not measured.
_MAX_ASKED = 32

_known: weakref.WeakKeyDictionary[Trace, dict[int, Category]] = weakref.WeakKeyDictionary()


def launched_kinds(trace: Trace) -> Mapping[int, Category]:
    """By name: the kind of the operator that launched its kernels, where the name itself is silent.

    Found at the first question.
    """
    kinds = _known.get(trace)
    if kinds is None:
        silent = _silent_names(trace)
        kinds = {}
        if silent.any():
            find = _by_operators if trace.format == "kineto" else _by_stats
            kinds = find(trace, silent)
        _known[trace] = kinds
    return kinds


def kernel_kind(kernel: str, operator: str) -> Category:
    """The kind of a kernel's work, by its own name or, where that is silent, by its operator's."""
    kind = category.work_category(kernel)
    if kind.value not in _SILENT or not operator:
        return kind
    return _op_kind(operator) or kind


def operator_kind(name: str) -> Category | None:
    """The kind of work that an operator gives to a device; None where its name says nothing."""
    kind = category.work_category(name)
    if kind not in _DEVICE_WORK:
        word = kernel_names.kind_of_words(name.rpartition("::")[2])
        kind = Category(word) if word is not None else kind
    return kind if kind in _DEVICE_WORK else None


def _device_lines(trace: Trace) -> Iterator[tuple[Process, Track]]:
    for process, track in trace.tracks():
        if process.kind is ProcessKind.DEVICE and not track.derived and len(track.events):
            yield process, track


def _silent_names(trace: Trace) -> Bools:
    """The names of a device's events that say nothing of their work: those that took most time."""
    silent = np.zeros(len(trace.names), np.bool_)
    time = np.zeros(len(trace.names))
    for _, track in _device_lines(trace):
        events = track.events
        # A pass over all names for each of ten thousand short lines would never end.
        if len(events) < len(time) // 8:
            np.add.at(time, events.name, events.duration)
        else:
            time += np.bincount(events.name, events.duration, len(time))
    used = np.flatnonzero(time)
    if not len(used):
        return silent
    if len(used) > _MAX_LOOKED_AT:
        used = used[np.argpartition(-time[used], _MAX_LOOKED_AT)[:_MAX_LOOKED_AT]]
    codes, types = op_types.op_types(trace.names, used)
    says_nothing = np.array([kind in _SILENT for kind in types], np.bool_)
    rows = used[says_nothing[codes]]
    silent[rows[np.argsort(-time[rows], kind="stable")[:_MAX_NAMES]]] = True
    return silent


def _by_operators(trace: Trace, silent: Bools) -> dict[int, Category]:
    """PyTorch: the innermost operator around the launching call whose name says something."""
    from powertui.data.tools import torch_links  # no kernel is silent in most traces

    links = torch_links.linked(trace)
    host, device = links.host, links.device
    rows = np.flatnonzero(silent[device.name] & (device.call >= 0))
    if not len(rows):
        return {}
    kinds = {name: operator_kind(trace.names.full(name)) for name in np.unique(host.name).tolist()}
    says_nothing = np.zeros(len(trace.names), np.bool_)
    says_nothing[[name for name, kind in kinds.items() if kind is None]] = True
    operator = host.operator_above(device.call[rows], says_nothing[host.name])
    rows, operator = rows[operator >= 0], operator[operator >= 0]
    pairs = np.stack((device.name[rows], host.name[operator]))
    each, which = np.unique(pairs, axis=1, return_inverse=True)
    times = np.bincount(which.ravel(), device.duration[rows], each.shape[1])
    votes: dict[int, dict[Category, float]] = {}
    for name, launcher, ps in zip(*each.tolist(), times.tolist(), strict=True):
        kind = kinds[launcher]
        if kind is not None:
            by_kind = votes.setdefault(name, {})
            by_kind[kind] = by_kind.get(kind, 0) + ps
    return _elected(votes)


def _by_stats(trace: Trace, silent: Bools) -> dict[int, Category]:
    """XLA and TensorFlow: the op that the collector wrote beside the event."""
    votes: dict[int, dict[Category, float]] = {}
    for process, track in _device_lines(trace):
        rows = _few_of_each(track, silent)
        if not len(rows):
            continue
        columns = process.source.columns(track.events.positions(rows), _STATS)
        texts = [columns[stat].texts for stat in _STATS]
        for at, row in enumerate(rows.tolist()):
            name = int(track.events.name[row])
            written = [column[at] if column is not None else None for column in texts]
            kind = _first_kind([*written, *_name_stats(trace, name)])
            if kind is not None:
                by_kind = votes.setdefault(name, {})
                by_kind[kind] = by_kind.get(kind, 0) + int(track.events.duration[row])
    return _elected(votes)


def _few_of_each(track: Track, silent: Bools) -> Int64s:
    """Rows of a line with silent names: of each name at most so many, from its first on."""
    rows = np.flatnonzero(silent[track.events.name])
    name = track.events.name[rows]
    order = np.argsort(name, kind="stable")
    first = np.searchsorted(name[order], name[order], side="left")
    return np.sort(rows[order[np.arange(len(rows)) - first < _MAX_ASKED]])


def _name_stats(trace: Trace, name: int) -> list[str]:
    stats = {stat.name: str(stat.value) for stat in trace.names.stats(name)}
    return [stats[stat] for stat in _STATS if stat in stats]


def _first_kind(texts: Sequence[str | None]) -> Category | None:
    for text in texts:
        kind = _op_kind(text) if text else None
        if kind is not None:
            return kind
    return None


def _op_kind(text: str) -> Category | None:
    """Of "jit(f)/jit(main)/dot_general" the end says what is done."""
    return operator_kind(text if category.op_type(text) else text.rstrip(":").rpartition("/")[2])


def _elected(votes: dict[int, dict[Category, float]]) -> dict[int, Category]:
    return {
        name: max(by_kind, key=lambda kind: (by_kind[kind], kind.value))
        for name, by_kind in votes.items()
    }
