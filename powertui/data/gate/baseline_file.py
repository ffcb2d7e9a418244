"""A baseline as a file: the figures of its runs and how they scatter, and no trace.

One JSON object of at most 64 kB, written with a line a figure so that a diff can be read. What it
holds comes from runs, and the file itself from wherever a CI keeps it: everything in it is checked
before it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from powertui import __version__
from powertui.data.compare.run_scatter import MIN_RUNS
from powertui.data.gate import quantities
from powertui.data.gate.run_values import BaselineRuns, GatedRun, GateValue
from powertui.data.gate.samples import samples_of_runs
from powertui.errors import UnreadableFile, UsageError
from powertui.opening import open_for_reading
from powertui.plain import plain

_FORMAT = "powertui baseline"
_FORMAT_VERSION = 1
MAX_FILE_BYTES = 64_000
_MAX_RUNS = 100  # of which every op would take a line of 1 kB
_MAX_NAME_CHARACTERS = 300  # of an op: longer ones are HLO texts, and no two runs agree on them
_MAX_RUN_NAME_CHARACTERS = 100
_SETTINGS_BYTES = 12_000  # hosts, devices and versions take 1 kB
_BETWEEN = ",\n  "  # two figures
_DIGITS = 7  # more than any clock or sensor is good for
_SAVE_AGAIN = "Save it again: powertui baseline save NAME RUN..."


def with_added(saved: BaselineRuns, added: Sequence[GatedRun]) -> BaselineRuns:
    """A baseline and further runs, the latest `_MAX_RUNS`. Each start of a program counts once."""
    if saved.left_out:
        # An op that had no room took an unknown time in the saved runs, not none.
        names = {name for run in saved.runs for name in run.values}
        added = [_limited(run, names) for run in added]
    starts = set()
    for run in added:
        if run.start_ns is not None:
            starts.add(run.start_ns)
    kept = [run for run in saved.runs if run.start_ns not in starts]
    latest = [*kept, *added][-_MAX_RUNS:]
    return replace(saved, runs=tuple(latest))


def _limited(run: GatedRun, names: Collection[str]) -> GatedRun:
    """The run without ops and kernels that have other names."""
    values = {}
    for name, value in run.values.items():
        if name in names or not quantities.prefix_of(name):
            values[name] = value
    return replace(run, values=values)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def baseline_text(
    name: str,
    runs: Sequence[GatedRun],
    saved_unix_s: int,
    *,
    left_out: int = 0,
) -> str:
    """The file. Small ops and kernels that have no room are left out and counted, beside those
    that were left out before.
    """
    if len(runs) > _MAX_RUNS:
        raise UsageError(f"{len(runs)} runs are too many for a baseline: {_MAX_RUNS} at most.")
    head = {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "powertui": __version__,
        "name": name,
        "saved_unix_s": saved_unix_s,
        "runs": [_run_json(run) for run in runs],
        "configuration": _configuration(runs),
    }
    lines = []
    room = MAX_FILE_BYTES - len(_joined(head, [], 1_000_000))
    for row in _rows(runs):
        line = json.dumps(row, separators=(",", ":"))
        length = len(line) + len(_BETWEEN)
        if len(row["name"]) > _MAX_NAME_CHARACTERS or length > room:
            left_out += 1
            continue
        room -= length
        lines.append(line)
    return _joined(head, lines, left_out)


def _joined(head: dict[str, Any], lines: Sequence[str], left_out: int) -> str:
    start = json.dumps({**head, "left_out": left_out}, indent=1)
    open_start = start[:-2]
    rows = _BETWEEN.join(lines)
    return f'{open_start},\n "quantities": [\n  {rows}\n ]\n}}\n'


def _run_json(run: GatedRun) -> dict[str, Any]:
    return {
        "name": _short(run.name),
        "steps": run.steps,
        "start_ns": run.start_ns,
        "no_power": _short(run.no_power),
    }


def _short(words: str) -> str:
    """One byte a character, so that a hundred runs leave room for their figures."""
    return plain(words, _MAX_RUN_NAME_CHARACTERS).encode("ascii", "replace").decode()


def _configuration(runs: Sequence[GatedRun]) -> dict[str, list[str]]:
    """All values of each setting that the runs have, as far as there is room."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    out = {}
    room = _SETTINGS_BYTES
    for name in names:
        distinct = {run.settings[name] for run in runs if name in run.settings}
        values = sorted(distinct)
        text = json.dumps([name, values], indent=1)
        room -= len(text)
        if room < 0:
            break
        out[name] = values
    return out


def _rows(runs: Sequence[GatedRun]) -> Iterator[dict[str, Any]]:
    """A row for each quantity: those that are always there, then the largest ops and kernels."""
    names = dict.fromkeys(name for run in runs for name in run.values)
    for quantity in quantities.fixed_quantities():
        if quantity.name in names:
            yield _row_json(runs, quantity.name)
    by_size = []
    for name in names:
        if quantities.prefix_of(name):
            mean = samples_of_runs(runs, name).mean
            by_size.append((mean, name))
    by_size.sort(reverse=True)
    for _, name in by_size:
        yield _row_json(runs, name)


