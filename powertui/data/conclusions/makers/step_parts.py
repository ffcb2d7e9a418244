"""What a step's time is made of: computing, waiting for input, idle devices, launching …"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui import units
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers import computing, device_copies, memory, python_time
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.model import Track, TrackKind
from powertui.data.opened import Profile
from powertui.data.run.dispatch import work_done
from powertui.data.tools import framework_advice, suggestions, xla_ops
from powertui.data.tools.framework import Framework
from powertui.data.tools.shares import Shares
from powertui.value_types import dataclass

# A part of the steps' time from which on it has a sentence, if it is not the largest one.
# TensorBoard's threshold for input.
_MIN_SHARE = 0.05
# A part of a step without any work of a device, from which on the devices are called idle.
# TensorBoard has no such rule. Chosen, not measured.
_MIN_IDLE_SHARE = 0.50
# Share of the time with ops from which on computing limits steps that are dispatched ahead.
# Chosen, not measured.
_MIN_BUSY_SHARE = 0.5
_COPY_LESS = "Copy fewer results back from the device, or less often."
_COMPILE_LESS = (
    "Keep the shapes of inputs the same from step to step, so that nothing is compiled again."
)


@dataclass(frozen=True)
class _Part:
    """A part of the steps' time, in words."""

    kind: Kind
    subject: str  # "Waiting for input": what takes so much of a step
    short: str
    tool: str
    next: str


def _parts(shares: Shares, framework: Framework) -> list[tuple[_Part, float]]:
    """Every part that has a sentence of its own, with its share of the steps' time."""
    return [
        (
            _Part(
                kind=Kind.INPUT,
                subject="Waiting for input",
                short="input",
                tool="input_pipeline_analyzer",
                next=framework_advice.READ_AHEAD[framework],
            ),
            shares.input,
        ),
        (
            _Part(
                kind=Kind.COLLECTIVES,
                subject="Communication between devices (collectives)",
                short="collectives",
                tool="collectives" if framework is Framework.PYTORCH else "op_stats",
                next="See which collectives take it, and overlap them with computing.",
            ),
            shares.collectives,
        ),
        (
            _Part(
                kind=Kind.LAUNCH,
                subject="Launching kernels",
                short="launching",
                tool="op_stats",
                next=framework_advice.LAUNCH_LESS[framework],
            ),
            shares.launch,
        ),
        (
            _Part(
                kind=Kind.OUTPUT,
                subject="Copying results to the host",
                short="copying back",
                tool="op_stats",
                next=_COPY_LESS,
            ),
            shares.output,
        ),
        (
            _Part(
                kind=Kind.RECOMPILATION,
                subject="Tracing and compiling again",
                short="compiling",
                tool="op_stats",
                next=_COMPILE_LESS,
            ),
            shares.compile,
        ),
        (
            _Part(
                kind=Kind.COPIES,
                subject="Copying between devices",
                short="copying",
                tool="op_stats",
                next="See which tensors move between devices.",
            ),
            shares.between,
        ),
        (
            _Part(
                kind=Kind.PYTHON,
                subject="Python, while nothing else runs,",
                short="Python",
                tool="timeline",
                next=framework_advice.LESS_PYTHON[framework],
            ),
            shares.python,
        ),
        (
            _Part(
                kind=Kind.UNKNOWN_TIME,
                subject="Time in which nothing was recorded",
                short="not recorded",
                tool="timeline",
                next="See in the timeline what the threads do in the gaps; a profile with Python "
                "frames shows more.",
            ),
            shares.other,
        ),
    ]


