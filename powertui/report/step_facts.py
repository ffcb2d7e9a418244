"""What is known of the steps of one profile: as the plain dict of the report's JSON, and as a few
lines for a person.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S, Epochs, Steps, StepsOn, Trace
from powertui.plain import plain

STEP_ROWS = 5_000  # of one host
_DEVICE_ROWS = 1_000  # of one device or replica
_DEVICES = 8  # named in text

Facts = dict[str, Any]


def step_facts(trace: Trace, steps: Steps, epochs: Epochs) -> Facts:
    """Counts, times and what tells them. What is not known is None."""
    gaps = steps.start_to_start()
    facts: Facts = {
        "count": len(steps),
        "source": steps.source,
        "asynchronous": steps.asynchronous,
        "inferred": steps.inferred,
        "confidence": steps.confidence or None,
        "notes": list(steps.notes),
        "duration": _spread(steps.duration),
        "start_to_start": _spread(gaps[gaps >= 0]),
        "host_s": _spread(steps.host[steps.host >= 0]),
        "device_s": _spread(steps.device[steps.device >= 0]),
        "step_s": _spread(steps.step[steps.step >= 0]),
        "device_by": steps.device_by or None,
        "work_s": None,
        "markers": [
            {
                "name": marker.name,
                "pattern": marker.pattern,
                "steps": marker.count,
                "score": marker.score,
                "why": marker.why,
                "chosen": index == 0,
            }
            for index, marker in enumerate(steps.markers)
        ],
        "on": [_on(marker, steps) for marker in steps.on],
        "rows": [
            {
                "epoch": epochs[step.epoch].number if step.epoch is not None else None,
                "number": step.number if step.number >= 0 else None,
                "name": step.name,
                "start_s": step.start / PS_PER_S,
                "duration_s": step.duration / PS_PER_S,
                "start_to_start_s": _seconds(step.start_to_start),
                "host_s": _seconds(step.host),
                "device_s": _seconds(step.device),
                "step_s": _seconds(step.step),
            }
            for step in (steps[i] for i in range(min(len(steps), STEP_ROWS)))
        ],
        "rows_left_out": max(0, len(steps) - STEP_ROWS),
    }
    if steps.asynchronous and len(steps) > 1:
        from powertui.data.run.steps import work_of

        # The markers say only when the work was asked for: from the first of them to the end of the
        # last work.
        facts["work_s"] = (work_of(trace, steps).end - int(steps.start[0])) / PS_PER_S
    return facts


def _on(one: StepsOn, steps: Steps) -> Facts:
    """The steps of one device, or of one replica."""
    shown = range(min(len(one), _DEVICE_ROWS))
    number = steps.number[one.row]
    return {
        "name": one.name,
        "kind": one.kind,
        "count": len(one),
        "step_s": _spread(one.duration),
        "device_s": _spread(one.work[one.work >= 0]),
        "rows": [
            {
                "row": int(one.row[i]),
                "number": int(number[i]) if number[i] >= 0 else None,
                "start_s": int(one.start[i]) / PS_PER_S,
                "step_s": int(one.duration[i]) / PS_PER_S,
                "device_s": _seconds(int(one.work[i])) if one.work[i] >= 0 else None,
            }
            for i in shown
        ],
        "rows_left_out": max(0, len(one) - _DEVICE_ROWS),
    }


def _seconds(ps: int | None) -> float | None:
    return None if ps is None else ps / PS_PER_S


def _spread(values: np.ndarray[Any, np.dtype[np.int64]]) -> Facts | None:
    """Median and extremes of times in ps, in s; None where there is none."""
    if not len(values):
        return None
    in_order = np.sort(
        values
    )  # once: the library's own median and percentile cost a quarter of a millisecond each
    return {
        "median_s": _quantile(in_order, 0.5) / PS_PER_S,
        "mean_s": float(values.mean()) / PS_PER_S,
        "p95_s": _quantile(in_order, 0.95) / PS_PER_S,
        "min_s": int(in_order[0]) / PS_PER_S,
        "max_s": int(in_order[-1]) / PS_PER_S,
        "first_s": int(values[0]) / PS_PER_S,
    }


def _quantile(in_order: np.ndarray[Any, np.dtype[np.int64]], share: float) -> float:
    """Between two values in proportion, as numpy's percentile by default."""
    place = share * (len(in_order) - 1)
    below = int(place)
    low, high = float(in_order[below]), float(in_order[min(below + 1, len(in_order) - 1)])
    part = place - below
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def lines(steps: Facts) -> list[str]:
    """Steps in a few lines: how many, how long, on what, and what marked them."""
    if not steps["count"]:
        return [f"none: {plain(steps['source'])}. Name a marker: --step-marker REGEX"]
    told = steps["step_s"] or steps["duration"]
    count = f"{steps['count']:,}"
    if steps["count"] == 1:
        out = [f"{count}: {_s(told['median_s'])}"]
    else:
        extremes = f"{_s(told['min_s'])} to {_s(told['max_s'])}, the first {_s(told['first_s'])}"
        out = [f"{count}: median {_s(told['median_s'])}, {extremes}"]
    out += _three_times(steps)
    if steps["asynchronous"]:
        out.append("dispatched asynchronously: the host's call returned while the work ran on")
        if steps["work_s"] is not None and steps["device_s"] is None:
            mean = steps["work_s"] / steps["count"]
            out.append(f"their work took {_s(steps['work_s'])}: {_s(mean)} a step on average")
    gaps = steps["start_to_start"]
    if gaps is not None:
        out.append(
            f"start to start: median {_s(gaps['median_s'])}, {_s(gaps['min_s'])} to "
            f"{_s(gaps['max_s'])}"
        )
    out.append(f"marked by {plain(steps['source'])}")
    if steps["confidence"]:
        out.append(plain(steps["confidence"], 300))
    return out + _second(steps) + [plain(note, 300) for note in steps["notes"]]


def _three_times(steps: Facts) -> list[str]:
    """Host, device and step time, where they tell more than one of them; and the devices apart, so
    that a straggler is seen.
    """
    host, device = steps["host_s"], steps["device_s"]
    if device is None:
        return []
    parts = [f"host {_s(host['median_s'])}"] if host is not None else []
    parts.append(f"device {_s(device['median_s'])} (by {steps['device_by']})")
    parts.append(f"step {_s(steps['step_s']['median_s'])}")
    out = [f"medians: {', '.join(parts)}"]
    devices = [one for one in steps["on"] if one["kind"] == "device"]
    if len(devices) > 1:
        shown = ", ".join(
            f"{plain(one['name'], 40)} {_s(one['step_s']['median_s'])}"
            for one in devices[:_DEVICES]
        )
        more = f" and {len(devices) - _DEVICES} more" if len(devices) > _DEVICES else ""
        out.append(f"on each device: {shown}{more}")
    return out


def _second(steps: Facts) -> list[str]:
    """What else could mark the steps, and how to choose it."""
    if len(steps["markers"]) < 2:
        return []
    best, other = steps["markers"][:2]
    how = f"--step-marker {_quoted(plain(other['pattern'], 120))}"
    return [
        (
            f"next best: {plain(other['name'], 120)} (score {other['score']:.2f} against "
            f"{best['score']:.2f}); to choose it: {how}"
        )
    ]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _s(seconds: float) -> str:
    return units.duration(round(seconds * PS_PER_S))
