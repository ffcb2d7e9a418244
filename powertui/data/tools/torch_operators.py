"""Operators of a PyTorch trace by the time of the kernels that they launched, and their categories,
as TraceLens makes these tables.

An operator's direct time is that of the kernels it launched itself; its subtree's also that of the
operators it called, so those do not add up. Collectives are no operator's work.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.columns import Column, text_column
from powertui.data.model import PS_PER_US, Floats, Int64s
from powertui.data.table import Place, Result, Table
from powertui.data.tools import torch_links, torch_work
from powertui.data.tools.registry import Question
from powertui.data.tools.torch_categories import call_category, category_of
from powertui.data.tools.torch_links import DeviceStreams, Links, covered_by
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


def ops_summary(question: Question) -> Result:
    """Operators that launched work, and their categories."""
    links = torch_links.torch_links(question.profile)
    launched: LaunchedWork | None = None
    notes: tuple[str, ...] = ()
    empty = torch_work.NO_PYTORCH
    if links is not None:
        launched = launched_work(links, question)
        empty = torch_work.NO_WORK
        notes = torch_work.unlinked_note(links, question)
    return Result(
        id="ops_summary",
        title="PyTorch operators",
        tables=(_ops(launched, empty, question), _categories(launched, empty)),
        notes=notes,
    )


@dataclass(frozen=True, eq=False)
class LaunchedWork:
    """Operators (or bare calls) that launched work, one row for each time that one ran."""

    links: Links
    at: Int64s  # into Host
    names: list[str]
    categories: list[str]
    direct: Floats  # µs
    subtree: Floats


def _launchers(links: Links) -> Int64s:
    """For each work of a device who launched it: the innermost operator but for `execute`, else the
    call itself; -1 for none.
    """
    host = links.host
    names = links.trace.names
    # TraceLens steps over an operator of this name.
    is_execute = np.zeros(len(names), np.bool_)
    for index in wire.distinct(host.name).tolist():
        is_execute[index] = names.full(index) == "execute"
    calls = links.device.call
    operator = host.operator_above(calls, is_execute[host.name])
    return np.where(operator >= 0, operator, calls)


def launched_work(links: Links, question: Question) -> LaunchedWork:
    device = links.device
    host = links.host
    names = links.trace.names
    has_call = device.call >= 0
    is_asked = torch_work.in_window(links, question, has_call)
    is_counted = is_asked & ~torch_work.communicates(links)
    rows = np.flatnonzero(is_counted)
    launchers = _launchers(links)[rows]
    at, launcher = np.unique(launchers, return_inverse=True)
    launcher = launcher.ravel()
    # Kernels of one operator may overlap on several streams: their union counts.
    direct = _covered_by(device, launcher, rows, len(at))
    holder, held = _work_below(links, at, rows)
    subtree = _covered_by(device, holder, held, len(at))
    launcher_names = []
    for index in host.name[at].tolist():
        launcher_names.append(names.full(index))
    categories: list[str] = []
    first_work = _first_work(device, rows, launcher, len(at))
    for row, name in enumerate(launcher_names):
        if host.operator[at[row]]:
            name_of_kernel = int(device.name[first_work[row]])
            kernel = names.full(name_of_kernel)
            categories.append(category_of(name, kernel))
        else:
            categories.append(call_category(name))
    return LaunchedWork(
        links=links,
        at=at,
        names=launcher_names,
        categories=categories,
        direct=direct,
        subtree=subtree,
    )


def _covered_by(device: DeviceStreams, key: Int64s, rows: Int64s, count: int) -> Floats:
    """For each of `count` keys how long at least one of these works ran."""
    return covered_by(key, device.start[rows], device.end[rows], count)


def _work_below(links: Links, launchers: Int64s, rows: Int64s) -> tuple[Int64s, Int64s]:
    """(launcher, work) of all work below each: of its own calls, and of the operators it called."""
    number_of_call = np.full(len(links.host), -1, np.int64)
    number_of_call[launchers] = np.arange(len(launchers))
    holders = [np.empty(0, np.int64)]
    works = [np.empty(0, np.int64)]
    call = links.device.call[rows]
    # One level up at a time; work leaves when nothing is around its call any more.
    while len(call):
        has_call = call >= 0
        call = call[has_call]
        rows = rows[has_call]
        launcher = number_of_call[call]
        is_launcher = launcher >= 0
        holders.append(launcher[is_launcher])
        works.append(rows[is_launcher])
        call = links.host.parent[call]
    return np.concatenate(holders), np.concatenate(works)


def _first_work(device: DeviceStreams, rows: Int64s, launcher: Int64s, count: int) -> Int64s:
    """The first work of each launcher."""
    first = np.zeros(count, np.int64)
    latest_first = np.lexsort((-device.start[rows], launcher))
    first[launcher[latest_first]] = rows[latest_first]  # what is written last stays
    return first


class _Sums(NamedTuple):
    """What rows of one text come to, those with most direct time first."""

    texts: list[str]
    row: Int64s  # the place of each given row's text before they were sorted
    order: Int64s
    occurrences: Int64s
    direct: Floats  # µs
    subtree: Floats
    share: Floats  # of all direct time


def _summed(launched: LaunchedWork | None, texts: list[str], places: dict[str, int]) -> _Sums:
    """The times of launchers by their texts, each of which has a place."""
    row = np.array([places[text] for text in texts], np.int64)
    size = len(places)
    count = np.bincount(row, minlength=size)
    direct: Floats = np.empty(0)
    subtree: Floats = np.empty(0)
    if launched is not None and places:
        direct = np.bincount(row, launched.direct, size).astype(np.float64)
        subtree = np.bincount(row, launched.subtree, size).astype(np.float64)
    order = np.argsort(-direct, kind="stable")
    distinct = list(places)
    return _Sums(
        texts=[distinct[place] for place in order.tolist()],
        row=row,
        order=order,
        occurrences=count[order],
        direct=direct[order],
        subtree=subtree[order],
        share=direct[order] / (direct.sum() or 1.0),
    )


def _ops(launched: LaunchedWork | None, empty: str, question: Question) -> Table:
    names = launched.names if launched is not None else []
    places: dict[str, int] = {}
    for name in names:
        places.setdefault(name, len(places))
    sums = _summed(launched, names, places)
    categories: dict[str, set[str]] = {}
    if launched is not None:
        for name, category in zip(names, launched.categories, strict=True):
            categories.setdefault(name, set()).add(category)
    category_lists = []
    for name in sums.texts:
        category_lists.append(", ".join(sorted(categories[name])))

    def time_column(id: str, label: str, us: Floats, unit: str, weight: int) -> Column:
        return Column(id, label, "duration", us * PS_PER_US, unit=unit, weight=weight)

    # TraceLens writes the times in µs and in ms.
    columns = (
        text_column("name", "operator", sums.texts, weight=9),
        time_column("total_direct_kernel_time_sum", "kernels", sums.direct, "us", 9),
        time_column("total_subtree_kernel_time_sum", "with children", sums.subtree, "us", 6),
        time_column("total_direct_kernel_time_ms", "kernels ms", sums.direct, "ms", 0),
        time_column("total_subtree_kernel_time_ms", "with children ms", sums.subtree, "ms", 0),
        Column("Count", "count", "integer", sums.occurrences, weight=7),
        text_column("Categories", "category", category_lists, weight=5),
        *_share_columns(sums),
    )

    def place(row: int) -> Place | None:
        if launched is None:
            return None
        is_of_name = sums.row == sums.order[row]
        of_name = np.flatnonzero(is_of_name)
        heaviest = of_name[int(np.argmax(launched.direct[of_name]))]
        caller = int(launched.at[heaviest])
        host_calls = launched.links.host
        line = int(host_calls.line[caller])
        event = int(host_calls.row[caller])
        return question.event_place(line, event)

    return Table(
        id="ops_summary",
        title="Operators that launched work",
        columns=columns,
        place=place,
        order=("total_direct_kernel_time_sum", True),
        empty=empty,
        key=("name",),
        noun="operator",
    )


def _share_columns(sums: _Sums) -> tuple[Column, Column]:
    so_far = np.cumsum(sums.share)
    return (
        Column("Percentage (%)", "share", "share", sums.share, unit="%", weight=8),
        Column("Cumulative Percentage (%)", "so far", "share", so_far, unit="%", weight=2),
    )


def _categories(launched: LaunchedWork | None, empty: str) -> Table:
    categories = launched.categories if launched is not None else []
    distinct = sorted(set(categories))
    places = {category: place for place, category in enumerate(distinct)}
    sums = _summed(launched, categories, places)
    direct_ps = sums.direct * PS_PER_US
    columns = (
        text_column("op category", "category", sums.texts, weight=9),
        Column("Count", "count", "integer", sums.occurrences, weight=7),
        Column(
            id="total_direct_kernel_time_ms",
            label="kernels",
            kind="duration",
            values=direct_ps,
            unit="ms",
            weight=9,
        ),
        *_share_columns(sums),
    )
    return Table(
        id="ops_summary_by_category",
        title="Their categories",
        columns=columns,
        empty=empty,
        noun="category",
    )
