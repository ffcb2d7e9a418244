"""What to do about a run, and what to know of its profile: advice, diagnostics, notes."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data import elsewhere
from powertui.data.category import Category
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent
from powertui.data.model import ProcessKind, Trace
from powertui.data.tools import advice, device_facts, suggestions, top_ops, tpu_cores, utilisation
from powertui.data.tools.advice import Advice
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.event_types import EventType
from powertui.data.tools.framework import framework_of
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.data.tools.suggestions import Signals
from powertui.data.tools.top_ops import Top

_SHUFFLING = frozenset(("gather", "scatter", "sort", "transpose", "topk"))
_WEIGHTS = {"high": 0, "moderate": 1, "hint": 2}
_MAX_NAMED_DEVICES = 4
_MIN_SHARE_OF_STEPS = 0.5  # of the profile: with less, most of what is said is not of steps
_MAX_WARNINGS = 8
_MODES = {
    "corrected": (
        "Numbers by TensorFlow's rules up to 2.10, with copies counted as copies, on the steps "
        "that powertui finds (--compat corrected)."
    ),
    "tf2": (
        "Numbers exactly by TensorFlow's rules up to 2.10, which count copies as compute "
        "(--compat tf2)."
    ),
    "xprof": (
        "Numbers by the rules of today's converter, which counts no event of the host "
        "where a device is (--compat xprof)."
    ),
}
RULES = frozenset(_MODES.values())  # notes on how numbers are counted, not on this run


def matching_advice(
    question: Question,
    steps: Breakdown,
    step_shares: Shares | None,
    tops: Sequence[Top],
) -> list[Advice]:
    """What to do, the most pressing first."""
    profile = question.profile
    framework = framework_of(profile.trace)
    rows = advice.of_shares(
        steps,
        step_shares,
        framework=framework,
        asynchronous=profile.steps.asynchronous,
    )
    rows += advice.of_eager(top_ops.sides(question.parts, question.compat), framework)
    signals = _signals(question, steps, step_shares, tops)
    rows += suggestions.matching_advice(
        utilisation.of_tpu(profile, tpu_cores.steps(profile), signals), framework
    )
    return sorted(rows, key=lambda row: _WEIGHTS[row.weight])


def _signals(
    question: Question,
    steps: Breakdown,
    step_shares: Shares | None,
    tops: Sequence[Top],
) -> Signals:
    """The shares that suggestions are made from."""
    use = utilisation.of_question(question)
    signals = Signals(memory=use.memory, arithmetic=use.arithmetic)
    if step_shares is not None:
        signals = signals._replace(input=step_shares.input, collectives=step_shares.collectives)
        if step_shares.input > 0:
            kinds = (EventType.HOST_TO_DEVICE, EventType.WAIT_HOST)
            copied_ps = float(steps.time_by_type(kinds).sum())
            input_ps = max(1.0, float(steps.category("input").sum()))
            signals = signals._replace(transfer=copied_ps / input_ps)
    if device_facts.has_device(question.profile.trace):
        shuffles = sum(op.share for op in tops if _shuffles(op))
        special = (tops[0].name, tops[0].share) if tops else None
        signals = signals._replace(shuffles=shuffles, special=special)
    return signals


def _shuffles(op: Top) -> bool:
    words = f"{op.name}:{op.type}".lower()
    return op.category == Category.MEMORY.value and any(word in words for word in _SHUFFLING)


def diagnostics(question: Question, steps: Breakdown) -> list[tuple[str, str]]:
    """(severity, message) of everything that is wrong with the profile."""
    rows: list[tuple[str, str]] = []
    if not len(steps):
        marked = question.profile.steps
        why = "by the rules of this mode there is none" if len(marked) else marked.source
        text = f"No step was measured: {why}. Name what marks a step with --step-marker REGEX."
        rows.append(("warning", text))
    for profile, _, _ in question.parts:
        host = ""
        if len(question.parts) > 1:
            host = f"{profile.host}: "
        rows += [(severity, host + text) for severity, text in _of_trace(profile.trace)]
    return rows


def _of_trace(trace: Trace) -> list[tuple[str, str]]:
    rows = _of_devices(trace)
    if not trace.complete:
        rows.append(("warning", "The profile was not read to its end."))
    return rows + [
        ("warning", elsewhere.warning_text(warning)) for warning in trace.warnings[:_MAX_WARNINGS]
    ]


def _of_devices(trace: Trace) -> list[tuple[str, str]]:
    """What devices did not record."""
    has_device = device_facts.has_device(trace)
    silent = [
        process.name
        for process in trace.processes
        if process.kind is ProcessKind.DEVICE and not process.event_count
    ]
    # Some devices worked: the others were not used, or not profiled.
    if silent and has_device:
        return [("hint", f"{len(silent)} devices recorded nothing.")]
    if silent:
        names = ", ".join(silent[:_MAX_NAMED_DEVICES])
        why = (
            "the profiler may lack permission (NVreg_RestrictProfilingToAdminUsers=0, or "
            "CAP_SYS_ADMIN)"
        )
        return [("error", f"Nothing was recorded on {names}: {why}.")]
    if not has_device and any(process.kind is ProcessKind.HOST for process in trace.processes):
        return [("hint", "No device was profiled: the figures are the host's.")]
    return []


def notes(question: Question, steps: Breakdown) -> list[str]:
    """By which rules the figures are made."""
    sentences = [_MODES[question.compat]]
    if question.together:
        sentences.append(
            f"All {len(question.opened.profiles)} hosts together: of a step that of the host that "
            "took longest; ops are added up over the hosts."
        )
    if question.compat == "corrected":
        marked = question.profile.steps
        sentences += marked.notes
        if marked.confidence:
            sentences.append(f"Steps: {marked.source}; {marked.confidence}")
        sentences += _of_steps_alone(question, steps)
        if steps.by == "time" and len(steps):
            sentences.append(
                "Work counts toward the step during which it ran: nothing in the profile says "
                "which step launched it."
            )
    return sentences


def _of_steps_alone(question: Question, steps: Breakdown) -> list[str]:
    """That the steps are a small part of the profile, which sentences about all of it go by."""
    if question.together or not question.is_of_all_time or not len(steps):
        return []
    share = float(steps.length.sum()) / Inquiry(question).length_ps
    if share >= _MIN_SHARE_OF_STEPS:
        return []
    return [f"The steps are {percent(share)} of the profile: shares of a step are of that alone."]
