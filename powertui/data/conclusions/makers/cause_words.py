"""The sentences of causes of time: what took how much, where, and what to do about it."""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.conclusions.conclusion import Confidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import python_time
from powertui.data.conclusions.makers.purposes import Purpose
from powertui.data.conclusions.makers.time_cause import TimeCause
from powertui.data.conclusions.words import percent, seconds, whole_percent
from powertui.data.model import PS_PER_S
from powertui.data.opened import Profile
from powertui.data.tools import framework_advice
from powertui.data.tools.activity import ActivityKind
from powertui.data.tools.framework import Framework
from powertui.data.tools.wall_time import RunPart, WallTime
from powertui.value_types import dataclass

RECORD_FRAMES = {
    Framework.TENSORFLOW: "Record Python frames to see what runs: "
    "powertui capture --python-level 1, or in the program ProfilerOptions(python_tracer_level=1).",
    Framework.PYTORCH: "Record Python frames to see what runs: profile(with_stack=True).",
    Framework.JAX: "Record Python frames to see what runs: "
    "powertui capture --python-level 1, or in the program ProfileOptions.python_tracer_level = 1.",
    Framework.UNKNOWN: "Record Python frames to see what runs.",
}
_MAX_NAMED_STEPS = 3  # of more steps a sentence says how many they are


@dataclass(frozen=True, eq=False)
class CauseWords:
    """One cause, with all that its sentence needs."""

    inquiry: Inquiry
    profile: Profile
    wall: WallTime
    cause: TimeCause
    compiled_ps: int = 0  # what a program does once before its steps, where it is much

    @property
    def amount(self) -> str:
        """How much of the time: "84 % of the time (1.2 s of 1.4 s)"."""
        amount = (
            f"{percent(self.share)} of the time ({short_time(self.cause.ps)} of "
            f"{short_time(self.wall.length)})"
        )
        if not self.compiled_ps:
            return amount
        share = self.cause.ps / (self.wall.length - self.compiled_ps)
        return f"{amount}, or {percent(share)} of what is left after tracing and compiling"

    @property
    def where(self) -> str:
        """With a blank, where it is said: before the first step. Empty for what all steps take."""
        return " before the first step" if self.cause.part is RunPart.BEFORE else ""

    @property
    def share(self) -> float:
        """Of the profile."""
        return self.cause.ps / self.wall.length

    @property
    def each(self) -> str:
        """How long it takes in a step, on average: "30 ms"."""
        return short_time(self.cause.ps / max(1, len(self.wall.periods)))

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
        often = ""
        if distance := self._period():
            often = f" (every {_ordinal(distance)})"
        elif len(slow) <= _MAX_NAMED_STEPS:
            often = f" ({', '.join(str(self._number(row)) for row in slow.tolist())})"
        return f"{len(slow):,} of {len(self.wall.periods):,} steps{often}"

    def _period(self) -> int:
        """The distance of slow steps that come at equal distances all through the run, else 0.

        Two of 18 steps that are three apart are not every third one.
        """
        slow = self.cause.slow
        distances = wire.distinct(np.diff(slow))
        if len(distances) != 1 or distances[0] <= 1:
            return 0
        distance = int(distances[0])
        begins_late = int(slow[0]) >= distance
        ends_early = int(slow[-1]) + distance < len(self.wall.periods)
        return 0 if begins_late or ends_early else distance

    def _name(self, row: int) -> str:
        """A step as the program numbers it, else by its place."""
        number = self._number(row)
        if self._is_numbered(row):
            return f"step {number}"
        return f"step {number} of {len(self.wall.periods)}"

    def _number(self, row: int) -> int:
        if self._is_numbered(row):
            return int(self.profile.steps.number[self.wall.periods.row[row]])
        return row + 1

    def _is_numbered(self, row: int) -> bool:
        step = int(self.wall.periods.row[row])
        return step >= 0 and int(self.profile.steps.number[step]) >= 0


@dataclass(frozen=True)
class Wording:
    """What a conclusion says of a cause."""

    sentence: str
    short: str
    tool: str
    next: str
    confidence: Confidence = Confidence.SURE
    doubt: str = ""


def short_time(ps: float) -> str:
    return seconds(ps / PS_PER_S)


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


# ── what few steps took ──────────────────────────────────────────────────────────────────────────


