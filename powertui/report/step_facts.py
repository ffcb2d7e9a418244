"""The steps of one profile: as the plain dict of the report's JSON, and as a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.model import PS_PER_S, Epochs, Int64s, Marker, Step, Steps, StepsOn, Trace
from powertui.plain import plain
from powertui.report.text import duration

# Bounds of the JSON: a month of steps must not become a gigabyte. Chosen, not measured.
MAX_HOST_STEPS = 5_000
_MAX_DEVICE_STEPS = 1_000  # of one device or replica: there may be many of them
_MAX_LISTED_DEVICES = 8  # in one line of text
# Cells that texts of a file may take, so that a hostile one fills no page. Chosen, not measured.
_MAX_SENTENCE_CELLS = 300
_MAX_MARKER_CELLS = 120
# Medians that are nearer than this are one number to a reader. Chosen, not measured.
_MIN_OTHER_MEDIAN = 0.01

Facts = dict[str, Any]


def step_facts(trace: Trace, steps: Steps, epochs: Epochs) -> Facts:
    """Counts, times, and what marks the steps. What is not known is None."""
    gaps = steps.start_to_start()
    listed = range(min(len(steps), MAX_HOST_STEPS))
    facts: Facts = {
        "count": len(steps),
        "source": steps.source,
        "asynchronous": steps.asynchronous,
        "inferred": steps.inferred,
        "confidence": steps.confidence or None,
        "notes": list(steps.notes),
        "duration": _spread(steps.duration),
        "start_to_start": _spread_of_known(gaps),
        "length": _spread(steps.stretch_lengths()[steps.lengths() >= 0]),
        "host_s": _spread_of_known(steps.host),
        "device_s": _spread_of_known(steps.device),
        "step_s": _spread_of_known(steps.step),
        "usual": _usual(steps, epochs),
        "device_by": steps.device_by or None,
        "work_s": None,
        "markers": [_marker(marker, index == 0) for index, marker in enumerate(steps.markers)],
        "on": [_device_steps(device, steps) for device in steps.on],
        "rows": [_step(steps[row], epochs) for row in listed],
        "rows_left_out": max(0, len(steps) - MAX_HOST_STEPS),
    }
    if steps.asynchronous and len(steps) > 1:
        from powertui.data.run.dispatch import work_done

        # The markers say only when the work was asked for: from the first of them to the end of the
        # last work.
        work_ps = work_done(trace, steps).end - int(steps.start[0])
        facts["work_s"] = seconds(work_ps)
    return facts


def _usual(steps: Steps, epochs: Epochs) -> Facts | None:
    """The median of the steps that do not trace, as the screens have it; None where all count."""
    is_usual = steps.begin_outside(epochs.tracing) & (steps.step >= 0)
    left_out = len(steps) - int(is_usual.sum())
    if not is_usual.any() or not left_out:
        return None
    in_order = np.sort(steps.step[is_usual])
    return {"median_s": _quantile(in_order, 0.5) / PS_PER_S, "left_out": left_out}


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
    epoch_number = None
    if step.epoch is not None:
        epoch_number = epochs[step.epoch].number
    return {
        "epoch": epoch_number,
        "number": _known_number(step.number),
        "name": step.name,
        "start_s": seconds(step.start),
        "duration_s": seconds(step.duration),
        "start_to_start_s": seconds(step.start_to_start),
        "host_s": seconds(step.host),
        "device_s": seconds(step.device),
        "step_s": seconds(step.step),
    }


def _known_number(number: int) -> int | None:
    """The number of a step; steps without one have -1."""
    return number if number >= 0 else None


def _device_steps(device: StepsOn, steps: Steps) -> Facts:
    """The steps of one device, or of one replica."""
    numbers = steps.number[device.row]
    rows = []
    for row in range(min(len(device), _MAX_DEVICE_STEPS)):
        number = int(numbers[row])
        work_ps = int(device.work[row])
        facts = {
            "row": int(device.row[row]),
            "number": _known_number(number),
            "start_s": seconds(int(device.start[row])),
            "step_s": seconds(int(device.duration[row])),
            "device_s": seconds(work_ps) if work_ps >= 0 else None,
        }
        rows.append(facts)
    return {
        "name": device.name,
        "kind": device.kind,
        "count": len(device),
        "step_s": _spread(device.duration),
        "device_s": _spread_of_known(device.work),
        "rows": rows,
        "rows_left_out": max(0, len(device) - _MAX_DEVICE_STEPS),
    }


def seconds(ps: int | None) -> float | None:
    """A time in ps as JSON has it: in seconds, null where it is not known."""
    return None if ps is None else ps / PS_PER_S


def _spread_of_known(times_ps: Int64s) -> Facts | None:
    """The same of those that are known; a time that is not known is negative."""
    return _spread(times_ps[times_ps >= 0])


def _spread(times_ps: Int64s) -> Facts | None:
    """Median and extremes of times in ps, in s; None where there is none."""
    if not len(times_ps):
        return None
    # Sorted once: numpy's own median and percentile take a quarter of a millisecond each.
    in_order = np.sort(times_ps)
    return {
        "median_s": _quantile(in_order, 0.5) / PS_PER_S,
        "mean_s": float(times_ps.mean()) / PS_PER_S,
        "p95_s": _quantile(in_order, 0.95) / PS_PER_S,
        "min_s": int(in_order[0]) / PS_PER_S,
        "max_s": int(in_order[-1]) / PS_PER_S,
        "first_s": int(times_ps[0]) / PS_PER_S,
    }


def _quantile(in_order: Int64s, share: float) -> float:
    """Between two values in proportion, as numpy's percentile by default."""
    last = len(in_order) - 1
    rank = share * last
    row = int(rank)
    row_above = min(row + 1, last)
    low = float(in_order[row])
    high = float(in_order[row_above])
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
    lines = [_count_and_length(steps), *_three_times(steps)]
    if steps["asynchronous"]:
        lines += _asynchronous_work(steps)
    if steps["start_to_start"] is not None:
        label = _start_to_start(steps)
        between = _range(steps["start_to_start"])
        lines.append(f"{label}: {between}{_other_median(steps)}")
    lines.append(f"marked by {plain(steps['source'])}")
    if steps["confidence"]:
        lines.append(plain(steps["confidence"], _MAX_SENTENCE_CELLS))
    lines += _second_marker(steps)
    for note in steps["notes"]:
        lines.append(plain(note, _MAX_SENTENCE_CELLS))
    return lines