def step_parts(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The part that limits the steps, and every other one that matters."""
    shares = inquiry.shares
    if shares is None:
        yield from _without_steps(inquiry)
        return
    if inquiry.profile.steps.asynchronous and not inquiry.steps.has_device:
        dispatched = _dispatched_ahead(inquiry)
        if dispatched is not None:
            yield dispatched
            return
    shares, to_devices = device_copies.with_copies(inquiry.question, inquiry.steps, shares)
    memory_share = _memory_share(inquiry)
    # Such calls count as launches, as far as they carry the number of one.
    launches = min(shares.launch, memory_share)
    shares = shares._replace(
        launch=shares.launch - launches,
        host=max(0.0, shares.host - (memory_share - launches)),
    )
    parts = _parts(shares, inquiry.framework)
    copying = _Part(
        kind=Kind.COPIES,
        subject="Copying to the devices",
        short="copying",
        tool="op_stats",
        next=framework_advice.COPY_AHEAD[inquiry.framework],
    )
    parts.append((copying, to_devices))
    largest = max(share for _, share in parts)
    if inquiry.steps.has_device and shares.idle >= _MIN_IDLE_SHARE:
        yield _idle_devices(inquiry, shares, memory_share)
    elif max(shares.compute, shares.host) >= largest:
        yield _computing(inquiry, shares)
    for part, share in parts:
        is_limit = share == largest and share > max(shares.compute, shares.host)
        if share >= _MIN_SHARE or is_limit:
            yield _of_part(inquiry, part, share)


def _memory_share(inquiry: Inquiry) -> float:
    """Share of the steps that give memory of a device back and take it anew."""
    if inquiry.question.compat != "corrected" or not inquiry.steps.has_device:
        return 0.0
    calls = memory.memory_calls(inquiry)
    if calls is None:
        return 0.0
    return min(1.0, calls.ps / all_steps_ps(inquiry))


def _of_part(inquiry: Inquiry, part: _Part, share: float) -> Conclusion:
    is_known = part.kind is not Kind.UNKNOWN_TIME
    ps = share * all_steps_ps(inquiry)
    subject = part.subject
    most = ""
    next_step = part.next
    if part.kind in (Kind.PYTHON, Kind.UNKNOWN_TIME):
        function = python_time.working_function(inquiry, ps)
        if function is not None:
            is_known = True
            subject = python_time.subject(function)
            most = python_time.most_of_it(function, ps)
            next_step = python_time.advice(subject, inquiry.framework)
    sentence = f"{subject} takes {_of_a_step(inquiry, share)}{most}."
    if not is_known:
        amount = _of_a_step(inquiry, share)
        sentence = f"Nothing was recorded in {amount}: it may be Python, files or locks."
    return Conclusion(
        kind=part.kind,
        sentence=sentence,
        short=f"{part.short} {whole_percent(share)}",
        confidence=_confidence(inquiry) if is_known else Confidence.UNSURE,
        evidence=Evidence(part.tool),
        cost=inquiry.cost_of_time(ps, step_share=share),
        next=next_step,
        doubt="" if is_known else "Nothing was recorded then: what it was is a guess.",
    )


def _of_a_step(inquiry: Inquiry, share: float) -> str:
    """A share of the steps: "84 % of a step (51.4 ms of 61.2 ms)"."""
    mean_ps = float(inquiry.steps.usual().length.mean())
    ps = units.duration(round(share * mean_ps), 3)
    return f"{percent(share)} of a step ({ps} of {units.duration(round(mean_ps), 3)})"


def all_steps_ps(inquiry: Inquiry) -> float:
    return float(inquiry.steps.usual().length.sum(dtype=np.float64))


def _confidence(inquiry: Inquiry) -> Confidence:
    """Of shares of a step: as sure as the steps themselves."""
    return Confidence.LIKELY if inquiry.profile.steps.inferred else Confidence.SURE


# ── idle devices ─────────────────────────────────────────────────────────────────────────────────


def _idle_devices(inquiry: Inquiry, shares: Shares, memory_share: float) -> Conclusion:
    """The devices are idle most of the time; what the host does meanwhile, the most first."""
    framework = inquiry.framework
    look = "See in the timeline what the host does while the devices are idle."
    python = _python(inquiry, shares.python)
    parts = (
        (shares.host, "calling operators", framework_advice.LAUNCH_LESS[framework]),
        (
            memory_share,
            "freeing device memory and allocating it again",
            framework_advice.KEEP_MEMORY[framework],
        ),
        (shares.compile, "compiling", _COMPILE_LESS),
        (shares.launch, "launching kernels", framework_advice.LAUNCH_LESS[framework]),
        (shares.input, "waiting for input", framework_advice.READ_AHEAD[framework]),
        (shares.output, "copying results", _COPY_LESS),
        (
            shares.python,
            f"Python ({python})" if python else "Python",
            python_time.advice(python, framework),
        ),
        (shares.other, "nothing recorded", look),
    )
    notable = sorted((part for part in parts if part[0] >= _MIN_SHARE), key=lambda part: -part[0])
    meanwhile = ", ".join(f"{name} {percent(share)}" for share, name, _ in notable)
    sentence = f"The devices are idle in {_of_a_step(inquiry, shares.idle)}"
    return Conclusion(
        kind=Kind.IDLE_DEVICE,
        sentence=f"{sentence}. The host meanwhile: {meanwhile}." if meanwhile else f"{sentence}.",
        short=f"idle {whole_percent(shares.idle)}",
        confidence=_confidence(inquiry),
        evidence=Evidence("timeline"),
        cost=inquiry.cost_of_time(shares.idle * all_steps_ps(inquiry), step_share=shares.idle),
        next=notable[0][2] if notable else look,
    )


def _python(inquiry: Inquiry, share: float) -> str:
    """Which function takes so much of the steps; "" where none does."""
    function = python_time.working_function(inquiry, share * all_steps_ps(inquiry))
    if function is None:
        return ""
    return python_time.subject(function).removesuffix(",")


# ── computing ────────────────────────────────────────────────────────────────────────────────────


def _computing(inquiry: Inquiry, shares: Shares) -> Conclusion:
    is_on_device = shares.compute >= shares.host
    share = shares.compute if is_on_device else shares.host
    computing_ps = share * all_steps_ps(inquiry)
    where = "the device" if is_on_device else "the host"
    op = computing.notable_op(inquiry.ops, computing_ps)
    most = computing.notable_op_sentence(op, inquiry.ops)
    peaks = _against_peaks(inquiry) if is_on_device else ""
    return Conclusion(
        kind=Kind.COMPUTE,
        sentence=f"Computing on {where} takes {_of_a_step(inquiry, share)}{most}.{peaks}",
        short=f"compute {whole_percent(share)}",
        confidence=_confidence(inquiry),
        evidence=Evidence("framework_op_stats", rows=() if op is None else (op.name,)),
        cost=inquiry.cost_of_time(computing_ps, step_share=share),
        next="Start with the ops that take most of it.",
    )


def _against_peaks(inquiry: Inquiry) -> str:
    """What holds the computing up, where the profile shows how well the device was used."""
    from powertui.data.tools import utilisation

    use = utilisation.of_question(inquiry.question)
    if use.memory is None or use.arithmetic is None:
        return ""
    words = (
        f" Memory runs at {percent(use.memory)} of its peak, arithmetic at "
        f"{percent(use.arithmetic)}"
    )
    if use.memory > suggestions.HIGH_UTILIZATION and use.arithmetic < suggestions.LOW_UTILIZATION:
        return f"{words}: memory is the limit."
    return f"{words}."


# ── steps that are dispatched ahead ──────────────────────────────────────────────────────────────


def step_with_work(profile: Profile) -> tuple[float, int]:
    """(ps of a step from the first start to the end of all their work; how many steps)."""
    steps = profile.steps
    if len(steps) < 2:
        return 0.0, len(steps)
    work = profile.cached("work of steps", lambda: work_done(profile.trace, steps))
    end = max(work.end, int(steps.ends().max()))
    return (end - int(steps.start.min())) / len(steps), len(steps)


def _dispatched_ahead(inquiry: Inquiry) -> Conclusion | None:
    """Steps that are dispatched ahead on a host alone: how much of their time computes."""
    mean_ps, count = step_with_work(inquiry.profile)
    if not mean_ps:
        return None
    lo = int(inquiry.profile.steps.start.min())
    all_ps = mean_ps * count
    busy = xla_ops.covered(inquiry.profile.trace, lo, lo + round(all_ps)) / all_ps
    step = units.duration(round(mean_ps), 3)
    if busy >= _MIN_BUSY_SHARE:
        op = computing.notable_op(inquiry.ops, busy * all_ps)
        most = computing.notable_op_sentence(op, inquiry.ops)
        return Conclusion(
            kind=Kind.COMPUTE,
            sentence=f"Computing on the host takes {percent(busy)} of the time: a step with its "
            f"work takes {step}{most}.",
            short=f"compute {whole_percent(busy)}",
            confidence=_confidence(inquiry),
            evidence=Evidence("op_stats", rows=() if op is None else (op.name,)),
            cost=inquiry.cost_of_time(busy * all_ps),
            next="Start with the ops that take most of it.",
        )
    return Conclusion(
        kind=Kind.UNKNOWN_TIME,
        sentence=f"Ops run in only {percent(busy)} of the time: a step with its work takes {step}, "
        "and the program does something else in between.",
        short=f"ops {whole_percent(busy)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("timeline"),
        cost=inquiry.cost_of_time((1 - busy) * all_ps),
        next="See in the timeline what the threads do between the ops.",
    )


# ── without steps ────────────────────────────────────────────────────────────────────────────────


def _without_steps(inquiry: Inquiry) -> Iterator[Conclusion]:
    """What can be said without steps: what took most time, and how busy the busiest thread was."""
    if not inquiry.ops:
        return
    op = inquiry.ops[0]
    busy = _busiest_line(inquiry)
    line = ""
    if busy > 0:
        line = f"; the busiest thread or device works {percent(min(1.0, busy))} of the time"
    yield Conclusion(
        kind=Kind.COMPUTE,
        sentence="No step was found. The op that takes most time is "
        f"{computing.op_words(op)}{line}.",
        short="no steps",
        confidence=Confidence.UNSURE,
        evidence=Evidence("op_stats", rows=(op.name,)),
        next="Name what marks a step: --step-marker REGEX.",
        doubt="No step was found, so what limits the run is not known.",
    )


def _busiest_line(inquiry: Inquiry) -> float:
    """The share of the window in which the busiest line has events."""
    profile, lo, hi = inquiry.question.parts[0]
    busiest_ps = 0.0
    for _, track in profile.trace.tracks():
        if _shows_work(track):
            lane = track.lane(0)
            inside = np.minimum(lane.start + lane.duration, hi) - np.maximum(lane.start, lo)
            busiest_ps = max(busiest_ps, float(np.maximum(0, inside).sum()))
    return busiest_ps / max(1, hi - lo)


def _shows_work(track: Track) -> bool:
    if not track.lane_count or not len(track.events):
        return False
    return not track.derived and track.kind is not TrackKind.COUNTER