_FEW_SUBJECTS = {
    Kind.GARBAGE_COLLECTION: "Garbage collection",
    Kind.CHECKPOINT: "Saving checkpoints",
    Kind.VALIDATION: "Evaluation",
    Kind.LOGGING: "Logging",
    Kind.INPUT: "Waiting for input",
    Kind.COMPILATION: "Tracing and compiling",
    Kind.RECOMPILATION: "Tracing and compiling again",
    Kind.STRAGGLER: "Waiting for another replica",
    Kind.WAITING: "Waiting",
}
WHAT_TO_DO = {
    Kind.GARBAGE_COLLECTION: "Collect between epochs, or call gc.freeze() after the start.",
    Kind.CHECKPOINT: "Save less often, or in the background.",
    Kind.VALIDATION: "Evaluate less often, on fewer batches, or beside the training.",
    Kind.LOGGING: "Log less often, or in the background.",
    Kind.INPUT: "Look at what these batches need: larger files, a refilled shuffle buffer.",
    Kind.WAITING: "See what it waits for: another thread, a file, or time to pass.",
    Kind.RECOMPILATION: "Keep the shapes of inputs the same, and pass numbers as tensors.",
    Kind.COMPILATION: "Compiling happens once for each shape: profile later steps, or keep the "
    "shapes of inputs the same.",
}


WAITS_IN_WORDS = {
    "acquire": "a lock (acquire)",
    "waitpid": "another process (waitpid)",
    **dict.fromkeys(("poll", "select"), "another process or the network"),
    **dict.fromkeys(("recv", "recv_into", "recvfrom"), "an answer over the network"),
    "connect": "a connection over the network",
    "accept": "a request over the network",
}


def words_of_few(words: CauseWords) -> Wording:
    cause = words.cause
    where = "in" if cause.part is RunPart.STEP else "after"
    if cause.kind is Kind.COMPILATION and ActivityKind.COMPILING not in cause.activities[:1]:
        return _first_step(words)
    if cause.kind is Kind.PAUSE:
        return _pause(words, where)
    if cause.has_same_calls and not cause.lacks_backward:
        return _same_calls(words)
    subject, who = _subject_of_few(words)
    return Wording(
        sentence=f"{_capital(subject)} {where} {words.steps} takes {words.amount}{who}.",
        short=f"{kind_in_words(cause.kind)} {whole_percent(words.share)}",
        tool="timeline",
        next=WHAT_TO_DO.get(cause.kind, "See in the timeline what these steps do."),
        confidence=Confidence.SURE if words.who and not cause.lacks_backward else Confidence.LIKELY,
    )


def _same_calls(words: CauseWords) -> Wording:
    """Steps that call nothing more than the others do."""
    who = f", most of all {words.who}" if words.who else ""
    return Wording(
        sentence=f"In {words.steps} the same calls as in the others take longer, {words.amount}"
        f"{who}: larger inputs, or cores that other processes or threads use.",
        short=f"{kind_in_words(words.cause.kind)} {whole_percent(words.share)}",
        tool="timeline",
        next="See what else ran on this machine then, and how large the inputs of these steps are.",
        confidence=Confidence.LIKELY,
    )


def _subject_of_few(words: CauseWords) -> tuple[str, str]:
    """(what takes the time, whom to name for it at the end of the sentence)."""
    cause = words.cause
    subject = _FEW_SUBJECTS.get(cause.kind)
    if cause.lacks_backward:
        who = f": {words.who}" if words.who else ""
        return "Computing without a backward pass, probably an evaluation,", who
    if cause.kind is Kind.VALIDATION and cause.blame.purpose is not Purpose.VALIDATION:
        subject = "Preparing and ending validation"
    if subject is not None:
        waits_in = cause.blame.waits_in if cause.kind is Kind.WAITING else ""
        who = words.who or WAITS_IN_WORDS.get(waits_in, waits_in)
        return subject, f": {who}" if who else ""
    first = cause.activities[0] if cause.activities else None
    if words.who:
        if cause.blame.purpose is Purpose.CALLBACK:
            return f"The callback {words.who}", ""
        if first is ActivityKind.RUNTIME:
            return f"The call {words.who}", ""
        return _work(words), f": {words.who}"
    is_between = cause.kind is Kind.SLOW_STEPS and cause.part is RunPart.BETWEEN
    if is_between and first is not ActivityKind.RUNTIME:
        return _work(words), ", probably an evaluation, a callback, a checkpoint, or logging"
    return _work(words), ""


def _first_step(words: CauseWords) -> Wording:
    return Wording(
        sentence=f"The first step takes longer than the others, {words.amount}: probably tracing "
        "and compiling.",
        short=f"compiling {whole_percent(words.share)}",
        tool="timeline",
        next="It happens once: profile later steps, or leave the first one out.",
        confidence=Confidence.LIKELY,
    )


