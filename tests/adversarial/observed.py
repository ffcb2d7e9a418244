"""What powertui tells of a run, as `powertui report --json` does, and how that differs from what
happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.report import facts
from tests.adversarial.program import ANY, Program, Step

_SAME = {
    "validation": "evaluation",
    "eval": "evaluation",
    "test": "evaluation",
    "predict": "prediction",
    "save": "checkpoint",
}
_BESIDES = (
    "training",
    "between epochs",
    "tracing",
)  # named by the reader for itself: judged where the truth names them, too
_TOLERANCE_MS = 2e-6
_SURE = ("sure", "high", "certain", "told")


def profiles(folder: Path) -> list[dict[str, Any]]:
    """What the report says of each host."""
    (entry,) = logdir.scan(str(folder)).runs
    told: list[dict[str, Any]] = facts.of_run(entry, Opened(entry).run)["profiles"]
    return told


def differences(program: Program, told: dict[str, Any]) -> list[str]:
    """Everything that is told differently from how the program ran; nothing when all is right."""
    steps, rows, truth = (
        told["steps"],
        told["steps"]["rows"],
        sorted(program.truth, key=lambda step: step.start),
    )
    out = []
    if len(rows) != len(truth):
        out.append(f"{len(truth)} steps ran, {len(rows)} told ({steps['source']})")
    else:
        out += _column("number", [step.number for step in truth], [row["number"] for row in rows])
        out += _column("epoch", [step.epoch for step in truth], [row["epoch"] for row in rows])
        for key in ("host", "device", "step"):
            out += _times(
                f"{key}_s",
                [getattr(step, key) for step in truth],
                [row.get(f"{key}_s", "missing") for row in rows],
            )
        out += _devices(truth, steps.get("on", []))
        if program.holes is not None:
            gaps = [
                None
                if index in program.holes or this.epoch != after.epoch
                else after.start - this.start
                for index, (this, after) in enumerate(pairwise(truth))
            ]
            out += _times(
                "start_to_start_s", [*gaps, None], [row["start_to_start_s"] for row in rows]
            )
    named = {step.epoch for step in truth if isinstance(step.epoch, int)}
    unjudged = any(step.epoch is ANY for step in truth)
    if not unjudged and told["epochs"]["count"] != (
        program.epochs if program.epochs is not None else len(named)
    ):
        out.append(f"{len(named)} epochs ran, {told['epochs']['count']} told")
    if program.asynchronous is not None and steps["asynchronous"] != program.asynchronous:
        out.append(f"asynchronous {program.asynchronous}, told {steps['asynchronous']}")
    if program.marker and program.marker not in steps["source"]:
        out.append(f"marked by {program.marker}, told {steps['source']!r}")
    return out + _phases(program, told["phases"])


def says_unsure(told: dict[str, Any]) -> bool:
    """Whether the steps are told as what nobody can be sure of: none, with a reason; or with less
    than full confidence.
    """
    steps = told["steps"]
    if not steps["count"]:
        return bool(steps["source"])
    confidence = str(steps.get("confidence") or "").lower()
    return bool(confidence) and not confidence.startswith(_SURE)


def _column(what: str, truth: Sequence[object], told: Sequence[object]) -> list[str]:
    off = [
        index
        for index, (a, b) in enumerate(zip(truth, told, strict=True))
        if a is not ANY and a != b
    ]
    return [f"{what}: {_few(truth, off)} ran, {_few(told, off)} told"] if off else []


def _times(what: str, truth: Sequence[Any], told: Sequence[Any]) -> list[str]:
    def same(a: Any, b: Any) -> bool:
        if a is ANY:
            return True
        if a is None or b is None or b == "missing":
            return a is None and b is None
        return abs(a - b * 1e3) <= _TOLERANCE_MS

    off = [index for index, (a, b) in enumerate(zip(truth, told, strict=True)) if not same(a, b)]
    ran = [round(a, 6) if isinstance(a, float) else a for a in truth]
    shown = [round(b * 1e3, 6) if isinstance(b, float) else b for b in told]
    return [f"{what} in ms: {_few(ran, off)} ran, {_few(shown, off)} told"] if off else []


def _devices(truth: Sequence[Step], told: Sequence[dict[str, Any]]) -> list[str]:
    """Each device's own steps, where the truth judges the run's."""
    ran = {
        (gpu, row): times
        for row, step in enumerate(truth)
        for gpu, times in step.each.items()
        if step.step is not ANY and step.device is not ANY
    }
    found = {
        (int(one["name"].rpartition(":")[2]), row["row"]): (row["step_s"], row["device_s"])
        for one in told
        if one["kind"] == "device"
        for row in one["rows"]
    }
    judged = {row for _, row in ran}
    out = []
    for key in sorted(ran.keys() | {key for key in found if key[1] in judged}):
        if key not in ran or key not in found:
            out.append(
                f"step {key[1]} on device {key[0]}: {ran.get(key, 'nothing')} ran, "
                f"{found.get(key, 'nothing')} told"
            )
            continue
        for what, mine, theirs in zip(("step_s", "device_s"), ran[key], found[key], strict=True):
            out += _times(f"{what} of step {key[1]} on device {key[0]}", [mine], [theirs])
    return out[:4]


def _few(values: Sequence[object], rows: Sequence[int]) -> str:
    text = ", ".join(f"[{row}] {values[row]}" for row in rows[:4])
    return text + (f" and {len(rows) - 4} more" if len(rows) > 4 else "")


def _phases(program: Program, told: Sequence[dict[str, Any]]) -> list[str]:
    out = []
    left = [
        (_SAME.get(phase["name"], phase["name"]), phase["start_s"] * 1e3, phase["end_s"] * 1e3)
        for phase in told
    ]
    for name, start, end in program.phases:
        kind = _SAME.get(name, name)
        found = [
            one
            for one in left
            if one[0] == kind and abs(one[1] - start) < 1e-3 and abs(one[2] - end) < 1e-3
        ]
        if found:
            left.remove(found[0])
        else:
            out.append(
                f"phase {name} from {start:g} to {end:g} ms ran; told "
                f"{[one for one in left if one[0] == kind] or 'none'}"
            )
    out += [f"phase {one} told, no such ran" for one in left if one[0] not in _BESIDES]
    return out
