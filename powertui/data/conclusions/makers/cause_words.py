"""The sentences of causes of time: what took how much, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from powertui.data.conclusions.conclusion import Confidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import computing
from powertui.data.conclusions.makers.blame import Purpose
from powertui.data.conclusions.makers.time_causes import TimeCause
from powertui.data.conclusions.words import percent, seconds, whole_percent
from powertui.data.model import PS_PER_S
from powertui.data.opened import Profile
from powertui.data.tools import framework_advice
from powertui.data.tools.activity import Activity
from powertui.data.tools.framework import Framework
from powertui.data.tools.wall_time import Part, WallTime

_FRAMES = {
    Framework.TENSORFLOW: "Record Python frames to see what runs: "
    "ProfilerOptions(python_tracer_level=1).",
    Framework.PYTORCH: "Record Python frames to see what runs: profile(with_stack=True).",
    Framework.JAX: "Record Python frames to see what runs: ProfileOptions.python_tracer_level = 1.",
    Framework.UNKNOWN: "Record Python frames to see what runs.",
}
_MAX_NAMED_STEPS = 3
# Of the time that calls take, as small operations in crowds, from which on these are the reason.
# Chosen, not measured; eager Keras has 0.45 on a busy machine (make causes).
_MIN_SMALL_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class CauseWords:
    """One cause, with all that its sentence needs."""

    inquiry: Inquiry
    profile: Profile
    wall: WallTime
    cause: TimeCause

    @property
    def amount(self) -> str:
        """How much of the time: "84 % of the time (1.2 s of 1.4 s)"."""
        return (
            f"{percent(self.share)} of the time ({_seconds(self.cause.ps)} of "
            f"{_seconds(self.wall.length)})"
        )

    @property
    def share(self) -> float:
        """Of the profile."""
        return self.cause.ps / self.wall.length

    @property
    def each(self) -> str:
        """How long it takes in each step: "30 ms"."""
        return _seconds(self.cause.ps / max(1, len(self.wall.periods)))

    @property
    def who(self) -> str:
        """Whom the profile names for it."""
        return self.cause.blame.label

    @property
    def steps(self) -> str:
        """The slow steps: "step 14", "3 of 24 steps (every 8th)"."""
        slow = self.cause.slow
        if len(slow) <= 1:
            return self._name(int(slow[0]))
        distances = np.unique(np.diff(slow))
        often = ""
        if len(distances) == 1 and distances[0] > 1:
            often = f" (every {_ordinal(int(distances[0]))})"
        elif len(slow) <= _MAX_NAMED_STEPS:
            often = f" ({', '.join(self._name(row) for row in slow.tolist())})"
        return f"{len(slow):,} of {len(self.wall.periods):,} steps{often}"

    def _name(self, row: int) -> str:
        """A step as the program numbers it."""
        step = int(self.wall.periods.row[row])
        steps = self.profile.steps
        if step >= 0 and steps.number[step] >= 0:
            return f"step {int(steps.number[step])}"
        return f"step {row + 1} of {len(self.wall.periods)}"


@dataclass(frozen=True)
class Told:
    """What a conclusion says of a cause."""

    sentence: str
    short: str
    tool: str
    next: str
    confidence: Confidence = Confidence.SURE
    doubt: str = ""


def told(words: CauseWords) -> Told:
    """The words for a cause."""
    cause = words.cause
    if cause.is_of_few:
        return _of_few(words)
    if cause.part is Part.BETWEEN:
        return _between(words)
    return _TELLERS[cause.kind](words)


def _seconds(ps: float) -> str:
    return seconds(ps / PS_PER_S)


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _rounded(count: int) -> str:
    """A count with two digits: "36,000"."""
    digits = max(0, len(str(count)) - 2)
    return f"{round(count, -digits):,}"


# ── what few steps took ──────────────────────────────────────────────────────────────────────────


_FEW_SUBJECTS = {
    Kind.GARBAGE_COLLECTION: "Garbage collection",
    Kind.CHECKPOINT: "Saving checkpoints",
    Kind.VALIDATION: "Evaluation",
    Kind.LOGGING: "Logging",
    Kind.INPUT: "Waiting for input",
    Kind.COMPILATION: "Tracing and compiling",
    Kind.STRAGGLER: "Waiting for another replica",
    Kind.WAITING: "Waiting",
}
_FEW_NEXT = {
    Kind.GARBAGE_COLLECTION: "Collect between epochs, or call gc.freeze() after the start.",
    Kind.CHECKPOINT: "Save less often, or in the background.",
    Kind.VALIDATION: "Evaluate less often, on fewer batches, or beside the training.",
    Kind.LOGGING: "Log less often, or in the background.",
    Kind.INPUT: "Look at what these batches need: larger files, a refilled shuffle buffer.",
    Kind.COMPILATION: "Compiling happens once for each shape: profile later steps, or keep the "
    "shapes of inputs the same.",
}


def _of_few(words: CauseWords) -> Told:
    cause = words.cause
    where = "in" if cause.part is Part.STEP else "after"
    if cause.kind is Kind.COMPILATION and Activity.COMPILING not in cause.activities[:1]:
        return _first_step(words)
    if cause.kind is Kind.PAUSE:
        return _pause(words, where)
    subject = _FEW_SUBJECTS.get(cause.kind)
    who = f": {words.who}" if words.who else ""
    if subject is None:
        subject = _work(words)
    if cause.kind is Kind.SLOW_STEPS and not words.who and cause.part is Part.BETWEEN:
        first = cause.activities[0] if cause.activities else Activity.NOTHING
        if first is not Activity.RUNTIME:
            who = ", probably an evaluation, a checkpoint, or logging"
    return Told(
        sentence=f"{_capital(subject)} {where} {words.steps} takes {words.amount}{who}.",
        short=f"{_short(cause.kind)} {whole_percent(words.share)}",
        tool="timeline",
        next=_FEW_NEXT.get(cause.kind, "See in the timeline what these steps do."),
        confidence=Confidence.SURE if words.who else Confidence.LIKELY,
    )


def _first_step(words: CauseWords) -> Told:
    return Told(
        sentence=f"The first step takes longer than the others, {words.amount}: probably tracing "
        "and compiling.",
        short=f"compiling {whole_percent(words.share)}",
        tool="timeline",
        next="It happens once: profile later steps, or leave the first one out.",
        confidence=Confidence.LIKELY,
    )


def _pause(words: CauseWords, where: str) -> Told:
    cause = words.cause
    longest = _seconds(float((cause.stretches.end - cause.stretches.start).max(initial=0)))
    if where == "in":
        guess = "garbage collection, a lock, a sleep, a file, or another process"
    else:
        guess = "a checkpoint, an evaluation, logging, a lock, or garbage collection"
    whom = f"{words.who} ran then" if words.who else "no thread recorded anything then"
    if len(cause.slow) == 1:
        pause = f"A pause {where} {words.steps} takes {words.amount}"
    else:
        pause = f"Pauses {where} {words.steps} take {words.amount}, up to {longest} each"
    return Told(
        sentence=f"{pause}: {whom}. Possible causes: {guess}.",
        short=f"pause {whole_percent(words.share)}",
        tool="timeline",
        next=_FRAMES[words.inquiry.framework],
        confidence=Confidence.LIKELY,
        doubt="Nothing was recorded then: what it was is a guess.",
    )


def _work(words: CauseWords) -> str:
    first = words.cause.activities[0] if words.cause.activities else Activity.NOTHING
    return _ACTIVITIES.get(first, "other work")


_ACTIVITIES = {
    Activity.PYTHON: "Python",
    Activity.RUNTIME: "calls of the framework",
    Activity.SMALL_OPS: "calling small operations",
    Activity.SHORT_OPS: "further computing",
    Activity.COMPUTING: "further computing",
    Activity.PROGRAM: "further computing",
    Activity.DEVICE_COMPUTING: "further computing",
    Activity.COPYING: "copying",
    Activity.DEVICE_COPYING: "copying",
}


# ── between steps ────────────────────────────────────────────────────────────────────────────────


_BETWEEN_SUBJECTS = {
    Kind.CHECKPOINT: "Saving checkpoints",
    Kind.VALIDATION: "Evaluation",
    Kind.LOGGING: "Logging",
    Kind.INPUT: "Preparing input",
    Kind.WAITING: "Waiting",
    Kind.GARBAGE_COLLECTION: "Garbage collection",
}


def _between(words: CauseWords) -> Told:
    cause = words.cause
    subject = _BETWEEN_SUBJECTS.get(cause.kind)
    silent = bool(cause.activities) and cause.activities[0] in (
        Activity.NOTHING,
        Activity.WAITING,
    )
    after_each = f"{words.each} after each step"
    if len(words.wall.periods) == 1:
        after_each = "after the only step"
    if subject is not None:
        who = f": {words.who}" if words.who else ""
        sentence = f"{subject} between the steps takes {words.amount}, {after_each}{who}."
    elif words.who:
        sentence = f"Between the steps, {words.who} takes {words.amount}, {after_each}."
    elif silent:
        sentence = (
            f"Between the steps {words.amount} passes, {after_each}, and no event was recorded "
            f"there: {_guess_between(words)}."
        )
    else:
        sentence = (
            f"What the program does between the steps takes {words.amount}, {after_each}: "
            f"mostly {_work(words)}."
        )
    return Told(
        sentence=_capital(sentence),
        short=f"between steps {whole_percent(words.share)}",
        tool="timeline",
        next=_FRAMES[words.inquiry.framework]
        if silent and not words.who
        else "Do it less often, or in another thread.",
        confidence=Confidence.LIKELY if silent and not words.who else Confidence.SURE,
        doubt="Nothing was recorded there: what it was is a guess." if silent else "",
    )


def _guess_between(words: CauseWords) -> str:
    if _is_keras(words):
        return "callbacks (on_train_batch_end), logging, or other Python code"
    return "callbacks, logging, waiting for the next request or batch, or other Python code"


def _is_keras(words: CauseWords) -> bool:
    source = words.profile.steps.source
    return "on_iterator" in source or "train_function" in source


# ── what every step takes ────────────────────────────────────────────────────────────────────────


def _input(words: CauseWords) -> Told:
    who = f": {words.who}" if words.who and words.cause.blame.purpose is not None else ""
    return Told(
        sentence=f"Waiting for input takes {words.amount}{who}.",
        short=f"input {whole_percent(words.share)}",
        tool="input_pipeline_analyzer",
        next=framework_advice.READ_AHEAD[words.inquiry.framework],
    )


def _collectives(words: CauseWords) -> Told:
    return Told(
        sentence=f"Communication between replicas (collectives) takes {words.amount}.",
        short=f"collectives {whole_percent(words.share)}",
        tool="op_stats",
        next="See which collectives take it, and overlap them with computing.",
    )


def _straggler(words: CauseWords) -> Told:
    return Told(
        sentence="A straggler: one replica comes late to the collectives, and the others wait for "
        f"it in {words.amount}.",
        short=f"straggler {whole_percent(words.share)}",
        tool="timeline",
        next="Compare the replicas in the timeline: give each the same work.",
        confidence=Confidence.LIKELY,
    )


def _copies(words: CauseWords) -> Told:
    return Told(
        sentence=f"Copying and rearranging tensors takes {words.amount}.",
        short=f"copies {whole_percent(words.share)}",
        tool="op_stats",
        next="See which tensors are copied; keep them where and as they are needed.",
    )


def _compilation(words: CauseWords) -> Told:
    count = len(words.wall.periods)
    again = ""
    if count:
        compiling = words.wall.timeline[Activity.COMPILING]
        periods = words.wall.periods
        steps = int((compiling.inside(periods.start, periods.end) > 0).sum())
        again = f", in {steps:,} of {count:,} steps: each time for other shapes or Python values"
    return Told(
        sentence=f"Tracing and compiling anew takes {words.amount}{again}.",
        short=f"compiling {whole_percent(words.share)}",
        tool="timeline",
        next="Keep the shapes of inputs the same, and pass numbers as tensors.",
    )


def _compute(words: CauseWords) -> Told:
    is_on_device = Activity.DEVICE_COMPUTING in words.cause.activities[:1]
    where = "the devices" if is_on_device else "the host"
    op = computing.notable_op(words.inquiry.ops, words.cause.ps)
    most = f". The largest op is {computing.op_words(op)}" if op is not None else ""
    return Told(
        sentence=f"Computing on {where} takes {words.amount}{most}.",
        short=f"compute {whole_percent(words.share)}",
        tool="framework_op_stats",
        next="Start with the operations that take most of it.",
    )


def _launch(words: CauseWords) -> Told:
    calls = words.wall.timeline.small_ops
    small = words.wall.timeline[Activity.SMALL_OPS].length
    if small < _MIN_SMALL_SHARE * words.cause.ps:
        who = f", most of all {words.who}" if words.who else ""
        sentence = (
            f"Calls of the framework itself take {words.amount}{who}, while no operation runs."
        )
    else:
        per_call = _seconds(words.cause.ps / max(1, calls))
        sentence = (
            f"Launching many small operations one by one takes {words.amount}: about "
            f"{_rounded(calls)} calls, one every {per_call}."
        )
    return Told(
        sentence=sentence,
        short=f"launching {whole_percent(words.share)}",
        tool="op_stats",
        next=framework_advice.LAUNCH_LESS[words.inquiry.framework],
    )


def _python(words: CauseWords) -> Told:
    who = words.who or "Python code"
    where = " in the steps" if len(words.wall.periods) else ""
    subject = "Python"
    if words.cause.blame.purpose is Purpose.INPUT:
        subject = "Preparing input in Python"
    return Told(
        sentence=f"{subject} takes {words.amount}{where}, while no operation runs: {who}.",
        short=f"Python {whole_percent(words.share)}",
        tool="timeline",
        next=framework_advice.LESS_PYTHON[words.inquiry.framework],
    )


def _waiting(words: CauseWords) -> Told:
    waits_in = words.cause.blame.waits_in
    caller = words.who or "the program"
    who = f"{_WAITS.get(waits_in, waits_in)}, called by {caller}" if waits_in else f"in {caller}"
    return Told(
        sentence=f"Waiting takes {words.amount}: {who}.",
        short=f"waiting {whole_percent(words.share)}",
        tool="timeline",
        next="See what the function waits for: another thread, a file, or time to pass.",
        confidence=Confidence.LIKELY,
    )


_WAITS = {"acquire": "a lock (acquire)"}


def _unknown(words: CauseWords) -> Told:
    count = len(words.wall.periods)
    each = f", {words.each} of each step" if count else ""
    return Told(
        sentence=f"No event was recorded in {words.amount}{each}: Python code (such as "
        "preprocessing), files, a sleep, or a lock.",
        short=f"not recorded {whole_percent(words.share)}",
        tool="timeline",
        next=_FRAMES[words.inquiry.framework],
        confidence=Confidence.UNSURE,
        doubt="Nothing was recorded then: what it was is a guess.",
    )


def _evaluation(words: CauseWords) -> Told:
    count = len(words.wall.evaluations.start)
    often = f", {count:,} times" if count > 1 else ""
    train = words.wall.usual[Part.STEP].sum() + words.wall.extra[Part.STEP].sum()
    longer = ", longer than training" if words.cause.ps > train else ""
    return Told(
        sentence=f"Validation takes {words.amount}{often}{longer}.",
        short=f"validation {whole_percent(words.share)}",
        tool="timeline",
        next="Validate less often, on fewer batches, or beside the training.",
        confidence=Confidence.LIKELY,
    )


def _purposeful(words: CauseWords) -> Told:
    subject = _BETWEEN_SUBJECTS[words.cause.kind]
    who = f": {words.who}" if words.who else ""
    return Told(
        sentence=f"{subject} takes {words.amount}{who}.",
        short=f"{_short(words.cause.kind)} {whole_percent(words.share)}",
        tool="timeline",
        next=_FEW_NEXT.get(words.cause.kind, "Do it less often, or in another thread."),
    )


_TELLERS: dict[Kind, Callable[[CauseWords], Told]] = {
    Kind.INPUT: _input,
    Kind.COLLECTIVES: _collectives,
    Kind.STRAGGLER: _straggler,
    Kind.COPIES: _copies,
    Kind.RECOMPILATION: _compilation,
    Kind.COMPILATION: _compilation,
    Kind.COMPUTE: _compute,
    Kind.LAUNCH: _launch,
    Kind.PYTHON: _python,
    Kind.WAITING: _waiting,
    Kind.UNKNOWN_TIME: _unknown,
    Kind.VALIDATION: _evaluation,
    Kind.CHECKPOINT: _purposeful,
    Kind.LOGGING: _purposeful,
    Kind.GARBAGE_COLLECTION: _purposeful,
}


def _short(kind: Kind) -> str:
    return kind.value.replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