def _pause(words: CauseWords, where: str) -> Wording:
    cause = words.cause
    # Like the sum, what a step took beyond the usual: its whole length would be more than that.
    each = short_time(cause.ps / max(1, len(cause.slow)))
    if where == "in":
        guess = "garbage collection, a lock, a sleep, a file, or another process"
    else:
        guess = (
            "a callback, a checkpoint, an evaluation, logging, garbage collection, or other "
            "Python code"
        )
    whom = f"{words.who} ran then" if words.who else "no thread recorded anything then"
    if len(cause.slow) == 1:
        pause = f"A pause {where} {words.steps} takes {words.amount}"
    else:
        pause = f"Pauses {where} {words.steps} take {words.amount}, about {each} each"
    return Wording(
        sentence=f"{pause}: {whom}. Possible causes: {guess}.",
        short=f"pause {whole_percent(words.share)}",
        tool="timeline",
        next=RECORD_FRAMES[words.inquiry.framework],
        confidence=Confidence.LIKELY,
        doubt="Nothing was recorded then: what it was is a guess.",
    )


def _work(words: CauseWords) -> str:
    first = words.cause.activities[0] if words.cause.activities else ActivityKind.NOTHING
    return _ACTIVITIES.get(first, "other work")


_ACTIVITIES = {
    ActivityKind.PYTHON: "Python",
    ActivityKind.CALLED_PYTHON: "Python that operations call back",
    ActivityKind.RUNTIME: "the framework itself",
    ActivityKind.SMALL_OPS: "calling small operations",
    ActivityKind.SHORT_OPS: "further computing",
    ActivityKind.COMPUTING: "further computing",
    ActivityKind.PROGRAM: "further computing",
    ActivityKind.DEVICE_COMPUTING: "further computing",
    ActivityKind.COPYING: "copying",
    ActivityKind.DEVICE_COPYING: "copying",
}


# ── between steps ────────────────────────────────────────────────────────────────────────────────


PURPOSES_IN_WORDS = {
    Kind.CHECKPOINT: "Saving checkpoints",
    Kind.VALIDATION: "Evaluation",
    Kind.LOGGING: "Logging",
    Kind.INPUT: "Preparing input",
    Kind.WAITING: "Waiting",
    Kind.GARBAGE_COLLECTION: "Garbage collection",
}


def words_between(words: CauseWords) -> Wording:
    cause = words.cause
    first = cause.activities[0] if cause.activities else None
    silent = first in (ActivityKind.NOTHING, ActivityKind.WAITING)
    is_guess = silent and not words.who
    return Wording(
        sentence=_capital(_sentence_between(words, silent=silent)),
        short=f"between steps {whole_percent(words.share)}",
        tool="timeline",
        next=_next_between(words, silent=silent),
        confidence=Confidence.LIKELY if is_guess else Confidence.SURE,
        doubt="Nothing was recorded there: what it was is a guess." if silent else "",
    )


def _sentence_between(words: CauseWords, *, silent: bool) -> str:
    cause = words.cause
    after_each = f"{words.each} a step on average"
    if len(words.wall.periods) == 1:
        after_each = "after the only step"
    if cause.kind is Kind.INPUT and words.who.startswith("MakeIterator"):
        return (
            f"Making a new dataset for each step takes {words.amount}, {after_each}: predict, "
            "evaluate and fit make one each time they are called."
        )
    subject = PURPOSES_IN_WORDS.get(cause.kind)
    if subject is not None:
        who = f": {words.who}" if words.who else ""
        return f"{subject} between the steps takes {words.amount}, {after_each}{who}."
    if words.who:
        callback = "the callback " if cause.blame.purpose is Purpose.CALLBACK else ""
        return f"Between the steps, {callback}{words.who} takes {words.amount}, {after_each}."
    if silent:
        return (
            f"Between the steps {words.amount} passes, {after_each}, and no event was recorded "
            f"there: {_guess_between(words)}."
        )
    return (
        f"What the program does between the steps takes {words.amount}, {after_each}: "
        f"mostly {_work(words)}."
    )


def _next_between(words: CauseWords, *, silent: bool) -> str:
    if words.cause.kind is Kind.INPUT and words.who.startswith("MakeIterator"):
        return "Call it once with all rows, or call the model itself: model(x)."
    if words.cause.kind is Kind.INPUT:
        return framework_advice.READ_AHEAD[words.inquiry.framework]
    if silent and not words.who:
        return RECORD_FRAMES[words.inquiry.framework]
    if python_time.calls_operators(words.who):
        return framework_advice.LAUNCH_LESS[words.inquiry.framework]
    return "Do it less often, or in another thread."


def _guess_between(words: CauseWords) -> str:
    if _is_keras(words):
        return "callbacks (on_train_batch_end), logging, or other Python code"
    return "callbacks, logging, waiting for the next request or batch, or other Python code"


def _is_keras(words: CauseWords) -> bool:
    source = words.profile.steps.source
    return "on_iterator" in source or "train_function" in source


def kind_in_words(kind: Kind) -> str:
    return kind.value.replace("_", " ")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
