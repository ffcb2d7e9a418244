"""The sentences of causes that every step has, and of all others by way of their own."""

from __future__ import annotations

from collections.abc import Callable

from powertui.data.conclusions.conclusion import Confidence, Kind
from powertui.data.conclusions.makers import computing, python_time
from powertui.data.conclusions.makers.cause_words import (
    PURPOSES_IN_WORDS,
    RECORD_FRAMES,
    WAITS_IN_WORDS,
    WHAT_TO_DO,
    CauseWords,
    Wording,
    kind_in_words,
    short_time,
    words_between,
    words_of_few,
)
from powertui.data.conclusions.makers.purposes import Purpose
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.name_shapes import beginning
from powertui.data.tools import framework_advice
from powertui.data.tools.activity import ActivityKind
from powertui.data.tools.wall_time import RunPart

# Of the time that calls take, as small operations in crowds, from which on these are the reason.
# Chosen, not measured; eager Keras has 0.45 on a busy machine (make causes).
_MIN_SMALL_SHARE = 0.25
# Calls that are further apart, or fewer, are no crowd of small operations: what takes the time is
# inside them. With Python between them operations are 100 to 250 µs apart (make causes,
# keras_eager). The number was chosen, not measured.
_MAX_CALL_PERIOD_PS = 250_000_000
_MIN_CALLS = 100
# Of these calls: a program that reads so many single numbers does so in a loop, or prints them.
# Chosen, not measured; a training that reads each step's loss has less than 0.02.
_MIN_READ_SHARE = 0.1


def cause_wording(words: CauseWords) -> Wording:
    """The words for a cause."""
    cause = words.cause
    if cause.is_of_few:
        return words_of_few(words)
    if cause.part is RunPart.BETWEEN:
        return words_between(words)
    return _TELLERS[cause.kind](words)


def _rounded(count: int) -> str:
    """A count with two digits: "36,000"."""
    digits = max(0, len(str(count)) - 2)
    return f"{round(count, -digits):,}"


# ── what every step takes ────────────────────────────────────────────────────────────────────────


def _input(words: CauseWords) -> Wording:
    who = ""
    if words.who and words.cause.blame.purpose is not None:
        who = f": {words.who}"
    return Wording(
        sentence=f"Waiting for input{words.where} takes {words.amount}{who}.",
        short=f"input {whole_percent(words.share)}",
        tool="input_pipeline_analyzer",
        next=framework_advice.READ_AHEAD[words.inquiry.framework],
    )


def _collectives(words: CauseWords) -> Wording:
    return Wording(
        sentence=f"Communication between replicas (collectives) takes {words.amount}.",
        short=f"collectives {whole_percent(words.share)}",
        tool="op_stats",
        next="See which collectives take it, and overlap them with computing.",
    )


def _straggler(words: CauseWords) -> Wording:
    return Wording(
        sentence="A straggler: one replica comes late to the collectives, and the others wait for "
        f"it in {words.amount}.",
        short=f"straggler {whole_percent(words.share)}",
        tool="timeline",
        next="Compare the replicas in the timeline: give each the same work.",
        confidence=Confidence.LIKELY,
    )


def _copies(words: CauseWords) -> Wording:
    return Wording(
        sentence=f"Copying and rearranging tensors takes {words.amount}.",
        short=f"copies {whole_percent(words.share)}",
        tool="op_stats",
        next="See which tensors are copied; keep them where and as they are needed.",
    )


def _compilation(words: CauseWords) -> Wording:
    count = len(words.wall.periods)
    again = ""
    if count:
        compiling = words.wall.timeline[ActivityKind.COMPILING]
        periods = words.wall.periods
        steps = int((compiling.inside(periods.start, periods.end) > 0).sum())
        again = f", in {steps:,} of {count:,} steps: each time for {_compiled_for(words)}"
    return Wording(
        sentence=f"Tracing and compiling again takes {words.amount}{again}.",
        short=f"compiling {whole_percent(words.share)}",
        tool="timeline",
        next="Keep the shapes of inputs the same, and pass numbers as tensors.",
    )


