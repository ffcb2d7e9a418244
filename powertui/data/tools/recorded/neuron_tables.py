"""AWS Neuron's tables of operators: `neuron_framework_op.json` and `neuron_hlo_op.json`.

    {"ops": [{…}, …], "total_time": ns}

Amazon documents the columns of its page (Op Name, Occurrences, Neuron Device, NeuronCore, Time
(ns), Time %) and not the names of the fields, and no recorded file lies here. A field is therefore
known by its words, in any spelling; a table without names or times is refused.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from powertui.data.columns import Column, optional, text_column
from powertui.data.model import PS_PER_NS, PS_PER_US
from powertui.data.table import Fact, Table
from powertui.data.tools.recorded.documents import Document
from powertui.data.tools.recorded.pages import RecordedContent
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.value_types import dataclass

# Which ops a table lists, by the suffix of its file.
VIEWS = {"neuron_framework_op.json": "framework", "neuron_hlo_op.json": "HLO"}

_NAMES = ("opname", "name", "op", "operator", "operatorname", "hloopname", "frameworkopname")
_COUNTS = ("occurrences", "numoccurrences", "count", "calls")
_DEVICES = ("neurondevice", "neurondeviceid", "device", "deviceid")
_CORES = ("neuroncore", "neuroncoreid", "core", "coreid", "ncidx")
_SHARES = ("timepercent", "percent", "percentage", "timepercentage", "pct", "timepct")
_FUSED = ("fusedops", "fused", "fusedoperators", "ops", "children", "operators")
# Words of a time → ps in one of its unit; without a unit it is ns, as the page's column.
_TIMES = {
    "timens": PS_PER_NS,
    "durationns": PS_PER_NS,
    "totaltimens": PS_PER_NS,
    "timeus": PS_PER_US,
    "durationus": PS_PER_US,
    "timems": 1000 * PS_PER_US,
    "time": PS_PER_NS,
    "duration": PS_PER_NS,
    "totaltime": PS_PER_NS,
}
_MAX_PS = 1 << 62
_MAX_NAMED_FIELDS = 8  # in the sentence that refuses a table
_HINT = "Its operator timeline opens: neuron_op_timeline.json. The vendor's tool shows the table."


@dataclass(frozen=True)
class NeuronOp:
    """One row: an operator on one core. None: the file does not say."""

    name: str
    count: int | None
    device: str
    core: str
    time: int | None  # ps
    share: float | None  # 0 to 1
    fused: tuple[NeuronOp, ...] = ()

    @property
    def place(self) -> str:
        """Where it ran, in words."""
        return " ".join(part for part in (self.device, self.core) if part)


@dataclass(frozen=True, eq=False)
class NeuronOps:
    """A table of operators."""

    view: str  # "framework", "HLO"
    ops: tuple[NeuronOp, ...]
    total: int | None  # ps; of the whole execution, where the file says so
    unusable: int = 0  # records without a name or a time


def read_ops(document: Document, view: str, path: str) -> NeuronOps:
    """The operators of a document. Raises `UnreadableFile` where it lacks what a table needs."""
    if isinstance(document, dict):
        members = document
    else:
        members = {"ops": document}
    records = members.get("ops")
    if not isinstance(records, list):
        names = _listed(str(name) for name in members)
        raise UnreadableFile(
            path, f"has no list `ops`, which a table of ops has: {names}", hint=_HINT
        )
    fields = [_by_words(record) for record in records if isinstance(record, dict)]
    ops = [_op(record) for record in fields]
    usable_ops = []
    for op in ops:
        if op.name and op.time is not None:
            usable_ops.append(op)
    usable = tuple(usable_ops)
    if records and not usable:
        first_record = records[0] if fields else ()
        named = _listed(str(name) for name in first_record)
        if any(op.name for op in ops):
            lacks = "a time"
        else:
            lacks = "a name"
        raise UnreadableFile(
            path, f"is a table of ops in which no row has {lacks}; its fields: {named}", hint=_HINT
        )
    total = _time(_by_words(members))
    return NeuronOps(
        view=view,
        ops=usable,
        total=total,
        unusable=len(records) - len(usable),
    )


def _listed(names: Iterable[str]) -> str:
    first_names = itertools.islice(names, _MAX_NAMED_FIELDS)
    shown = [plain(name, 40) for name in first_names]
    return ", ".join(shown) or "none"


def _by_words(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record by its fields' words: "Time (ns)", `time_ns` and `timeNs` are one."""
    by_words = {}
    for name, value in record.items():
        spelled = str(name).replace("%", "percent").lower()
        letters = re.sub(r"[^a-z0-9]", "", spelled)
        by_words[letters] = value
    return by_words


