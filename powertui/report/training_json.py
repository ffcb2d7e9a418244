"""A training as JSON: its sessions on one axis, its epochs, what they drew and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powertui.data import elsewhere
from powertui.data.logdir import TrainingEntry
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S, PowerOnTrace
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from powertui.data.training.training_on_axis import SessionOnAxis, TrainingOnAxis
from powertui.data.training.training_parts import Moment
from powertui.data.training.training_window import TrainingWindow
from powertui.report.energy_figures import NO_POWER, json_energy, json_findings, json_rows, notes_on
from powertui.report.owners_json import json_owners_of_training
from powertui.report.step_facts import seconds
from powertui.report.training_page import MAX_DESCRIBED, unplaced_logs


def json_trainings(trainings: Sequence[Training]) -> list[dict[str, Any]]:
    """The trainings of a logdir: what each is made of, and, of a few, where all of it is."""
    if len(trainings) > MAX_DESCRIBED:
        return [_json_entry(training.entry) for training in trainings]
    return [_json_axis(training, training.seen_from()) for training in trainings]


def _json_entry(entry: TrainingEntry) -> dict[str, Any]:
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


def _json_axis(training: Training, axis: TrainingOnAxis) -> dict[str, Any]:
    """Everything but its energy, in seconds from the first thing that has a place."""
    return {
        **_json_entry(training.entry),
        "zero_unix_s": _zero_unix_s(axis),
        "start_s": axis.start / PS_PER_S,
        "end_s": axis.end / PS_PER_S,
        "islands": json_sessions(axis),
        "steps": _json_steps(training),
        "scalars_tags": _json_tags(training),
        "epochs": [_json_epoch(training, axis, index) for index in range(len(training.epochs))],
        "marks": _json_marks(axis),
        "channels": [_json_channel(channel) for channel in axis.power],
        "not_placed": list(unplaced_logs(axis)),
        "warnings": list(map(elsewhere.warning_text, training.warnings)),
    }


def json_sessions(axis: TrainingOnAxis) -> list[dict[str, Any]]:
    """The sessions of every host: where each is on the axis, and on what evidence."""
    return [_json_session(session) for session in axis.islands]


def _zero_unix_s(axis: TrainingOnAxis) -> float | None:
    """When the axis begins; None where nothing on it has a date."""
    return axis.zero_ns / NS_PER_S if axis.wall else None


def _json_tags(training: Training) -> list[dict[str, Any]]:
    tags = []
    for strip in training.strips:
        tag = {
            "group": strip.group,
            "tag": strip.tag,
            "records": len(strip.at_ns),
            "unit": strip.unit or None,
        }
        tags.append(tag)
    return tags


def _json_marks(axis: TrainingOnAxis) -> list[dict[str, Any]]:
    marks = []
    for mark in axis.marks:
        bounds = {
            "name": mark.name,
            "start_s": mark.start_ps / PS_PER_S,
            "end_s": seconds(mark.end_ps),
        }
        marks.append(bounds)
    return marks


def _json_channel(channel: PowerOnTrace) -> dict[str, str]:
    return {
        "name": channel.series.sensor.label,
        "path": channel.series.path,
        "status": channel.status,
        "source": channel.source,
    }


def _json_session(session: SessionOnAxis) -> dict[str, Any]:
    island = session.island
    recorded_unix_s = None  # what the profile's own clock shows, right or wrong
    if island.said is not None:
        recorded_unix_s = island.said.ns / NS_PER_S
    return {
        "session": island.entry.name,
        "host": island.host,
        "status": island.status,
        "evidence": island.evidence,
        "start_s": seconds(session.start),
        "end_s": seconds(session.end),
        "half_s": session.half / PS_PER_S,
        "said_unix_s": recorded_unix_s,
    }


def _json_steps(training: Training) -> dict[str, Any] | None:
    rate = training.rate
    if not len(rate):
        return None
    return {
        "source": rate.source,
        "every": rate.every,
        "records": len(rate),
        "between_records": "interpolated",
        "plus_minus_s": rate.half_ns / NS_PER_S,
        "first": int(rate.step[0]),
        "last": int(rate.step[-1]),
    }


def _json_epoch(training: Training, axis: TrainingOnAxis, index: int) -> dict[str, Any]:
    epoch = training.epochs[index]
    first_step, last_step = epoch.steps if epoch.steps is not None else (None, None)
    validation = None
    if epoch.validation is not None:
        validation = _json_bounds(axis, *epoch.validation)
    return {
        "number": epoch.number,
        **_json_bounds(axis, epoch.start, epoch.end),
        "source": epoch.source,
        "validation": validation,
        "step_lo": first_step,
        "step_hi": last_step,
        "scalars": dict(epoch.scalars),
    }


def _json_bounds(
    axis: TrainingOnAxis,
    start: Moment | None,
    end: Moment | None,
) -> dict[str, float | None]:
    half_s = None
    halves_ns = [moment.half_ns for moment in (start, end) if moment is not None]
    if halves_ns:
        half_s = max(halves_ns) * PS_PER_NS / PS_PER_S
    return {
        "start_s": _seconds_on_axis(axis, start),
        "end_s": _seconds_on_axis(axis, end),
        "half_s": half_s,
    }


# ── energy ───────────────────────────────────────────────────────────────────────────────────────


def json_training(training: Training) -> dict[str, Any]:
    """All of `_json_axis`, with its energy and findings."""
    axis = training.seen_from()
    energy = training_energy(axis)
    account = energy.account
    on_axis = _json_axis(training, axis)
    epochs = {window.epoch: window for window in energy.epochs()}
    why = NO_POWER if account.channels or not account.text else account.text
    for row in on_axis["epochs"]:
        window = epochs.get(row["number"])
        row |= json_energy(window.energy if window is not None else None, why)
        row["joules_per_step"] = _joules_per_step(window)
    steps = energy.training()
    return {
        **on_axis,
        "alignment": account.alignment.as_dict() if account.alignment is not None else None,
        "counted": {
            "channels": [channel.series.sensor.name for channel in account.channels],
            "text": account.text,
        },
        "owners": json_owners_of_training(energy.owned, energy.counted),
        "idle_watts": account.idle.value if account.idle is not None else None,
        "idle_text": account.idle_text,
        "phases": [_json_window(window, why) for window in energy.phases()],
        "hours": [_json_window(window, why) for window in energy.hours()],
        "training": _json_window(steps, why) if steps is not None else None,
        "whole": _json_window(energy.whole(), why),
        "parts": json_rows(energy.parts()),
        **json_findings(energy.findings),
        "notes": [*energy.strangers, *notes_on(energy.findings)],
    }


def _json_window(window: TrainingWindow, why: str = NO_POWER) -> dict[str, Any]:
    """One window, in seconds of the training's axis; `why` it has no energy, where it has none."""
    return {
        "kind": window.kind,
        "name": window.name,
        "epoch": window.epoch,
        "start_s": window.start / PS_PER_S,
        "end_s": window.end / PS_PER_S,
        "half_s": window.half / PS_PER_S,
        **json_energy(window.energy, why),
        "joules_per_step": _joules_per_step(window),
    }


def _seconds_on_axis(axis: TrainingOnAxis, moment: Moment | None) -> float | None:
    if moment is None:
        return None
    return axis.at(moment.ns) / PS_PER_S


def json_named_window(training: Training, window: TrainingWindow) -> dict[str, Any]:
    """A window that was asked for, with its training and where that one's zero is."""
    zero_s = _zero_unix_s(training.seen_from())
    return {"training": training.name, "zero_unix_s": zero_s, **_json_window(window)}


def _joules_per_step(window: TrainingWindow | None) -> dict[str, float] | None:
    if window is None or window.joules_per_step is None:
        return None
    joules, lo, hi = window.joules_per_step
    return {"joules": joules, "lo": lo, "hi": hi}
