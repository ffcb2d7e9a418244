"""The steps of one profile: as the plain dict of the report's JSON, and as a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui import units
from powertui.data.model import PS_PER_S, Epochs, Marker, Step, Steps, StepsOn, Trace
from powertui.plain import plain

# Bounds of the JSON: a month of steps must not become a gigabyte. Chosen, not measured.
MAX_HOST_STEPS = 5_000
_MAX_DEVICE_STEPS = 1_000  # of one device or replica: there may be many of them
_MAX_LISTED_DEVICES = 8  # in one line of text

Facts = dict[str, Any]


def step_facts(trace: Trace, steps: Steps, epochs: Epochs) -> Facts:
    """Counts, times, and what marks the steps. What is not known is None."""
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
        "markers": [_marker(marker, index == 0) for index, marker in enumerate(steps.markers)],
        "on": [_device_steps(device, steps) for device in steps.on],
        "rows": [_step(steps[row], epochs) for row in range(min(len(steps), MAX_HOST_STEPS))],
        "rows_left_out": max(0, len(steps) - MAX_HOST_STEPS),
    }
    if steps.asynchronous and len(steps) > 1:
        from powertui.data.run.steps import work_of

        # The markers say only when the work was asked for: from the first of them to the end of the
        # last work.
        facts["work_s"] = (work_of(trace, steps).end - int(steps.start[0])) / PS_PER_S
    return facts


def _marker(marker: Marker, is_chosen: bool) -> Facts:
    """What could mark the steps, and how well it would."""
    return {
        "name": marker.name,
        "pattern": marker.pattern,
        "steps": marker.count,
        "score": marker.score,
        "why": marker.why,
        "chosen": is_chosen,
    }


def _step(step: Step, epochs: Epochs) -> Facts:
    return {
        "epoch": epochs[step.epoch].number if step.epoch is not None else None,
        "number": step.number if step.number >= 0 else None,
        "name": step.name,
        "start_s": step.start / PS_PER_S,
        "duration_s": step.duration / PS_PER_S,
        "start_to_start_s": seconds(step.start_to_start),
        "host_s": seconds(step.host),
        "device_s": seconds(step.device),
        "step_s": seconds(step.step),
    }


def _device_steps(device: StepsOn, steps: Steps) -> Facts:
    """The steps of one device, or of one replica."""
    numbers = steps.number[device.row]
    rows = []
    for row in range(min(len(device), _MAX_DEVICE_STEPS)):
        number, work_ps = int(numbers[row]), int(device.work[row])
        facts = {
            "row": int(device.row[row]),
            "number": number if number >= 0 else None,
            "start_s": int(device.start[row]) / PS_PER_S,
            "step_s": int(device.duration[row]) / PS_PER_S,
            "device_s": seconds(work_ps) if work_ps >= 0 else None,
        }
        rows.append(facts)
    return {
        "name": device.name,
        "kind": device.kind,
        "count": len(device),
        "step_s": _spread(device.duration),
        "device_s": _spread(device.work[device.work >= 0]),
        "rows": rows,
        "rows_left_out": max(0, len(device) - _MAX_DEVICE_STEPS),
    }


def seconds(ps: int | None) -> float | None:
    """A time in ps as JSON has it: in seconds, null where it is not known."""
    return None if ps is None else ps / PS_PER_S


def _spread(values: np.ndarray[Any, np.dtype[np.int64]]) -> Facts | None:
    """Median and extremes of times in ps, in s; None where there is none."""
    if not len(values):
        return None
    # Sorted once: numpy's own median and percentile take a quarter of a millisecond each.
    in_order = np.sort(values)
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
    last = len(in_order) - 1
    rank = share * last
    row = int(rank)
    low, high = float(in_order[row]), float(in_order[min(row + 1, last)])
    weight = rank - row
    # numpy starts from the nearer of the two: so the last digits are its own.
    if weight >= 0.5:
        return high - (high - low) * (1 - weight)
    return low + (high - low) * weight


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def lines(steps: Facts) -> list[str]:
    """Steps in a few lines: how many, how long, on what, and what marked them."""
    if not steps["count"]:
        return [f"none: {plain(steps['source'])}. Name a marker: --step-marker REGEX"]
    count = f"{steps['count']:,}"
    lengths = steps["step_s"] or steps["duration"]
    if steps["count"] == 1:
        lines = [f"{count}: {_duration(lengths['median_s'])}"]
    else:
        first = _duration(lengths["first_s"])
        lines = [f"{count}: {_range(lengths)}, the first {first}"]
    lines += _three_times(steps)
    if steps["asynchronous"]:
        lines.append("dispatched asynchronously: the host's call returned while the work ran on")
        if steps["work_s"] is not None and steps["device_s"] is None:
            total, mean = _duration(steps["work_s"]), _duration(steps["work_s"] / steps["count"])
            lines.append(f"their work took {total}: {mean} a step on average")
    if steps["start_to_start"] is not None:
        lines.append(f"start to start: {_range(steps['start_to_start'])}")
    lines.append(f"marked by {plain(steps['source'])}")
    if steps["confidence"]:
        lines.append(plain(steps["confidence"], 300))
    lines += _second_marker(steps)
    return lines + [plain(note, 300) for note in steps["notes"]]


def _range(spread: Facts) -> str:
    median, lowest, highest = spread["median_s"], spread["min_s"], spread["max_s"]
    return f"median {_duration(median)}, {_duration(lowest)} to {_duration(highest)}"


def _three_times(steps: Facts) -> list[str]:
    """Host, device and step time where devices were recorded, and the step time of each device.

    The latter shows a straggler.
    """
    host, device = steps["host_s"], steps["device_s"]
    if device is None:
        return []
    medians = []
    if host is not None:
        medians.append(f"host {_duration(host['median_s'])}")
    medians.append(f"device {_duration(device['median_s'])} (by {steps['device_by']})")
    medians.append(f"step {_duration(steps['step_s']['median_s'])}")
    lines = [f"medians: {', '.join(medians)}"]
    devices = [facts for facts in steps["on"] if facts["kind"] == "device"]
    if len(devices) > 1:
        names = []
        for facts in devices[:_MAX_LISTED_DEVICES]:
            median = _duration(facts["step_s"]["median_s"])
            names.append(f"{plain(facts['name'], 40)} {median}")
        line = f"on each device: {', '.join(names)}"
        if len(devices) > len(names):
            line += f" and {len(devices) - len(names)} more"
        lines.append(line)
    return lines


def _second_marker(steps: Facts) -> list[str]:
    """What else could mark the steps, and how to choose it."""
    if len(steps["markers"]) < 2:
        return []
    best, second = steps["markers"][:2]
    scores = f"score {second['score']:.2f} against {best['score']:.2f}"
    option = f"--step-marker {_quoted(plain(second['pattern'], 120))}"
    return [f"next best: {plain(second['name'], 120)} ({scores}); to choose it: {option}"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _duration(seconds: float) -> str:
    return units.duration(round(seconds * PS_PER_S))