def _compiled_for(words: CauseWords) -> str:
    """What is compiled: the step's own function anew, or others between the steps."""
    compiling = words.wall.timeline[ActivityKind.COMPILING]
    between = compiling.common(words.wall.windows(RunPart.BETWEEN)).length
    if 2 * between > compiling.length:
        return "functions that are created again between the steps"
    return "other shapes or Python values"


def _compiled_before(words: CauseWords) -> Wording:
    who = f": {words.who}" if words.who else ""
    return Wording(
        sentence=f"Tracing and compiling before the first step takes {words.amount}{who}.",
        short=f"compiling {whole_percent(words.share)}",
        tool="timeline",
        next=WHAT_TO_DO[Kind.COMPILATION],
    )


def _compute(words: CauseWords) -> Wording:
    is_on_device = ActivityKind.DEVICE_COMPUTING in words.cause.activities[:1]
    where = "the devices" if is_on_device else "the host"
    op = computing.notable_op(words.inquiry.ops, words.cause.ps)
    most = computing.notable_op_sentence(op, words.inquiry.ops)
    return Wording(
        sentence=f"Computing on {where} takes {words.amount}{_beside_input(words)}{most}.",
        short=f"compute {whole_percent(words.share)}",
        tool="framework_op_stats",
        next="Start with the operations that take most of it.",
    )


def _beside_input(words: CauseWords) -> str:
    """Whether the program waits for input, which everybody asks; "" where none was recorded.

    A wait that is longer than the computing has a sentence of its own, before this one.
    """
    waiting_ps = words.wall.timeline[ActivityKind.INPUT].length
    if not waiting_ps or waiting_ps > words.cause.ps:
        return ""
    return f", waiting for input {percent(waiting_ps / words.wall.length)}"


def _numbers_read(words: CauseWords) -> int:
    """How many single numbers the program reads out of tensors."""
    trace = words.profile.trace
    reads = beginning(trace.names, "aten::item", whole=True)
    if not reads.any():
        return 0
    return sum(int(reads.take(track.events.name).sum()) for _, _, track in trace.threads())


def _launch(words: CauseWords) -> Wording:
    calls = words.wall.timeline.small_ops
    small = words.wall.timeline[ActivityKind.SMALL_OPS].length
    next_step = framework_advice.LAUNCH_LESS[words.inquiry.framework]
    are_many = calls >= _MIN_CALLS and small <= _MAX_CALL_PERIOD_PS * calls
    if small < _MIN_SMALL_SHARE * words.cause.ps or not are_many:
        who = f", most of all {words.who}" if words.who else ""
        sentence = (
            f"Calls of the framework itself take {words.amount}{who}, while no operation runs."
        )
    else:
        per_call = short_time(words.cause.ps / max(1, calls))
        blame = words.cause.blame
        who = ""
        if blame.whom and blame.whom.is_frame:
            who = f", most of them in {words.who}"
        if _numbers_read(words) >= _MIN_READ_SHARE * calls:
            who += ", many to read single numbers (aten::item)"
            next_step = "Read whole tensors at once (tolist(), numpy()), and print fewer numbers."
        sentence = (
            f"Launching many small operations one by one takes {words.amount}: about "
            f"{_rounded(calls)} calls, one every {per_call}{who}."
        )
    return Wording(
        sentence=sentence,
        short=f"launching {whole_percent(words.share)}",
        tool="op_stats",
        next=next_step,
    )


_LOCK_OR_LOOP = (
    "If it waits for a lock, hold that lock for less time in the other thread. If it runs a loop, "
    "compute with whole arrays."
)


def _called_python(words: CauseWords) -> Wording:
    who = f": {words.who}" if words.who else ""
    return Wording(
        sentence=f"Python that operations call back takes {words.amount}{who}.",
        short=f"Python {whole_percent(words.share)}",
        tool="timeline",
        next="Write it with the framework's own operations, or call it outside the step.",
    )


