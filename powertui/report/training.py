"""A training as `report` and `energy` tell it: its sessions on one axis, its epochs, what they drew
and what stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import PurePath
from typing import Any, Protocol

from powertui import units
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.energy.integrate import Energy
from powertui.data.logdir import TrainingEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, TrainingWindow
from powertui.data.training.training_on_axis import SessionOnAxis, TrainingOnAxis
from powertui.data.training.training_parts import Moment, PlacedSession
from powertui.plain import plain
from powertui.report import text

_ROWS = 40  # of a table in text
_MAX_LISTED_TRAININGS = 50  # trainings of a logdir that are told with their axis
_ALONE = 0.8  # of a training that one session covers: then the session's own page tells it all


class Style(Protocol):
    """How lines are written: plain text, or Markdown."""

    def head(self, level: int, words: str) -> list[str]: ...
    def line(self, words: str, deeper: bool = False) -> str: ...
    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]
    ) -> list[str]: ...


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def worth_a_page(training: Training) -> bool:
    """Whether it tells anything that the pages of its sessions do not: there are several, or none,
    or one covers little of it.
    """
    if len(training.entry.sessions) != 1:
        return bool(training.entry.sessions) or training.scalar_span is not None
    span = training.scalar_span
    if span is None:
        return False
    covered = [
        one.end.ns - one.start.ns
        for one in training.islands
        if one.start is not None and one.end is not None
    ]
    return sum(covered) < _ALONE * (span[1] - span[0]) or any(
        not one.trusted for one in training.islands
    )


def page(
    training: Training,
    style: Style,
    head: Sequence[str],
    cells: Callable[[Energy | None], list[str]],
    finds: Callable[[Findings, Style], list[str]],
) -> list[str]:
    """What the whole training drew, and where its sessions lie in it."""
    seen = training.seen_from()
    whole = seen.whole
    lines = [
        *style.head(1, f"The whole training {training.name}"),
        *(style.line(words) for words in _said(training, seen)),
    ]
    if whole.account.counted:
        found = whole.account.alignment
        if (
            found is not None
            and found.offset_s is not None
            and found.lo_s is not None
            and found.hi_s is not None
        ):
            half = (found.hi_s - found.lo_s) / 2
            where = f"its log's zero lies at {found.offset_s:.3f} s ± {half:.3f} s of the training"
            lines.append(
                style.line(
                    f"power: {found.status}, {found.source}: {where}; counted: {whole.account.text}"
                )
            )
        rows = [_row(one, cells) for one in windows(whole)]
        lines += style.head(2, "Energy of the training")
        lines += style.table(
            ("", "from", "time", "steps", "a step", *head), rows[:_ROWS], (1, 2, 3, 4, 5, 6, 7, 8)
        )
        if len(rows) > _ROWS:
            lines.append(style.line(f"… and {len(rows) - _ROWS} more (--json lists them)"))
        lines += finds(whole.findings, style)
    lines += [style.line(plain(words)) for words in whole.strangers]
    lines += [style.line(words) for words in _not_placed(seen)]
    return [*lines, ""]


def _is_power_alone(entry: TrainingEntry) -> bool:
    """Whether nothing but power logs is there."""
    return not entry.sessions and not entry.tfevents


def _heading(entry: TrainingEntry) -> str:
    """What a page on a training is called."""
    if _is_power_alone(entry):
        return f"Power log{'s' if len(entry.power) > 1 else ''} {plain(entry.name)}"
    return f"The whole training {plain(entry.name)}"


def _begins(training: Training, seen: TrainingOnAxis) -> str:
    """When power without a profile begins."""
    if seen.wall:
        return f"from {_clock(seen.unix_ns(seen.start))}"
    if training.entry.is_local and training.entry.first_ns is not None:
        return (
            f"from {_clock(training.entry.first_ns).removesuffix(' UTC')} local time of a "
            "zone that is not known"
        )
    return "no date: its times count from its own start"


def _not_placed(seen: TrainingOnAxis) -> Iterator[str]:
    """The power logs that nothing places on the training: why, and what would."""
    why = {
        one.power.series.path: one.alignment
        for one in seen.placements
        if one.power.status == "none"
    }
    for path, found in why.items():
        if found.elsewhere:
            yield plain(found.elsewhere)
        else:
            reasons = "; ".join(plain(words, 200) for words in found.evidence)
            yield f"power: {plain(PurePath(path).name, 80)} has no place here: {reasons}"


def _said(training: Training, seen: TrainingOnAxis) -> Iterator[str]:
    """Its length, its sessions, its steps, and why all this is one training."""
    length = units.duration(seen.end - seen.start)
    if _is_power_alone(training.entry):
        yield f"{length}, {_begins(training, seen)}; times count from the first reading"
    else:
        begins = f", from {_clock(seen.unix_ns(seen.start))}" if seen.wall else ""
        yield f"{length}{begins}; times count from the first thing that is placed"
    for one in seen.islands:
        yield _session(one)
    if len(training.rate):
        yield (
            f"steps: {training.rate.source}; between two records they are numbered by interpolation"
        )
    elif training.epochs:
        yield "no records within epochs: parts of an epoch are given as shares of it"
    yield from training.entry.reasons


def _session(one: SessionOnAxis) -> str:
    island = one.island
    name = island.entry.name + (f" on {island.host}" if island.host else "")
    if one.start is None or one.end is None:
        return f"session {name}: {island.status}"
    half = f" ± {units.duration(one.half, 2)}" if one.half else ""
    return (
        f"session {name}: at {one.start / PS_PER_S:.3f} s{half}, "
        f"{units.duration(one.end - one.start)} long ({island.evidence})"
    )


def windows(whole: TrainingEnergy) -> list[TrainingWindow]:
    """What is reported of it: epochs, what was no step, hours, and all of it."""
    training = whole.training()
    return [
        *whole.epochs(),
        *whole.phases(),
        *whole.hours(),
        *([training] if training is not None else []),
        whole.whole(),
    ]


def _row(one: TrainingWindow, cells: Callable[[Energy | None], list[str]]) -> list[str]:
    steps = f"{one.steps[1] - one.steps[0]}" if one.steps is not None else ""
    each = f"{one.joules_per_step[0]:.3g} J" if one.joules_per_step is not None else ""
    return [
        one.name,
        f"{one.start / PS_PER_S:.2f} s",
        units.duration(one.end - one.start),
        steps,
        each,
        *cells(one.energy),
    ]


def _clock(ns: int) -> str:
    return datetime.fromtimestamp(ns / NS_PER_S, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────


def _entry_json(entry: TrainingEntry) -> dict[str, Any]:
    """What was grouped, and why."""
    return {
        "name": entry.name,
        "path": entry.path,
        "sessions": [run.name for run in entry.sessions],
        "hosts": list(entry.hosts),
        "scalars": [file.path for file in entry.tfevents if file.kind == "scalars"],
        "power": [file.path for file in entry.power],
        "reasons": list(entry.reasons),
        "by_hand": entry.by_hand,
    }


def axis_json(training: Training, seen: TrainingOnAxis) -> dict[str, Any]:
    """Everything but what it drew, on the training's own axis: seconds from the first thing that is
    placed.
    """
    rate = training.rate
    return {
        **_entry_json(training.entry),
        "zero_unix_s": seen.zero_ns / NS_PER_S if seen.wall else None,
        "start_s": seen.start / PS_PER_S,
        "end_s": seen.end / PS_PER_S,
        "islands": [_island(one) for one in seen.islands],
        "steps": {
            "source": rate.source,
            "every": rate.every,
            "records": len(rate),
            "between_records": "interpolated",
            "plus_minus_s": rate.half_ns / NS_PER_S,
            "first": int(rate.step[0]),
            "last": int(rate.step[-1]),
        }
        if len(rate)
        else None,
        "scalars_tags": [
            {
                "group": one.group,
                "tag": one.tag,
                "records": len(one.at_ns),
                "unit": one.unit or None,
            }
            for one in training.strips
        ],
        "epochs": [_epoch(training, seen, index) for index in range(len(training.epochs))],
        "marks": [
            {
                "name": one.name,
                "start_s": one.start_ps / PS_PER_S,
                "end_s": None if one.end_ps is None else one.end_ps / PS_PER_S,
            }
            for one in seen.marks
        ],
        "channels": [
            {
                "name": one.series.sensor.label,
                "path": one.series.path,
                "status": one.status,
                "source": one.source,
            }
            for one in seen.power
        ],
        "not_placed": list(_not_placed(seen)),
        "warnings": [str(warn) for warn in training.warnings],
    }


def energy_json(
    training: Training,
    energy: Callable[[Energy | None], dict[str, Any]],
    finding: Callable[[Finding], dict[str, Any]],
) -> dict[str, Any]:
    """The same with what it drew and what stands out."""
    seen = training.seen_from()
    whole = seen.whole
    found = axis_json(training, seen)
    of_epoch = {one.epoch: one for one in whole.epochs()}
    for row in found["epochs"]:
        one = of_epoch.get(row["number"])
        row |= energy(one.energy if one is not None else None) | {"joules_per_step": _per_step(one)}
    alignment = whole.account.alignment
    training_window = whole.training()
    return {
        **found,
        "alignment": alignment.as_dict() if alignment is not None else None,
        "counted": {
            "channels": [one.series.sensor.name for one in whole.account.channels],
            "text": whole.account.text,
        },
        "idle_watts": whole.account.idle.value if whole.account.idle is not None else None,
        "idle_text": whole.account.idle_text,
        "phases": [_window(one, energy) for one in whole.phases()],
        "hours": [_window(one, energy) for one in whole.hours()],
        "training": _window(training_window, energy) if training_window is not None else None,
        "whole": _window(whole.whole(), energy),
        "findings": [finding(one) for one in whole.findings.findings],
        "smaller_findings": [finding(one) for one in whole.findings.smaller],
        "could_find": [
            {"watts": limit.watts, "seconds": limit.seconds} for limit in whole.findings.limits
        ],
        "could_find_smaller": [
            {"watts": limit.watts, "seconds": limit.seconds} for limit in whole.findings.seen
        ],
        "could_find_except": [
            {"start_s": start, "end_s": end} for start, end in whole.findings.apart
        ],
        "could_find_text": whole.findings.could,
        "notes": [
            *whole.strangers,
            *whole.findings.notes,
            *([whole.findings.reason] if whole.findings.reason else []),
        ],
    }


def _island(one: SessionOnAxis) -> dict[str, Any]:
    island: PlacedSession = one.island
    return {
        "session": island.entry.name,
        "host": island.host,
        "status": island.status,
        "evidence": island.evidence,
        "start_s": None if one.start is None else one.start / PS_PER_S,
        "end_s": None if one.end is None else one.end / PS_PER_S,
        "half_s": one.half / PS_PER_S,
        "said_unix_s": island.said.ns / NS_PER_S if island.said is not None else None,
    }


def _epoch(training: Training, seen: TrainingOnAxis, index: int) -> dict[str, Any]:
    epoch = training.epochs[index]

    def bounds(start: Moment | None, end: Moment | None) -> dict[str, Any]:
        halves = [moment.half_ns for moment in (start, end) if moment is not None]
        return {
            "start_s": None if start is None else seen.at(start.ns) / PS_PER_S,
            "end_s": None if end is None else seen.at(end.ns) / PS_PER_S,
            "half_s": max(halves) * PS_PER_NS / PS_PER_S if halves else None,
        }

    steps = epoch.steps
    return {
        "number": epoch.number,
        **bounds(epoch.start, epoch.end),
        "source": epoch.source,
        "validation": bounds(*epoch.validation) if epoch.validation is not None else None,
        "step_lo": steps[0] if steps is not None else None,
        "step_hi": steps[1] if steps is not None else None,
        "scalars": dict(epoch.scalars),
    }


def _window(
    one: TrainingWindow, energy: Callable[[Energy | None], dict[str, Any]]
) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "name": one.name,
        "epoch": one.epoch,
        "start_s": one.start / PS_PER_S,
        "end_s": one.end / PS_PER_S,
        "half_s": one.half / PS_PER_S,
        **energy(one.energy),
        "joules_per_step": _per_step(one),
    }


WINDOW_CSV = (
    "training",
    "window",
    "epoch",
    "start_s",
    "end_s",
    "half_s",
    "joules",
    "lo_joules",
    "hi_joules",
    "mean_watts",
    "badge",
    "reason",
)


def window_json(
    training: Training, one: TrainingWindow, energy: Callable[[Energy | None], dict[str, Any]]
) -> dict[str, Any]:
    """One window of a training; seconds count from the first thing that is placed."""
    seen = training.seen_from()
    zero = seen.zero_ns / NS_PER_S if seen.wall else None
    return {"training": training.name, "zero_unix_s": zero, **_window(one, energy)}


def window_cells(training: Training, one: TrainingWindow) -> list[Any]:
    """The same as a row of CSV."""
    found = one.energy
    told = (
        [None] * 5 + ["no power log covers this training"]
        if found is None
        else [
            found.joules,
            found.lo,
            found.hi,
            found.mean_w,
            found.badge.value if found.resolved else None,
            found.reason,
        ]
    )
    return [
        training.name,
        one.name,
        one.epoch,
        one.start / PS_PER_S,
        one.end / PS_PER_S,
        one.half / PS_PER_S,
        *told,
    ]


def _per_step(one: TrainingWindow | None) -> dict[str, float] | None:
    if one is None or one.joules_per_step is None:
        return None
    joules, lo, hi = one.joules_per_step
    return {"joules": joules, "lo": lo, "hi": hi}


def several_json(found: Sequence[Training]) -> list[dict[str, Any]]:
    """The trainings of a logdir: what each is made of, and (of a few) where all of it lies."""
    if len(found) > _MAX_LISTED_TRAININGS:
        return [_entry_json(one.entry) for one in found]
    return [axis_json(one, one.seen_from()) for one in found]


def _epoch_line(training: Training, seen: TrainingOnAxis, index: int) -> str:
    """When an epoch was; "" where that is not known."""
    epoch, steps = seen.epochs[index], training.epochs[index].steps
    if epoch.start is None or epoch.end is None:
        return ""
    many = f", {steps[1] - steps[0]} steps" if steps is not None else ""
    return (
        f"epoch {epoch.number}: from {epoch.start / PS_PER_S:.2f} s, "
        f"{units.duration(epoch.end - epoch.start)}{many}"
    )


def several(found: Sequence[Training]) -> list[str]:
    """The trainings of a logdir in a few lines each: those that are more than one session."""
    lines: list[str] = []
    for one in [one for one in found if worth_a_page(one) or not one.entry.sessions][
        :_MAX_LISTED_TRAININGS
    ]:
        seen = one.seen_from()
        lines += ["", _heading(one.entry), *("  " + plain(words) for words in _said(one, seen))]
        epochs = [_epoch_line(one, seen, index) for index in range(len(seen.epochs))]
        channels = [
            f"power {plain(power.series.sensor.label)}: {power.status}, {plain(power.source)}"
            for power in seen.power
        ]
        for words in ([line for line in epochs if line], channels, list(_not_placed(seen))):
            lines += [f"  {line}" for line in text.first_of(words, _ROWS)]
    return lines
