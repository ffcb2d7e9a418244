"""What would have been found of a profile, or of the training around it, by the search's rules."""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.energy.findings import could_find, layers
from powertui.data.energy.findings.finding_rules import (
    MIN_RUN_SHARE,
    MIN_STRONG_S,
    STRONG_SHARE,
    expected_watts,
    min_watts,
)
from powertui.data.energy.findings.placed_search import FoundLoads

_Span = tuple[float, float]  # s on the trace


def detection_limits(
    found: FoundLoads, span: _Span, run_joules: float, elsewhere: Sequence[_Span] = ()
) -> tuple[could_find.Limits, str]:
    """What would have been found in a span, also in words, or why nothing.

    `elsewhere`: stretches that have limits of their own.
    """
    if found.expected is None or found.noise is None:
        text = f"no burst could have been found: {found.reason}" if found.reason else ""
        return could_find.Limits((), ()), text
    readings = found.expected.readings
    expected = expected_watts(readings.ceiling)
    strong = could_find.StrongBurst(min_watts(expected, STRONG_SHARE), MIN_STRONG_S)
    mattering = could_find.Mattering(min_watts(expected), MIN_RUN_SHARE * run_joules, strong)
    doubtful = could_find.doubtful(readings, span, mattering.watts)
    # Where it drew less than expected a load shows the less of itself.
    paused = []
    for box in found.at_likeliest:
        if box.watts < 0 and box.end - box.start >= could_find.SHORTEST_S:
            paused.append(box.span)
    unchecked = joined_spans([*doubtful, *paused, *found.skipped])
    unknown = could_find.beside(unchecked, elsewhere)
    limits = could_find.limits(
        readings,
        found.noise,
        span,
        mattering,
        apart=(*unknown, *elsewhere),
        searched=could_find.SearchExtent(
            looks=layers.piece_count(readings), longest_s=layers.longest_stretch_s(readings)
        ),
    )
    limits = limits._replace(apart=unknown)
    elsewhere_s = sum(end - start for start, end in elsewhere)
    return limits, could_find.sentence(limits, span, elsewhere_s)


def joined_spans(spans: Sequence[_Span]) -> list[_Span]:
    """Spans by their start, those that overlap as one."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
