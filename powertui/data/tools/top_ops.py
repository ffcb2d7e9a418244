"""The ops that took most time: of the devices, by the framework's op where kernels say which; else
of the host's threads.

And what both sides come to: which part of the ops ran where, and how much of their time eagerly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from powertui.data import category
from powertui.data.asked import Compat
from powertui.data.model import PS_PER_S
from powertui.data.opened import Profile
from powertui.data.tools import (
    device_facts,
    device_ops,
    event_types,
    host_ops,
    op_stats,
    tensor_cores,
)
from powertui.data.tools.device_ops import DeviceOps
from powertui.data.tools.host_ops import HostOps
from powertui.data.tools.replicas import SCOPE, without_replica
from powertui.named_tuples import NamedTuple

MAX_SHOWN_OPS = 10  # of the overview; op_stats has all
_MAX_READ_NAMES = 400  # names, where nothing says which are ops


Parts = Sequence[tuple[Profile, int, int]]  # (profile, window) of each host that is asked


class Top(NamedTuple):
    """One op, and its part of all ops' time."""

    name: str
    type: str
    occurrences: int
    self_time: int  # ps
    share: float
    category: str
    eligible: bool = False  # tensor cores could do it
    tensor_core: bool = False  # and they did
    flops: float | None = None  # FLOP/s
    replicas: int = 1  # whose copies of the op were put together


class Sides(NamedTuple):
    """Parts from 0 to 1; None where no op ran on that side."""

    host: float | None  # of all runs of ops
    device: float | None
    host_eager: float | None  # of the ops' own time on that side
    device_eager: float | None


class _Sum(NamedTuple):
    name: str
    type: str
    occurrences: int
    self_time: int
    eager: bool
    tensor_core: int = 0
    flops: float | None = None


def on_devices(profile: Profile, lo: int, hi: int, compat: Compat) -> DeviceOps:
    """The devices' ops. Those of the whole profile are kept: several pages ask."""
    if not _is_whole(profile, lo, hi):
        return device_ops.device_ops(profile, lo, hi, compat)
    return profile.cached(
        ("device ops", compat), lambda: device_ops.device_ops(profile, lo, hi, compat)
    )


def _is_whole(profile: Profile, lo: int, hi: int) -> bool:
    first, last = profile.trace.span
    return lo <= first and hi > last


class _HostTops(Sequence[Top]):
    """All ops of the hosts by time, those of equal time by name.

    Each is made when it is looked at: a program may have a million, and a page shows ten.
    """

    def __init__(self, ops: HostOps) -> None:
        ran = np.flatnonzero(ops.occurrences > 0)
        by_time = np.argsort(-ops.self_time[ran], kind="stable")
        self._ops = ops
        self._number = ran[by_time]
        self._minus_time = -ops.self_time[self._number]  # ascending
        self._total_time = max(1, -sum(self._minus_time.tolist()))
        self._by_name: dict[int, list[int]] = {}  # the ops of equal time from a place on

    @property
    def have_replicas(self) -> bool:
        """Whether any op may be the copy of another one."""
        return any(SCOPE.decode() in name for name in self._ops.table.names)

    def __len__(self) -> int:
        return len(self._number)

    @overload
    def __getitem__(self, place: int) -> Top: ...
    @overload
    def __getitem__(self, place: slice) -> list[Top]: ...
    def __getitem__(self, place: int | slice) -> Top | list[Top]:
        places = range(len(self))
        if isinstance(place, slice):
            return [self._top(each) for each in places[place]]
        return self._top(places[place])

    def _top(self, place: int) -> Top:
        time = self._minus_time[place]
        first = int(self._minus_time.searchsorted(time))
        if first not in self._by_name:
            after_last = int(self._minus_time.searchsorted(time, side="right"))
            numbers = self._number[first:after_last].tolist()
            names = self._ops.table.names
            self._by_name[first] = sorted(numbers, key=names.__getitem__)
        number = self._by_name[first][place - first]
        return _top(_host_sum(self._ops, number), self._total_time)


def top_ops(parts: Parts, compat: Compat = "corrected") -> Sequence[Top]:
    """All ops of a window by time, of one host or of several: of devices where there are some, else
    of the hosts.
    """
    if any(device_facts.has_device(profile.trace) for profile, _, _ in parts):
        sums = _of_devices(_devices(parts, compat), compat)
    else:
        host_tops = _HostTops(_hosts(parts, compat))
        if len(host_tops):
            return host_tops
        sums = []
        for part in parts:
            sums += _unnamed(*part)
    total_time = max(1, sum(op_sum.self_time for op_sum in sums))
    by_time = sorted(sums, key=lambda op_sum: (-op_sum.self_time, op_sum.name))
    return [_top(op_sum, total_time) for op_sum in by_time]


def _top(op_sum: _Sum, total_time: int) -> Top:
    flops = None
    if op_sum.flops and op_sum.self_time:
        flops = op_sum.flops / (op_sum.self_time / PS_PER_S)
    return Top(
        name=op_sum.name,
        type=op_sum.type,
        occurrences=op_sum.occurrences,
        self_time=op_sum.self_time,
        share=op_sum.self_time / total_time,
        category=_kind_of(op_sum),
        eligible=tensor_cores.eligible(op_sum.name, "", "", named=True),
        tensor_core=op_sum.tensor_core > 0,
        flops=flops,
    )


