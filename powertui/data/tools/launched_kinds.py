"""The kinds of kernels whose own names are silent: those of the operators that launched them.

`compute_cuda_kernel` says nothing; `aten::repeat_interleave`, which launched it, copies. This is
the one place that decides, for tables, legend and colors alike. A name has one kind: where
operators of several kinds launched kernels of one name, that whose kernels took most time.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui.data import category, kernel_names, wire
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

_kinds_by_trace: weakref.WeakKeyDictionary[Trace, dict[int, Category]] = weakref.WeakKeyDictionary()


class _Votes:
    """For each silent name the time of its kernels, by the kind of what launched them."""

    def __init__(self) -> None:
        self._times: dict[int, dict[Category, float]] = {}

    def add(self, name: int, kind: Category, ps: float) -> None:
        by_kind = self._times.setdefault(name, {})
        by_kind[kind] = by_kind.get(kind, 0) + ps

    def elected(self) -> dict[int, Category]:
        """The kind with most time of each name."""
        elected: dict[int, Category] = {}
        for name, by_kind in self._times.items():
            elected[name] = max(by_kind, key=lambda kind: (by_kind[kind], kind.value))
        return elected


def launched_kinds(trace: Trace) -> Mapping[int, Category]:
    """By name: the kind of the operator that launched its kernels, where the name itself is silent.

    Found at the first question.
    """
    kinds = _kinds_by_trace.get(trace)
    if kinds is None:
        kinds = _find_kinds(trace)
        _kinds_by_trace[trace] = kinds
    return kinds


def _find_kinds(trace: Trace) -> dict[int, Category]:
    silent = _silent_names(trace)
    if not silent.any():
        return {}
    if trace.format == "kineto":
        votes = _by_operators(trace, silent)
    else:
        votes = _by_stats(trace, silent)
    return votes.elected()


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
        own_name = name.rpartition("::")[2]
        word = kernel_names.kind_of_words(own_name)
        if word is not None:
            kind = Category(word)
        else:
            kind = kind
    return kind if kind in _DEVICE_WORK else None


def _device_lines(trace: Trace) -> Iterator[tuple[Process, Track]]:
    for process, track in trace.tracks():
        if process.kind is not ProcessKind.DEVICE or track.derived:
            continue
        if len(track.events):
            yield process, track


def _silent_names(trace: Trace) -> Bools:
    """The names of a device's events that say nothing of their work: those that took most time."""
    size = len(trace.names)
    silent = np.zeros(size, np.bool_)
    time_by_name = np.zeros(size)
    for _, track in _device_lines(trace):
        events = track.events
        # A pass over all names for each of ten thousand short lines would never end.
        if len(events) < size // 8:
            np.add.at(time_by_name, events.name, events.duration)
        else:
            time_by_name += np.bincount(events.name, events.duration, size)
    used = np.flatnonzero(time_by_name)
    if not len(used):
        return silent
    if len(used) > _MAX_LOOKED_AT:
        most_time_first = np.argpartition(-time_by_name[used], _MAX_LOOKED_AT)
        looked_at = most_time_first[:_MAX_LOOKED_AT]
        used = used[looked_at]
    codes, types = op_types.op_types(trace.names, used)
    silent_types = [kind in _SILENT for kind in types]
    type_is_silent = np.array(silent_types, np.bool_)
    rows = used[type_is_silent[codes]]
    most_time_first = np.argsort(-time_by_name[rows], kind="stable")
    looked_at = most_time_first[:_MAX_NAMES]
    silent[rows[looked_at]] = True
    return silent


def _by_operators(trace: Trace, silent: Bools) -> _Votes:
    """PyTorch: the innermost operator around the launching call whose name says something."""
    from powertui.data.tools import torch_links  # no kernel is silent in most traces

    votes = _Votes()
    links = torch_links.linked(trace)
    host = links.host
    device = links.device
    is_launched = device.call >= 0
    rows = np.flatnonzero(silent[device.name] & is_launched)
    if not len(rows):
        return votes
    kinds: dict[int, Category | None] = {}
    says_nothing = np.zeros(len(trace.names), np.bool_)
    for name in wire.distinct(host.name).tolist():
        kind = operator_kind(trace.names.full(name))
        kinds[name] = kind
        says_nothing[name] = kind is None
    calls = device.call[rows]
    operator = host.operator_above(calls, says_nothing[host.name])
    has_operator = operator >= 0
    rows = rows[has_operator]
    operator = operator[has_operator]
    # A name and its launcher, each pair once: few of the many kernels.
    name_of_row = device.name[rows]
    launcher_of_row = host.name[operator]
    pair_of_row = np.stack((name_of_row, launcher_of_row))
    pairs, number = np.unique(pair_of_row, axis=1, return_inverse=True)
    number = number.ravel()
    pair_count = pairs.shape[1]
    times = np.bincount(number, device.duration[rows], pair_count)
    names, launchers = pairs.tolist()
    for name, launcher, ps in zip(names, launchers, times.tolist(), strict=True):
        kind = kinds[launcher]
        if kind is not None:
            votes.add(name, kind, ps)
    return votes


def _by_stats(trace: Trace, silent: Bools) -> _Votes:
    """XLA and TensorFlow: the op that the collector wrote beside the event."""
    votes = _Votes()
    for process, track in _device_lines(trace):
        rows = _few_of_each(track, silent)
        if not len(rows):
            continue
        positions = track.events.positions(rows)
        columns = process.source.columns(positions, _STATS)
        stat_texts = []
        for stat in _STATS:
            texts = columns[stat].texts
            if texts is not None:
                stat_texts.append(texts)
        for place, row in enumerate(rows.tolist()):
            name = int(track.events.name[row])
            of_event = [texts[place] for texts in stat_texts]
            of_name = _name_stats(trace, name)
            kind = _first_kind([*of_event, *of_name])
            if kind is not None:
                ps = int(track.events.duration[row])
                votes.add(name, kind, ps)
    return votes


def _few_of_each(track: Track, silent: Bools) -> Int64s:
    """Rows of a line with silent names: of each name at most so many, from its first on."""
    rows = np.flatnonzero(silent[track.events.name])
    name = track.events.name[rows]
    by_name = np.argsort(name, kind="stable")
    ordered = name[by_name]
    first_of_name = np.searchsorted(ordered, ordered, side="left")
    number_in_name = np.arange(len(rows)) - first_of_name
    is_asked = number_in_name < _MAX_ASKED
    return np.sort(rows[by_name[is_asked]])


def _name_stats(trace: Trace, name: int) -> list[str]:
    stats = {}
    for stat in trace.names.stats(name):
        stats[stat.name] = str(stat.value)
    return [stats[stat] for stat in _STATS if stat in stats]


def _first_kind(texts: Sequence[str | None]) -> Category | None:
    for text in texts:
        kind = _op_kind(text) if text else None
        if kind is not None:
            return kind
    return None


def _op_kind(text: str) -> Category | None:
    """Of "jit(f)/jit(main)/dot_general" the end says what is done."""
    if category.op_type(text):
        return operator_kind(text)
    return operator_kind(text.rstrip(":").rpartition("/")[2])