def _row_json(runs: Sequence[GatedRun], name: str) -> dict[str, Any]:
    """The values run by run, null where a run lacks it; blocks only where the runs are few."""
    values = [run.values.get(name) for run in runs]
    filled = [value or GateValue(0.0) for value in values]
    shown: Sequence[GateValue | None] = values
    if quantities.prefix_of(name):
        # Of what is counted by name, a run that lacks the name has none.
        shown = filled
    row: dict[str, Any] = {
        "name": name,
        "runs": [_number(value) for value in shown],
    }
    if any(value.below or value.above for value in filled):
        row["below"] = [_rounded(value.below) for value in filled]
        row["above"] = [_rounded(value.above) for value in filled]
    if any(value.is_fact for value in filled):
        row["fact"] = True
    # From three runs on their means decide, and nobody asks for what is inside one.
    if len(runs) < MIN_RUNS and any(value.blocks for value in filled):
        row["blocks"] = [_all_rounded(value.blocks) for value in filled]
    return row


def _number(value: GateValue | None) -> float | None:
    if value is None:
        return None
    # Facts, such as bytes, never vary: a digit less would be a difference.
    if value.is_fact:
        return value.value
    return _rounded(value.value)


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def _all_rounded(numbers: Iterable[float]) -> list[float]:
    return [_rounded(number) for number in numbers]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


class _Damaged(Exception):
    """What is wrong with the file, as a fragment."""


def read_baseline(path: str) -> BaselineRuns:
    """The runs of a baseline. Raises `UnreadableFile` with what is wrong in a sentence."""
    try:
        with open_for_reading(path) as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or "it cannot be opened"
        raise UnreadableFile(path, words.lower(), hint="Check the path after --against.") from None
    try:
        return _baseline(_document(content))
    except _Damaged as damage:
        raise UnreadableFile(
            path, f"is not a baseline of powertui: {damage}", hint=_SAVE_AGAIN
        ) from None


def _document(content: bytes) -> dict[str, Any]:
    if len(content) > MAX_FILE_BYTES:
        raise _Damaged(f"it is larger than {MAX_FILE_BYTES // 1000} kB")
    try:
        document = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _Damaged("it is not JSON, or it was cut off") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _Damaged("its format is another one")
    if document.get("version") != _FORMAT_VERSION:
        raise _Damaged("its version is one that this powertui does not know")
    return document


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _baseline(document: dict[str, Any]) -> BaselineRuns:
    rows = _list(document, "quantities")
    heads = _list(document, "runs")
    if not 1 <= len(heads) <= _MAX_RUNS:
        raise _Damaged("it holds no run, or too many")
    count = len(heads)
    values_of_runs: list[dict[str, GateValue]] = [{} for _ in heads]
    for row in rows:
        name = _text(row, "name")
        values_of_row = _values_of_row(row, count)
        for values, value in zip(values_of_runs, values_of_row, strict=True):
            if value is not None:
                values[name] = value
    settings_of_runs = _settings_by_run(document.get("configuration"), count)
    runs = []
    for head, values, settings in zip(heads, values_of_runs, settings_of_runs, strict=True):
        runs.append(_run(head, values, settings))
    left_out = _finite(document.get("left_out", 0))
    return BaselineRuns(
        name=_text(document, "name"),
        runs=tuple(runs),
        left_out=int(left_out),
    )


def _run(head: Any, values: dict[str, GateValue], settings: dict[str, str]) -> GatedRun:
    if isinstance(head, dict):
        start = head.get("start_ns")
    else:
        start = None
    return GatedRun(
        name=_text(head, "name"),
        steps=int(_finite(head.get("steps"))),
        values=values,
        settings=settings,
        no_power=_text(head, "no_power"),
        start_ns=start if isinstance(start, int) and abs(start) < 1 << 63 else None,
    )


def _values_of_row(row: Any, count: int) -> Iterator[GateValue | None]:
    zeros = [0.0] * count
    no_blocks: list[Any] = [[]] * count
    numbers = _column(row, "runs", count)
    below = _column(row, "below", count, zeros)
    above = _column(row, "above", count, zeros)
    blocks = _column(row, "blocks", count, no_blocks)
    for number, less, more, of_run in zip(numbers, below, above, blocks, strict=True):
        if number is None:
            yield None
            continue
        if not isinstance(of_run, list):
            raise _Damaged("its blocks are not lists")
        yield GateValue(
            value=_finite(number),
            blocks=tuple(map(_finite, of_run)),
            below=abs(_finite(less)),
            above=abs(_finite(more)),
            is_fact=row.get("fact") is True,
        )


def _settings_by_run(configuration: Any, count: int) -> list[dict[str, str]]:
    """Settings, spread so that the runs together have all of their values."""
    out: list[dict[str, str]] = [{} for _ in range(count)]
    if not isinstance(configuration, dict):
        return out
    for name, values in configuration.items():
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise _Damaged("its configuration is not a JSON object")
        if not values:
            continue
        last = len(values) - 1
        for number, settings in enumerate(out):
            place = min(number, last)
            settings[name] = values[place]
    return out


def _column(row: Any, key: str, count: int, default: list[Any] | None = None) -> list[Any]:
    if isinstance(row, dict):
        column = row.get(key, default)
    else:
        column = None
    if not isinstance(column, list) or len(column) != count:
        raise _Damaged(f"a figure has not as many {key} as there are runs")
    return column


def _list(document: dict[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    if not isinstance(value, list):
        raise _Damaged(f"it has no list of {key}")
    return value


def _text(value: Any, key: str) -> str:
    if isinstance(value, dict):
        text = value.get(key)
    else:
        text = None
    if not isinstance(text, str):
        raise _Damaged(f"a {key} is missing")
    return text


def _finite(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise _Damaged("a figure is not a number")
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise _Damaged("a figure is not a finite number")
    return value