def _asynchronous_work(steps: Facts) -> list[str]:
    """That the work ran on, and how long it took."""
    lines = ["dispatched asynchronously: the host's call returned while the work ran on"]
    work_s = steps["work_s"]
    # Where devices were recorded, their own times say more than this mean.
    if work_s is not None and steps["device_s"] is None:
        total = duration(work_s)
        mean = duration(work_s / steps["count"])
        lines.append(f"their work took {total}: {mean} a step on average")
    return lines


def _count_and_length(steps: Facts) -> str:
    count = f"{steps['count']:,}"
    lengths = steps["step_s"] or steps["duration"]
    if steps["count"] == 1:
        return f"{count}: {duration(lengths['median_s'])}"
    first = duration(lengths["first_s"])
    usual = steps["usual"]
    if usual is None:
        return f"{count}: {_range(lengths)}, the first {first}"
    median = duration(usual["median_s"])
    traced = usual["left_out"]
    verb = "trace" if traced > 1 else "traces"
    without = f"without {traced:,} that {verb}"
    return f"{count}: median {median} ({without}), {_extremes(lengths)}, the first {first}"


def _start_to_start(steps: Facts) -> str:
    """What the times between starts are, and where those of the steps alone differ, who counts
    them: a step of which much lies before the next one has two lengths.
    """
    lengths = steps["step_s"] or steps["duration"]
    between_s = steps["start_to_start"]["median_s"]
    if abs(lengths["median_s"] - between_s) <= _MIN_OTHER_MEDIAN * between_s:
        return "start to start"
    return "start to start, as pages and sentences count"


def _other_median(steps: Facts) -> str:
    """The median that compare and check count from, where it differs: the last step has no next
    one, and counts there up to its own end.
    """
    if steps["length"] is None:
        return ""
    between_s = steps["start_to_start"]["median_s"]
    length_s = steps["length"]["median_s"]
    if abs(length_s - between_s) <= _MIN_OTHER_MEDIAN * between_s:
        return ""
    return f"; with the last step, as compare and check count, median {duration(length_s)}"


def _range(spread: Facts) -> str:
    median = duration(spread["median_s"])
    return f"median {median}, {_extremes(spread)}"


def _extremes(spread: Facts) -> str:
    lowest = duration(spread["min_s"])
    highest = duration(spread["max_s"])
    return f"{lowest} to {highest}"


def _three_times(steps: Facts) -> list[str]:
    """Host, device and step time where devices were recorded, and the step time of each device.

    The latter shows a straggler.
    """
    host = steps["host_s"]
    device = steps["device_s"]
    if device is None:
        return []
    # Replicas are no devices: each of those has several.
    devices = [facts for facts in steps["on"] if facts["kind"] == "device"]
    medians = []
    if host is not None:
        host_median = duration(host["median_s"])
        medians.append(f"host {host_median}")
    which = "any device" if len(devices) > 1 else "device"
    device_median = duration(device["median_s"])
    medians.append(f"{which} {device_median} (by {steps['device_by']})")
    step_median = duration(steps["step_s"]["median_s"])
    medians.append(f"step {step_median}")
    lines = [f"medians: {', '.join(medians)}"]
    if len(devices) > 1:
        lines.append(_median_of_each(devices))
    return lines


def _median_of_each(devices: Sequence[Facts]) -> str:
    medians = []
    for device in devices[:_MAX_LISTED_DEVICES]:
        name = plain(device["name"], 40)
        medians.append(f"{name} {duration(device['step_s']['median_s'])}")
    line = f"on each device: {', '.join(medians)}"
    not_listed = len(devices) - len(medians)
    if not_listed:
        line += f" and {not_listed} more"
    return line


def _second_marker(steps: Facts) -> list[str]:
    """What else could mark the steps, and how to choose it."""
    if len(steps["markers"]) < 2:
        return []
    best, second = steps["markers"][:2]
    name = plain(second["name"], _MAX_MARKER_CELLS)
    pattern = _quoted(plain(second["pattern"], _MAX_MARKER_CELLS))
    scores = f"score {second['score']:.2f} against {best['score']:.2f}"
    return [f"next best: {name} ({scores}); to choose it: --step-marker {pattern}"]


def _quoted(text: str) -> str:
    """The text as one word of a shell: its own quotes end the quoted part and begin it again."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
