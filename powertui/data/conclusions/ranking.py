"""The order of conclusions, and the rule against saying a thing twice."""

from __future__ import annotations

from collections.abc import Iterable

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind
from powertui.data.energy.findings.finding_rules import same_stretch

# A loss of at least this share of the run comes before the sentences on what a step is made of; a
# smaller one after them. Chosen, not measured.
_MIN_NOTABLE_SHARE = 0.05
# Waiting for input from this share on is mended first, whatever else there is: TensorBoard's rule.
_MIN_INPUT_FIRST_SHARE = 0.20

# What a step's time is made of: of these the largest one limits the run.
_PARTS_OF_A_STEP = frozenset(
    (
        Kind.COMPUTE,
        Kind.INPUT,
        Kind.LAUNCH,
        Kind.IDLE_DEVICE,
        Kind.COLLECTIVES,
        Kind.COPIES,
        Kind.OUTPUT,
        Kind.COMPILATION,
        Kind.EAGER,
        Kind.PYTHON,
        Kind.PROGRAM,
        Kind.UNKNOWN_TIME,
    )
)
# Different names of one loss: why devices, or the whole step, wait for the host.
_OF_THE_HOST = frozenset(
    (Kind.IDLE_DEVICE, Kind.LAUNCH, Kind.UNKNOWN_TIME, Kind.EAGER, Kind.PYTHON, Kind.PROGRAM)
)
# Causes of a stretch that took longer or drew more, the one that explains most first: of two that
# are about one stretch the first one is kept.
_OF_A_STRETCH = (
    Kind.RECOMPILATION,
    Kind.COMPILATION,
    Kind.GARBAGE_COLLECTION,
    Kind.CHECKPOINT,
    Kind.VALIDATION,
    Kind.THROTTLING,
    Kind.POWER,
    Kind.PAUSE,
    Kind.LONG_EPOCH,
    Kind.SLOW_STEPS,
)
_CONFIDENCES = (Confidence.SURE, Confidence.LIKELY, Confidence.UNSURE)


def ranked(conclusions: Iterable[Conclusion]) -> tuple[Conclusion, ...]:
    """Every conclusion once, the costliest first."""
    kept: list[Conclusion] = []
    for conclusion in sorted(conclusions, key=_precedence):
        if not any(_says_the_same(conclusion, other) for other in kept):
            kept.append(conclusion)
    return tuple(sorted(kept, key=_rank))


def _rank(conclusion: Conclusion) -> tuple[int, float, int]:
    """Notable losses first, then what a step is made of, then smaller losses."""
    confidence = _CONFIDENCES.index(conclusion.confidence)
    return _tier(conclusion), -conclusion.cost.largest_share, confidence


def _tier(conclusion: Conclusion) -> int:
    share = conclusion.cost.largest_share
    if conclusion.kind is Kind.INPUT and share >= _MIN_INPUT_FIRST_SHARE:
        return 0
    if conclusion.kind in _PARTS_OF_A_STEP and conclusion.stretch is None:
        return 1
    if conclusion.kind is Kind.COMPILATION:  # of the first step: it happens once
        return 2
    is_power = conclusion.kind is Kind.POWER and conclusion.confidence is not Confidence.UNSURE
    return 0 if is_power or share >= _MIN_NOTABLE_SHARE else 2


def _precedence(conclusion: Conclusion) -> tuple[int, int, float, int]:
    """Of conclusions that say the same, the first by this order is kept."""
    explains_less = len(_OF_A_STRETCH)
    if conclusion.kind in _OF_A_STRETCH:
        explains_less = _OF_A_STRETCH.index(conclusion.kind)
    return explains_less, *_rank(conclusion)


def _says_the_same(first: Conclusion, second: Conclusion) -> bool:
    if first.stretch is None and second.stretch is None:
        are_of_host = first.kind in _OF_THE_HOST and second.kind in _OF_THE_HOST
        # Several hosts may hold the others up: each has a sentence of its own.
        is_one_kind = first.kind is second.kind and first.kind is not Kind.STRAGGLER
        return is_one_kind or are_of_host
    if first.stretch is None or second.stretch is None:
        return False
    if first.kind not in _OF_A_STRETCH or second.kind not in _OF_A_STRETCH:
        return False
    return first.stretch.host == second.stretch.host and same_stretch(
        first.stretch.span, second.stretch.span
    )
