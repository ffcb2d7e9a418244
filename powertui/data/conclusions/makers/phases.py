"""What a run does beside its steps: compiling the first one, validation, checkpoints, pauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from powertui.data.conclusions import words
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind, Stretch
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.model import PS_PER_S, Phase
from powertui.data.opened import Profile

# Share of the run from which on a phase has a sentence. Chosen, not measured.
_MIN_SHARE = 0.05
_KINDS = {
    "tracing": Kind.COMPILATION,
    "validation": Kind.VALIDATION,
    "evaluation": Kind.VALIDATION,
    "checkpoint": Kind.CHECKPOINT,
    "between epochs": Kind.PAUSE,
}
_SUBJECTS = {
    Kind.COMPILATION: "Tracing and compiling the first step",
    Kind.VALIDATION: "Validation",
    Kind.CHECKPOINT: "Writing checkpoints",
    Kind.PAUSE: "The pause between epochs",
}
_NEXT = {
    Kind.COMPILATION: "It happens once: profile later steps, or leave the first one out.",
    Kind.VALIDATION: "Validate less often, on fewer batches, or beside the training.",
    Kind.CHECKPOINT: "Write checkpoints less often, or in the background.",
    Kind.PAUSE: "See in the timeline what the program does there: callbacks, logging, checkpoints.",
}


def long_phases(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The phases of each kind, where they take much of the run."""
    for profile in inquiry.profiles:
        by_kind: dict[Kind, list[Phase]] = defaultdict(list)
        lo, hi = profile.trace.span
        for phase in profile.epochs.phases:
            if phase.name in _KINDS and phase.end > lo and phase.start < hi:
                by_kind[_KINDS[phase.name]].append(phase)
        for kind, phases in by_kind.items():
            length_ps = sum(min(phase.end, hi) - max(phase.start, lo) for phase in phases)
            if length_ps >= _MIN_SHARE * inquiry.length_ps:
                yield _conclusion(inquiry, profile, kind, phases, length_ps)


def _conclusion(
    inquiry: Inquiry, profile: Profile, kind: Kind, phases: Sequence[Phase], length_ps: int
) -> Conclusion:
    longest = max(phases, key=lambda phase: phase.end - phase.start)
    cost = inquiry.cost_of_time(length_ps)
    subject = _SUBJECTS[kind]
    often = "" if len(phases) == 1 else f" ({len(phases)} times)"
    share = cost.share or 0.0
    return Conclusion(
        kind=kind,
        sentence=f"{subject} takes {words.percent(share)} of the run{often}: "
        f"{words.seconds(length_ps / PS_PER_S)}.",
        short=f"{kind.value} {words.whole_percent(share)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("timeline", longest.source),
        cost=cost,
        stretch=Stretch(profile.index, longest.start, longest.end),
        next=_NEXT[kind],
    )