def of_all_replicas(tops: Sequence[Top]) -> Sequence[Top]:
    """The same ops by time, the copies of each on several replicas put together."""
    if isinstance(tops, _HostTops) and not tops.have_replicas:
        return tops
    copies: dict[tuple[str, str], list[Top]] = {}
    for top in tops:
        key = (without_replica(top.name), top.type)
        copies.setdefault(key, []).append(top)
    if len(copies) == len(tops):
        return tops
    together = []
    for (name, _), several in copies.items():
        together.append(_together(name, several))
    return sorted(together, key=lambda op: (-op.self_time, op.name))


def _together(name: str, copies: list[Top]) -> Top:
    if len(copies) == 1:
        return copies[0]
    rates = [(copy.flops, copy.self_time) for copy in copies if copy.flops is not None]
    rated_ps = sum(self_time for _, self_time in rates)
    return copies[0]._replace(
        name=name,
        occurrences=sum(copy.occurrences for copy in copies),
        self_time=sum(copy.self_time for copy in copies),
        share=sum(copy.share for copy in copies),
        tensor_core=any(copy.tensor_core for copy in copies),
        flops=sum(rate * ps for rate, ps in rates) / rated_ps if rated_ps else None,
        replicas=len(copies),
    )


def sides(parts: Parts, compat: Compat = "corrected") -> Sides:
    """How the ops' runs part into host and devices, and how much of their time was eager."""
    host = _hosts(parts, compat)
    device = _of_devices(_devices(parts, compat), compat)
    host_runs = int(host.occurrences.sum())
    device_runs = sum(op_sum.occurrences for op_sum in device)
    all_runs = host_runs + device_runs
    return Sides(
        host=host_runs / all_runs if all_runs else None,
        device=device_runs / all_runs if all_runs else None,
        host_eager=_host_eager_share(host),
        device_eager=_eager_share(device),
    )


def _eager_share(sums: list[_Sum]) -> float | None:
    """The part of the ops' own time that ran eagerly; None without any."""
    total = sum(op_sum.self_time for op_sum in sums)
    eager = sum(op_sum.self_time for op_sum in sums if op_sum.eager)
    return eager / total if total else None


def _host_eager_share(ops: HostOps) -> float | None:
    ran = ops.occurrences > 0
    total = sum(ops.self_time[ran].tolist())
    eager = sum(ops.self_time[ran & ops.eager].tolist())
    return eager / total if total else None


_KINDS = frozenset(kind.value for kind in category.Category)


def _kind_of(op_sum: _Sum) -> str:
    """The kind of work of an op: as its type says where that is one of ours (PyTorch's operators),
    else by its name.
    """
    if op_sum.type in _KINDS:
        return op_sum.type
    if op_sum.type:
        name = f"{op_sum.name}:{op_sum.type}"
    else:
        name = op_sum.name
    return category.work_category(name).value


def _devices(parts: Parts, compat: Compat) -> DeviceOps:
    return device_ops.merged([on_devices(*part, compat) for part in parts])


def _hosts(parts: Parts, compat: Compat) -> HostOps:
    return host_ops.merged([host_ops.asked(*part, compat) for part in parts])


def _host_sum(ops: HostOps, number: int) -> _Sum:
    op = ops.table[number]
    return _Sum(
        name=op.name,
        type=op.type,
        occurrences=int(ops.occurrences[number]),
        self_time=int(ops.self_time[number]),
        eager=bool(ops.eager[number]),
    )


def _unnamed(profile: Profile, lo: int, hi: int) -> Iterator[_Sum]:
    """Of a program that names no op, whatever ran but Python's frames and waiting."""
    stats = op_stats.op_stats(profile.trace, lo, hi)
    # A program may have a million names: only the heaviest can be among the first ten.
    for row in stats.order("self")[:_MAX_READ_NAMES].tolist():
        stat = stats[row]
        if not event_types.waits(stat.full) and stat.self_time > 0:
            yield _Sum(
                name=stat.name,
                type=stat.type,
                occurrences=stat.count,
                self_time=stat.self_time,
                eager=False,
            )


def _of_devices(ops: DeviceOps, compat: Compat) -> list[_Sum]:
    """By the framework's op; of its kernels' counts the largest, as TensorBoard has it."""
    sums: dict[str, _Sum] = {}
    for op in ops.ops:
        if op.framework is not None:
            name = op.framework.name
            kind = op.framework.type
        else:
            name = op.name
            kind = "Unknown" if compat == "xprof" else op.category
        last = sums.get(
            name,
            _Sum(
                name=name,
                type=kind,
                occurrences=0,
                self_time=0,
                eager=False,
            ),
        )
        # Kernels without a known cost add nothing to it.
        if last.flops is None:
            flops = op.flops
        else:
            flops = last.flops + (op.flops or 0.0)
        sums[name] = _Sum(
            name=name,
            type=kind,
            occurrences=max(last.occurrences, op.occurrences),
            self_time=last.self_time + op.self_time,
            eager=last.eager or op.eager,
            tensor_core=last.tensor_core + op.tensor_core_time,
            flops=flops,
        )
    return list(sums.values())