def _op(record: Mapping[str, Any]) -> NeuronOp:
    lists = (record[name] for name in _FUSED if isinstance(record.get(name), list))
    fused: list[Any] = next(lists, [])
    return NeuronOp(
        name=_word(record, _NAMES),
        count=_count(record),
        device=_numbered(_word(record, _DEVICES), "device"),
        core=_numbered(_word(record, _CORES), "core"),
        time=_time(record),
        share=_share(record),
        fused=tuple(_fused_op(part) for part in fused),
    )


def _fused_op(part: Any) -> NeuronOp:
    """An operator inside a fused one: often a name alone."""
    if isinstance(part, dict):
        return _op(_by_words(part))
    return NeuronOp(
        name=str(part),
        count=None,
        device="",
        core="",
        time=None,
        share=None,
    )


def _word(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = record.get(name)
        is_word = isinstance(value, str | int) and not isinstance(value, bool)
        if is_word and value != "":
            return str(value)
    return ""


def _numbered(word: str, noun: str) -> str:
    """A bare number with what it numbers."""
    if word.isdecimal():
        return f"{noun} {word}"
    return word


def _number(value: Any) -> float | None:
    """A number that is not negative, also as text ("12", "3.5 %")."""
    if isinstance(value, str):
        stripped = value.strip().removesuffix("%")
        value = stripped.replace(",", "").strip()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if math.isfinite(number) and number >= 0:
        return number
    return None


def _count(record: Mapping[str, Any]) -> int | None:
    for name in _COUNTS:
        number = _number(record.get(name))
        if number is not None and number < 2**62:
            return int(number)
    return None


def _time(record: Mapping[str, Any]) -> int | None:
    for name, unit_ps in _TIMES.items():
        number = _number(record.get(name))
        if number is None:
            continue
        time_ps = number * unit_ps
        if time_ps < _MAX_PS:
            return round(time_ps)
    return None


def _share(record: Mapping[str, Any]) -> float | None:
    for name in _SHARES:
        number = _number(record.get(name))
        if number is not None:
            return number / 100
    return None


# ── as tables ────────────────────────────────────────────────────────────────────────────────────


def op_content(table: NeuronOps) -> RecordedContent:
    """A table as a page shows it."""
    return RecordedContent(_op_tables(table), _op_facts(table), _op_notes(table))


def _op_tables(table: NeuronOps) -> tuple[Table, ...]:
    """The ops of a table, most time first, with what is fused in them; then each core's share."""
    ordered = sorted(table.ops, key=_most_time_first)
    whole = _whole(table)
    rows: list[NeuronOp] = []
    within: list[int] = []
    for op in ordered:
        parent = len(rows)
        rows.append(op)
        within.append(-1)
        for part in op.fused:
            rows.append(part)
            within.append(parent)
    owners = []
    shares = []
    for row, owner in zip(rows, within, strict=True):
        is_top = owner < 0
        owners.append("" if is_top else rows[owner].name)
        shares.append(_share_of(row, whole, is_top=is_top))
    columns = (
        text_column("op", "op", [row.name for row in rows], weight=9),
        text_column("fused_in", "fused in", owners, weight=4),
        optional("occurrences", "count", "integer", [row.count for row in rows], weight=6),
        text_column("device", "device", [row.device for row in rows], weight=5),
        text_column("core", "core", [row.core for row in rows], weight=7),
        optional("time_s", "time", "duration", [row.time for row in rows], weight=9),
        optional("share", "share", "share", shares, weight=8),
    )
    view = table.view
    capitalized = view[0].upper() + view[1:]
    has_cores = any(row.core for row in rows)
    has_fused = any(op.fused for op in ordered)
    ops = Table(
        id=f"{view.lower()}_ops",
        title=f"{capitalized} ops on NeuronCores, most time first",
        columns=tuple(column for column in columns if not _is_empty(column)),
        order=("time_s", True),
        empty="The table lists no op.",
        key=("op", "core") if has_cores else ("op",),
        noun="op",
        within=np.array(within, np.int64) if has_fused else None,
        counts_outer=True,  # a fused op is an op, too
    )
    return (ops, *_by_core(table, whole))


def _most_time_first(op: NeuronOp) -> tuple[int, str]:
    return -(op.time or 0), op.name


def _is_empty(column: Column) -> bool:
    """Whether a column of a table with rows says nothing."""
    if column.kind == "text":
        return bool(len(column)) and not any(column.values)
    return bool(len(column)) and column.unknown


def _whole(table: NeuronOps) -> int:
    """What shares are of, ps: the file's own total, else the sum of the ops."""
    return table.total or sum(op.time or 0 for op in table.ops)


def _share_of(op: NeuronOp, whole: int, *, is_top: bool) -> float | None:
    """As the file says, else its time of the whole; of fused ops only as the file says."""
    if op.share is not None or not is_top:
        return op.share
    if whole:
        return (op.time or 0) / whole
    return None


def _by_core(table: NeuronOps, whole: int) -> tuple[Table, ...]:
    """The time of each core, where the file names several places."""
    times: dict[tuple[str, str], int] = defaultdict(int)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for op in table.ops:
        key = (op.device, op.core)
        times[key] += op.time or 0
        counts[key] += 1
    if not any(any(key) for key in times):
        return ()
    keys = sorted(times, key=lambda key: -times[key])
    op_counts = [counts[key] for key in keys]
    times_ps = [times[key] for key in keys]
    shares = [time / whole if whole else None for time in times_ps]
    columns = (
        text_column("device", "device", [device for device, _ in keys], weight=8),
        text_column("core", "core", [core for _, core in keys], weight=9),
        optional("ops", "ops", "integer", op_counts, weight=5),
        optional("time_s", "time", "duration", times_ps, weight=9),
        optional("share", "share", "share", shares, weight=8),
    )
    by_core = Table(
        id=f"{table.view.lower()}_cores",
        title=f"Time by core ({table.view} ops)",
        columns=tuple(column for column in columns if not _is_empty(column)),
        noun="core",
    )
    return (by_core,)


def _op_facts(table: NeuronOps) -> tuple[Fact, ...]:
    """What all ops of a table come to."""
    view = table.view
    id = view.lower()
    time_ps = sum(op.time or 0 for op in table.ops)
    facts = [Fact(f"{id}_time", f"time of {view} ops", time_ps, "duration")]
    if table.total is not None:
        label = f"total time recorded ({view})"
        total = Fact(f"{id}_total", label, table.total, "duration")
        facts.append(total)
    return tuple(facts)


def _op_notes(table: NeuronOps) -> tuple[str, ...]:
    """What a reader of the table must know."""
    notes = []
    if table.unusable:
        notes.append(
            f"{table.unusable} rows of the {table.view} table have no name or no time: left out."
        )
    if table.ops and all(op.share is None for op in table.ops):
        base = "the sum of all ops"
        if table.total:
            base = "the total time that the file states"
        notes.append(f"The {table.view} table states no percentages: shares are of {base}.")
    return tuple(notes)
