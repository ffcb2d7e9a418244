"""What limits a run: the first sentence of its first page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.category import Category
from powertui.data.model import ProcessKind, Trace, Track, TrackKind
from powertui.data.run.steps import work_of
from powertui.data.table import Fact
from powertui.data.tools import advice, suggestions, utilisation, xla_ops
from powertui.data.tools.advice import Verdict, percent
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.data.tools.top_ops import Top
from powertui.data.tools.utilisation import Use
from powertui.plain import plain

# Share of all ops' time from which on the first sentence names an op. Chosen, not measured.
_NOTABLE_OP_SHARE = 0.05
# Share of the steps' time with ops from which on computing is the limit. Chosen, not measured.
_MIN_BUSY_SHARE = 0.5
_NO_COMPUTING = frozenset((Category.COMMUNICATION.value, Category.INPUT.value))


def has_device(trace: Trace) -> bool:
    """Whether anything was recorded on a device."""
    return any(
        process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes
    )


def any_device(question: Question) -> bool:
    """Whether a device of any of the hosts was recorded."""
    return any(has_device(profile.trace) for profile, _, _ in question.parts)


def device_use(question: Question) -> Use:
    """How well the devices of all hosts were used."""
    return utilisation.mean(
        [
            utilisation.device_use(profile, lo, hi, question.compat)
            for profile, lo, hi in question.parts
        ]
    )


def verdict(
    question: Question, steps: Breakdown, step_shares: Shares | None, tops: Sequence[Top]
) -> Verdict:
    """What limits the steps, with the op or the part of the device that does most of it."""
    plain_verdict = advice.verdict(steps, step_shares)
    sentence = plain_verdict.sentence
    if step_shares is None:
        return plain_verdict._replace(sentence=sentence + _without_steps(question, tops))
    if plain_verdict.limit.startswith("computing") and ": see " in sentence:
        on_device = plain_verdict.limit.endswith("device")
        share = step_shares.compute if on_device else step_shares.host
        first = _notable_op(tops, share * float(steps.length.sum(dtype=np.float64)))
        if first is not None:
            sentence = sentence.replace(": see ", f"{_first_of_all(first)}: see ", 1)
    if plain_verdict.limit == "computing on the device":
        sentence += _against_peaks(device_use(question))
    named = plain_verdict._replace(sentence=sentence)
    if question.profile.steps.asynchronous and not has_device(question.profile.trace):
        return _dispatched(question, tops, named)
    return named


def _notable_op(tops: Sequence[Top], computing_ps: float) -> Top | None:
    """The op that computed longest, where that is much of all ops' and of the computing time."""
    first = next((op for op in tops if op.category not in _NO_COMPUTING), None)
    if first is None or first.share < _NOTABLE_OP_SHARE:
        return None
    return first if first.self_time >= _NOTABLE_OP_SHARE * computing_ps else None


def _first_of_all(op: Top) -> str:
    return f", first of all {_short_name(op.name)} ({percent(op.share)} of all ops' time)"


def _against_peaks(use: Use) -> str:
    """What holds the computing up, where the profile shows how well the device was used."""
    if use.memory is None or use.arithmetic is None:
        return ""
    words = (
        f" Memory runs at {percent(use.memory)} of its peak, arithmetic at "
        f"{percent(use.arithmetic)}"
    )
    if use.memory > suggestions.HIGH_UTILIZATION and use.arithmetic < suggestions.LOW_UTILIZATION:
        return f"{words}: memory is the limit."
    return f"{words}."


def _without_steps(question: Question, tops: Sequence[Top]) -> str:
    """What can be said without steps: what took most time, and how busy the busiest line was."""
    most = ""
    if tops:
        name, share = _short_name(tops[0].name), percent(tops[0].share)
        most = f" Most time went into {name} ({share} of all ops' own time)"
    busy_share, name = _busiest_line(question)
    if busy_share <= 0:
        return f"{most}: see op_stats." if most else ""
    line = (
        f"he busiest line, {plain(name, 80)}, is busy in "
        f"{percent(min(1.0, busy_share))} of the time: see op_stats."
    )
    return f"{most}; t{line}" if most else f" T{line}"


def _busiest_line(question: Question) -> tuple[float, str]:
    """(the share of the window in which the busiest line has events, its name)."""
    lo, hi = question.window
    busiest = 0.0, ""
    for _, track in question.profile.trace.tracks():
        if _shows_work(track):
            lane = track.lane(0)
            inside = np.minimum(lane.start + lane.duration, hi) - np.maximum(lane.start, lo)
            busy_ps = float(np.maximum(0, inside).sum())
            busiest = max(busiest, (busy_ps / max(1, hi - lo), track.name))
    return busiest


def _shows_work(track: Track) -> bool:
    if not track.lane_count or not len(track.events):
        return False
    return not track.derived and track.kind is not TrackKind.COUNTER


def _dispatched(question: Question, tops: Sequence[Top], synchronous: Verdict) -> Verdict:
    """The verdict on steps that are dispatched ahead on a host alone.

    It says how long they take with their work, and how much of that computes.
    """
    mean_ps, count = _step_with_work(question)
    if not mean_ps:
        return synchronous
    lo = int(question.profile.steps.start.min())
    all_ps = mean_ps * count
    busy = xla_ops.covered(question.profile.trace, lo, lo + round(all_ps)) / all_ps
    step = units.duration(round(mean_ps))
    if busy >= _MIN_BUSY_SHARE:
        most = _first_of_all(tops[0]) if tops else ""
        words = (
            f"Computing on the host limits this run: ops run in {percent(busy)} of the time. "
            f"Steps are dispatched ahead; with its work a step takes {step} on average. Look at "
            f"the ops that take most of it{most}: see op_stats."
        )
    else:
        words = (
            "The program limits this run: steps are dispatched ahead; with its work a step takes "
            f"{step} on average, and ops run in only {percent(busy)} of that. Look at what the "
            "threads do in between: see timeline."
        )
    return synchronous._replace(limit="asynchronous", sentence=words)


def _short_name(name: str) -> str:
    """The end of a path, which names the op: "…/convolution/Conv2DBackpropFilter"."""
    parts = plain(name, 200).split("/")
    return "/".join(parts) if len(parts) < 4 else "…/" + "/".join(parts[-2:])


def _step_with_work(question: Question) -> tuple[float, int]:
    """(ps of a step from the first start to the end of all their work; how many steps)."""
    steps = question.profile.steps
    if len(steps) < 2:
        return 0.0, len(steps)
    work = question.profile.cached("work of steps", lambda: work_of(question.profile.trace, steps))
    end = max(work.end, int(steps.ends().max()))
    return (end - int(steps.start.min())) / len(steps), len(steps)


def asynchronous(question: Question) -> list[Fact]:
    """How long a step takes with its work, where steps are dispatched ahead."""
    if not question.profile.steps.asynchronous or question.compat != "corrected":
        return []
    mean_ps, count = _step_with_work(question)
    if not mean_ps:
        return []
    why = f"from the first of {count} steps to the end of their work"
    return [Fact("step_work_s", "step with its work", round(mean_ps), "duration", why=why)]