def _python(words: CauseWords) -> Wording:
    if words.cause.activities[:1] == (ActivityKind.CALLED_PYTHON,):
        return _called_python(words)
    who = words.who or "Python code"
    next_step = python_time.advice(words.who, words.inquiry.framework)
    if words.cause.blame.calls_nothing and words.cause.blame.purpose is None:
        who += (
            ", which calls no function of Python then: it waits for a lock or a file, runs a loop, "
            "or calls a library that is not in Python"
        )
        next_step = _LOCK_OR_LOOP
    elif words.cause.blame.built_in:
        who += f", mostly in {words.cause.blame.built_in}"
    where = words.where or (" in the steps" if len(words.wall.periods) else "")
    subject = "Python"
    if words.cause.blame.purpose is Purpose.INPUT:
        subject = "Preparing input in Python"
    return Wording(
        sentence=f"{subject} takes {words.amount}{where}, while no operation runs: {who}.",
        short=f"Python {whole_percent(words.share)}",
        tool="timeline",
        next=next_step,
    )


def _waiting(words: CauseWords) -> Wording:
    waits_in = words.cause.blame.waits_in
    caller = words.who or "the program"
    who = (
        f"{WAITS_IN_WORDS.get(waits_in, waits_in)}, called by {caller}"
        if waits_in
        else f"in {caller}"
    )
    return Wording(
        sentence=f"Waiting{words.where} takes {words.amount}: {who}.",
        short=f"waiting {whole_percent(words.share)}",
        tool="timeline",
        next="See what the function waits for: another thread, a file, or time to pass.",
        confidence=Confidence.LIKELY,
    )


def _unknown(words: CauseWords) -> Wording:
    count = len(words.wall.periods)
    each = words.where
    if count > 1 and not each:
        each = f", {words.each} of a step on average"
    guess = "Python code (such as preprocessing), files, a sleep, or a lock"
    if not count:
        guess = "waiting for requests or data, a sleep, a lock, or Python code"
    return Wording(
        sentence=f"No event was recorded in {words.amount}{each}: {guess}.",
        short=f"not recorded {whole_percent(words.share)}",
        tool="timeline",
        next=RECORD_FRAMES[words.inquiry.framework],
        confidence=Confidence.UNSURE,
        doubt="Nothing was recorded then: what it was is a guess.",
    )


def _evaluation(words: CauseWords) -> Wording:
    count = len(words.wall.evaluations.start)
    often = ""
    if count > 1:
        often = f", {count:,} times"
    train = words.wall.usual[RunPart.STEP].sum() + words.wall.extra[RunPart.STEP].sum()
    longer = ", longer than training" if words.cause.ps > train else ""
    return Wording(
        sentence=f"Validation takes {words.amount}{often}{longer}.",
        short=f"validation {whole_percent(words.share)}",
        tool="timeline",
        next="Validate less often, on fewer batches, or beside the training.",
        confidence=Confidence.LIKELY,
    )


def _purposeful(words: CauseWords) -> Wording:
    subject = PURPOSES_IN_WORDS[words.cause.kind]
    who = f": {words.who}" if words.who else ""
    waits_for = WAITS_IN_WORDS.get(words.cause.blame.waits_in)
    if who and waits_for is not None:
        who += f", which waits for {waits_for}"
    return Wording(
        sentence=f"{subject}{words.where} takes {words.amount}{who}.",
        short=f"{kind_in_words(words.cause.kind)} {whole_percent(words.share)}",
        tool="timeline",
        next=WHAT_TO_DO.get(words.cause.kind, "Do it less often, or in another thread."),
    )


_TELLERS: dict[Kind, Callable[[CauseWords], Wording]] = {
    Kind.INPUT: _input,
    Kind.COLLECTIVES: _collectives,
    Kind.STRAGGLER: _straggler,
    Kind.COPIES: _copies,
    Kind.RECOMPILATION: _compilation,
    Kind.COMPILATION: _compiled_before,
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
