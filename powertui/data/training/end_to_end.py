"""Where a training's time went from end to end: its start, its steps, validation, checkpoints, and
what lay between, each with its joules. TPUEstimator's own ten spans where its logger wrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui.data.columns import Field, columns_of
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import NS_PER_S, PS_PER_NS, PS_PER_S
from powertui.data.opened import Profile
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.training import checkpoints
from powertui.data.training.checkpoints import SavedCheckpoint
from powertui.data.training.estimator_spans import EstimatorSpan, estimator_spans
from powertui.data.training.stretches import KINDS, PAUSE, STARTING, TRAINING, VALIDATION
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, training_energy
from powertui.named_tuples import NamedTuple

# What each kind of stretch is called here.
_NAMES = {
    STARTING: "start, with the first steps",
    TRAINING: "training",
    VALIDATION: "validation",
    PAUSE: "gap",
}
_CHECKPOINT, _TRACING, _GAP = "checkpoint", "tracing", "gap"
_START, _FIRST_STEP, _TRACED_STEP = "start", "first step", "first step, with tracing"
_BEFORE, _AFTER = "before", "after"
_MAX_ENERGIES = 2000  # spans with joules of their own: 0.2 ms each. Kinds have theirs all the same.
_NOTE = (
    "The spans follow each other without holes; they add up to the whole. The first step and "
    "tracing are known where a profile covers them."
)
_LOGGER_NOTE = (
    "Training contains the five spans before it. Evaluation and prediction count where the session "
    "before does not cover them."
)
_NO_TRAINING = "this run is opened alone, and only its training has a beginning and an end"
_NO_RECORDS = "nothing recorded when steps ran: no scalars, no marks, no numbered profile"


class _Span(NamedTuple):
    """A stretch of the training, ps of its axis."""

    kind: str
    start: int
    end: int
    energy: Energy | None = None

    @property
    def length(self) -> int:
        """How long it took."""
        return self.end - self.start


class _Sum(NamedTuple):
    """All spans of a kind."""

    kind: str
    spans: int
    length: int
    share: float
    joules: float | None


def answer(question: Question) -> Result:
    """The spans of the training that the run belongs to."""
    opened = question.opened
    logged = estimator_spans(opened.entry, opened.options.limit)
    training = opened.around
    energy = None
    if isinstance(training, Training):
        profile = opened.profiles[question.host] if opened.profiles else None
        energy = training_energy(training.seen_from(profile, question.aligning))
    if logged:
        return _estimator(logged, energy)
    if energy is None:
        return _nothing(_NO_TRAINING)
    total = energy.whole()
    spans = _with_energy(_training_spans(energy, total.start, total.end), energy)
    if not spans:
        return _nothing(_NO_RECORDS)
    sums = list(_sums(spans))
    return Result(
        id="end_to_end",
        title="End to end",
        tables=(_sums_table(sums), _spans_table(spans)),
        facts=tuple(_facts(spans, total.energy)),
        notes=(_NOTE,),
    )


def _nothing(why: str) -> Result:
    fact = Fact(
        id="spans",
        label="spans",
        value=None,
        why=why,
    )
    return Result(
        id="end_to_end",
        title="End to end",
        tables=(replace(_sums_table(()), empty=why),),
        facts=(fact,),
    )


# ── any training ─────────────────────────────────────────────────────────────────────────────────


def _training_spans(energy: TrainingEnergy, lo: int, hi: int) -> list[_Span]:
    """What it did from `lo` to `hi` (ps of its axis), without holes."""
    seen = energy.seen
    stretches = seen.training.stretches
    if not len(stretches) or hi <= lo:
        return []
    saved = checkpoints.saved_checkpoints(seen.training)
    spans: list[_Span] = []
    at = lo
    for start_ns, end_ns, kind in zip(
        stretches.start.tolist(), stretches.end.tolist(), stretches.kind.tolist(), strict=True
    ):
        start = min(max(seen.at(start_ns), at), hi)
        end = min(max(seen.at(end_ns), start), hi)
        if start > at:
            spans.append(
                _Span(
                    kind=_GAP if spans else _BEFORE,
                    start=at,
                    end=start,
                )
            )
        if end > start:
            spans.append(
                _Span(
                    kind=_name(KINDS[kind], (start_ns, end_ns), saved),
                    start=start,
                    end=end,
                )
            )
        at = end
    if at < hi:
        spans.append(_Span(kind=_AFTER, start=at, end=hi))
    return list(_joined(_with_profile(spans, energy)))


def _name(kind: str, ns: tuple[int, int], saved: tuple[SavedCheckpoint, ...]) -> str:
    if kind == PAUSE and checkpoints.checkpoint_within(saved, *ns):
        return _CHECKPOINT
    return _NAMES[kind]


def _with_profile(spans: Sequence[_Span], energy: TrainingEnergy) -> Iterator[_Span]:
    """The same spans, with what the profile in front shows of them: the first step, tracing."""
    profile = energy.seen.profile
    if profile is None:
        yield from spans
        return
    shown = [
        _Span(kind=_TRACING, start=phase.start, end=phase.end)
        for phase in profile.epochs.phases
        if phase.name == _TRACING
    ]
    first = _first_step(profile, spans)
    if first is not None:
        outside = [span for span in shown if span.end <= first.start or span.start >= first.end]
        if len(outside) < len(shown):
            first = first._replace(kind=_TRACED_STEP)
        shown = [*outside, first]
        spans = list(_before_first_step(spans, first.start))
    yield from _laid_over(spans, sorted(shown, key=lambda span: span.start))


def _first_step(profile: Profile, spans: Sequence[_Span]) -> _Span | None:
    """The first step of the training, where the profile holds it.

    Steps are numbered from 0 or 1, in each epoch anew with some. So there must have been no time
    for another step before: the real first one traces, and takes no less time.
    """
    steps = profile.steps
    if not len(steps) or steps.inferred or int(steps.number[0]) not in (0, 1):
        return None
    start = int(steps.start[0])
    length = int(steps.lengths()[0])
    begin = next((span.start for span in spans if span.kind != _BEFORE), None)
    if begin is None or not 0 <= start - begin < length:
        return None
    return _Span(
        kind=_FIRST_STEP,
        start=start,
        end=start + length,
    )


def _before_first_step(spans: Sequence[_Span], first_ps: int) -> Iterator[_Span]:
    """The same spans; what precedes the first step of the training is its start."""
    for span in spans:
        if span.kind == _BEFORE or span.start >= first_ps:
            yield span
            continue
        yield _Span(
            kind=_START,
            start=span.start,
            end=min(span.end, first_ps),
        )
        if span.end > first_ps:
            yield span._replace(start=first_ps)


def _laid_over(spans: Sequence[_Span], shown: Sequence[_Span]) -> Iterator[_Span]:
    """The spans, with others over them."""
    for span in spans:
        at = span.start
        for over in shown:
            start = max(over.start, at)
            end = min(over.end, span.end)
            if start >= end:
                continue
            if start > at:
                yield _Span(kind=span.kind, start=at, end=start)
            yield _Span(kind=over.kind, start=start, end=end)
            at = end
        if at < span.end:
            yield _Span(kind=span.kind, start=at, end=span.end)


def _joined(spans: Iterator[_Span]) -> Iterator[_Span]:
    """Neighbors of one kind as one span."""
    before: _Span | None = None
    for span in spans:
        if before is not None and before.kind == span.kind and before.end == span.start:
            before = before._replace(end=span.end)
            continue
        if before is not None:
            yield before
        before = span
    if before is not None:
        yield before


def _with_energy(spans: Sequence[_Span], energy: TrainingEnergy) -> list[_Span]:
    if not energy.seen.power or len(spans) > _MAX_ENERGIES:
        return list(spans)
    return [span._replace(energy=energy.energy(span.start, span.end)) for span in spans]


def _sums(spans: Sequence[_Span]) -> Iterator[_Sum]:
    """Each kind in the order of its first span."""
    total_ps = sum(span.length for span in spans)
    for kind in dict.fromkeys(span.kind for span in spans):
        of_kind = [span for span in spans if span.kind == kind]
        length = sum(span.length for span in of_kind)
        joules = [_joules(span.energy) for span in of_kind]
        measured = [value for value in joules if value is not None]
        total = sum(measured) if len(measured) == len(joules) else None
        yield _Sum(
            kind=kind,
            spans=len(of_kind),
            length=length,
            share=length / max(1, total_ps),
            joules=total,
        )


def _joules(energy: Energy | None) -> float | None:
    return None if energy is None or not energy.resolved else energy.joules


def _mean_w(joules: float | None, ps: int) -> float | None:
    if joules is None or ps <= 0:
        return None
    return joules / (ps / PS_PER_S)


_SUM_FIELDS = (
    Field[_Sum]("kind", "what", "text", lambda row: row.kind, weight=9),
    Field[_Sum]("count", "spans", "integer", lambda row: row.spans, weight=4, always=True),
    Field[_Sum]("total_s", "time", "duration", lambda row: row.length, weight=9, always=True),
    Field[_Sum]("share", "share", "share", lambda row: row.share, weight=7, always=True),
    Field[_Sum]("joules", "energy", "number", lambda row: row.joules, "J", 8),
    Field[_Sum](
        "mean_w", "mean power", "number", lambda row: _mean_w(row.joules, row.length), "W", 6
    ),
)
_SPAN_FIELDS = (
    Field[_Span]("kind", "what", "text", lambda row: row.kind, weight=9),
    Field[_Span]("start_s", "from", "instant", lambda row: row.start, weight=7, always=True),
    Field[_Span]("length_s", "time", "duration", lambda row: row.length, weight=9, always=True),
    Field[_Span]("joules", "energy", "number", lambda row: _joules(row.energy), "J", 8),
    Field[_Span](
        "mean_w",
        "mean power",
        "number",
        lambda row: _mean_w(_joules(row.energy), row.length),
        "W",
        6,
    ),
    Field[_Span](
        "why",
        "why no joules",
        "text",
        lambda row: "" if row.energy is None or row.energy.resolved else row.energy.reason,
        weight=2,
    ),
)


def _sums_table(sums: Sequence[_Sum]) -> Table:
    columns = columns_of(sums, _SUM_FIELDS)
    return Table(
        id="kinds",
        title="Where the time went",
        columns=columns,
        key=("kind",),
        noun="kind",
    )


def _spans_table(spans: Sequence[_Span]) -> Table:
    return Table(
        id="spans",
        title="Every span in its order",
        columns=columns_of(spans, _SPAN_FIELDS),
        place=lambda row: Place(lo=spans[row].start, hi=spans[row].end),
        key=("kind", "start_s"),
        noun="span",
    )


def _facts(spans: Sequence[_Span], total: Energy | None) -> Iterator[Fact]:
    yield Fact(
        id="whole_s",
        label="from end to end",
        value=sum(span.length for span in spans),
        kind="duration",
    )
    joules = _joules(total)
    why = "" if joules is not None else "no power of all machines is known"
    badge = total.badge if total is not None and joules is not None else None
    yield Fact(
        id="whole_j",
        label="energy",
        value=joules,
        kind="number",
        unit="J",
        badge=badge,
        why=why,
    )
    yield Fact(
        id="spans",
        label="spans",
        value=len(spans),
        kind="integer",
    )


# ── TPUEstimator ─────────────────────────────────────────────────────────────────────────────────


class _Logged(NamedTuple):
    span: EstimatorSpan
    joules: float | None


_LOGGED_FIELDS = (
    Field[_Logged]("span", "what", "text", lambda row: row.span.name, weight=9),
    Field[_Logged](
        "time_ms",
        "time",
        "duration",
        lambda row: row.span.length_ns * PS_PER_NS,
        unit="ms",
        weight=9,
    ),
    Field[_Logged](
        "start_unix_s",
        "from (Unix time)",
        "number",
        lambda row: None if row.span.start_ns is None else row.span.start_ns / NS_PER_S,
        "s",
        0,  # for programs
    ),
    Field[_Logged]("joules", "energy", "number", lambda row: row.joules, "J", 8),
)


def _estimator(logged: Sequence[EstimatorSpan], energy: TrainingEnergy | None) -> Result:
    rows = [_Logged(span, _logged_joules(span, energy)) for span in logged]
    table = Table(
        id="logger_spans",
        title="The ten spans of the profile logger",
        columns=columns_of(rows, _LOGGED_FIELDS),
        key=("span",),
        noun="span",
    )
    begin = min((span.start_ns for span in logged if span.start_ns is not None), default=0)
    end = max((span.end_ns for span in logged if span.end_ns is not None), default=begin)
    facts = (
        Fact(
            id="whole_s",
            label="from end to end",
            value=(end - begin) * PS_PER_NS,
            kind="duration",
        ),
        Fact(id="logger", label="recorded by", value="TPUEstimator's profile logger"),
    )
    return Result(
        id="end_to_end",
        title="End to end",
        tables=(table,),
        facts=facts,
        notes=(_LOGGER_NOTE,),
    )


def _logged_joules(span: EstimatorSpan, energy: TrainingEnergy | None) -> float | None:
    """What was drawn in a span, without what another span in it drew."""
    if energy is None or not energy.seen.wall or span.start_ns is None or span.end_ns is None:
        return None
    joules = _between(energy, span.start_ns, span.end_ns)
    if joules is None or span.without is None:
        return joules
    left_out = _between(energy, *span.without)
    return None if left_out is None else joules - left_out


def _between(energy: TrainingEnergy, lo_ns: int, hi_ns: int) -> float | None:
    if not energy.seen.power:
        return None
    return _joules(energy.energy(energy.seen.at(lo_ns), energy.seen.at(hi_ns)))
