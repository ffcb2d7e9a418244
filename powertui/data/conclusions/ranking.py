"""The order of conclusions, and the rule against saying a thing twice.

The order is by importance, in three groups (`_tier`): power that nothing explains, for sure, and
losses with a known cause of a fifth of the run or more; then whatever else takes 5 % or more, and
computing; then what takes less, and compiling, which happens once. Within a group the largest share
of time or energy comes first (`_rank`). Four kinds are then moved by what they stand beside:

    busy cores          before the computing that mostly waits for them (`_with_busy_cores`)
    launches            before a loss that takes less than they do (`_with_calls`)
    unknown time        to the very front where nothing takes as much (`_with_unknown`)
    doubtful clocks     right before the power that rests on them (`_with_clocks`)

Everything that shows conclusions keeps this order. docs/report.md has it for users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind, Stretch
from powertui.data.energy.findings.finding_rules import same_stretch

# A smaller share of the run comes after all that matters. TensorBoard's threshold for input.
_MIN_NOTABLE_SHARE = 0.05
# A loss of at least this share comes before what a step is made of. TensorBoard calls a program
# bound by its input from there on.
_MIN_LOSS_FIRST_SHARE = 0.20
# Time in which the program did nothing that it is for, and of which the cause is known.
_LOSSES = frozenset(
    (
        Kind.INPUT,
        Kind.IDLE_DEVICE,
        Kind.COPIES,
        Kind.COLLECTIVES,
        Kind.STRAGGLER,
        Kind.RECOMPILATION,
        Kind.PAUSE,
        Kind.WAITING,
        Kind.BETWEEN_STEPS,
        Kind.LOGGING,
        Kind.CHECKPOINT,
        Kind.GARBAGE_COLLECTION,
        Kind.MEMORY,
        Kind.SLOWER_MACHINE,
        Kind.THROTTLING,  # the time that its steps took longer
    )
)
# Of a stretch that drew more, the part that its cause must cover. Chosen, not measured.
_MIN_EXPLAINED_PART = 0.5
# Several hosts may hold the others up, and several clocks be wrong: each has its own sentence.
_SEVERAL = frozenset((Kind.STRAGGLER, Kind.CLOCK))
# What the host does while devices are idle: their own sentence says it already.
_OF_IDLE_DEVICES = frozenset((Kind.LAUNCH, Kind.UNKNOWN_TIME, Kind.EAGER, Kind.PYTHON))
# Causes of a stretch that took longer or drew more, the one that explains most first: of two that
# are about one stretch the first one is kept.
_OF_A_STRETCH = (
    Kind.RECOMPILATION,
    Kind.COMPILATION,
    Kind.GARBAGE_COLLECTION,
    Kind.CHECKPOINT,
    Kind.VALIDATION,
    Kind.THROTTLING,
    Kind.SLOWER_MACHINE,
    Kind.POWER,
    Kind.PAUSE,
    Kind.LONG_EPOCH,
    Kind.SLOW_STEPS,
)
# What rests on where a power log is.
_OF_POWER = frozenset((Kind.POWER, Kind.THROTTLING))
_CONFIDENCES = (Confidence.SURE, Confidence.LIKELY, Confidence.UNSURE)


def ranked(conclusions: Iterable[Conclusion]) -> tuple[Conclusion, ...]:
    """Every conclusion once, in the order that the head of this file describes."""
    distinct: list[Conclusion] = []
    for conclusion in sorted(conclusions, key=_precedence):
        if not any(_says_the_same(conclusion, earlier) for earlier in distinct):
            distinct.append(conclusion)
    by_rank = sorted(distinct, key=_rank)
    return _with_clocks(_with_busy_cores(_with_unknown(_with_calls(by_rank))))


def _with_busy_cores(conclusions: list[Conclusion]) -> list[Conclusion]:
    """With busy cores before the first cause that takes less without waiting for them.

    What the program itself does is told first where that is more, all sentences of a kind together,
    and nothing is counted for both.
    """
    busy = next((item for item in conclusions if item.kind is Kind.BUSY_CORES), None)
    if busy is None:
        return conclusions
    others = [conclusion for conclusion in conclusions if conclusion is not busy]
    own_share: dict[Kind, float] = defaultdict(float)
    for conclusion in others:
        if conclusion.finding is None:
            own_share[conclusion.kind] += conclusion.cost.own_share
    for row, conclusion in enumerate(others):
        is_smaller = own_share[conclusion.kind] < busy.cost.largest_share
        if is_smaller and conclusion.kind not in _OF_POWER:
            return [*others[:row], busy, *others[row:]]
    return [*others, busy]


def _with_calls(conclusions: list[Conclusion]) -> list[Conclusion]:
    """With the calls of small operations before a loss that takes less than they do."""
    calls = next((candidate for candidate in conclusions if candidate.kind is Kind.LAUNCH), None)
    if calls is None:
        return conclusions
    others = [conclusion for conclusion in conclusions if conclusion is not calls]
    for row, conclusion in enumerate(others):
        is_smaller = conclusion.cost.largest_share < calls.cost.largest_share
        is_loss = conclusion.kind in _LOSSES and _tier(conclusion) < _tier(calls)
        if is_loss and is_smaller:
            return [*others[:row], calls, *others[row:]]
    return conclusions


def _with_unknown(conclusions: list[Conclusion]) -> list[Conclusion]:
    """With time of which nobody knows what it was first, where nothing else takes as much."""
    if not conclusions or conclusions[0].kind is Kind.POWER:
        return conclusions
    largest = max(conclusions, key=lambda conclusion: conclusion.cost.share or 0.0)
    is_large = (largest.cost.share or 0.0) >= _MIN_LOSS_FIRST_SHARE
    if largest.kind is not Kind.UNKNOWN_TIME or not is_large:
        return conclusions
    rest = [conclusion for conclusion in conclusions if conclusion is not largest]
    return [largest, *rest]


def _with_clocks(conclusions: list[Conclusion]) -> tuple[Conclusion, ...]:
    """With doubtful clocks right before what rests on them, but after every sure cause of time."""
    clocks = [conclusion for conclusion in conclusions if conclusion.kind is Kind.CLOCK]
    others = [conclusion for conclusion in conclusions if conclusion.kind is not Kind.CLOCK]
    at = len(others)
    for row in range(len(others) - 1, -1, -1):
        if others[row].kind in _OF_POWER:
            at = row
        elif others[row].confidence is Confidence.SURE:
            break
    return (*others[:at], *clocks, *others[at:])


def _rank(conclusion: Conclusion) -> tuple[int, float, int]:
    """Large losses first, then whatever else takes much, then what takes little."""
    confidence = _CONFIDENCES.index(conclusion.confidence)
    return _tier(conclusion), -conclusion.cost.largest_share, confidence


def _tier(conclusion: Conclusion) -> int:
    share = conclusion.cost.largest_share
    if conclusion.kind is Kind.POWER and conclusion.confidence is Confidence.SURE:
        return 0
    if conclusion.kind in _LOSSES and share >= _MIN_LOSS_FIRST_SHARE:
        return 0
    if conclusion.kind is Kind.COMPILATION:  # of the first step: it happens once
        return 2
    return 1 if share >= _MIN_NOTABLE_SHARE or conclusion.kind is Kind.COMPUTE else 2


def _precedence(conclusion: Conclusion) -> tuple[int, int, float, int]:
    """Of conclusions that say the same, the first by this order is kept."""
    explains_less = len(_OF_A_STRETCH)
    if _is_slow_finding(conclusion):
        return explains_less + 1, *_rank(conclusion)
    if conclusion.kind in _OF_A_STRETCH:
        explains_less = _OF_A_STRETCH.index(conclusion.kind)
    return explains_less, *_rank(conclusion)


def _says_the_same(first: Conclusion, second: Conclusion) -> bool:
    if _is_slow_finding(first) and (second.repeats or _is_slow_finding(second)):
        return _have_a_common_stretch(first, second)
    if first.stretch is None and second.stretch is None:
        return _say_the_same_of_all(first, second)
    if first.stretch is None or second.stretch is None:
        return False
    if first.kind not in _OF_A_STRETCH or second.kind not in _OF_A_STRETCH:
        return False
    if Kind.LONG_EPOCH in (first.kind, second.kind):
        return _explains_epoch(first, second) or _explains_epoch(second, first)
    if first.repeats and second.repeats:
        return False  # two parts of the time of slow steps: the longest may be the same step
    if not _is_same(first.stretch, second.stretch):
        return False
    return _covers_power(first, second.stretch) and _covers_power(second, first.stretch)


def _covers_power(conclusion: Conclusion, cause: Stretch) -> bool:
    """Whether a cause may be what drew more: it covers the larger part of such a stretch.

    A burst of 3 s whose last second reaches into validation is not explained by validation.
    """
    if conclusion.kind is not Kind.POWER or conclusion.stretch is None:
        return True
    start, end = conclusion.stretch.span
    lo, hi = cause.span
    return min(hi, end) - max(lo, start) >= _MIN_EXPLAINED_PART * (end - start)


def _say_the_same_of_all(first: Conclusion, second: Conclusion) -> bool:
    """Whether two conclusions about all of the run say the same."""
    kinds = {first.kind, second.kind}
    if first.kind is second.kind and first.kind not in _SEVERAL:
        return True
    if Kind.IDLE_DEVICE in kinds:
        return bool(kinds & _OF_IDLE_DEVICES)
    return kinds == {Kind.LAUNCH, Kind.EAGER}


def _have_a_common_stretch(first: Conclusion, second: Conclusion) -> bool:
    stretches_of_second = _all(second)
    for stretch in _all(first):
        if any(_is_same(stretch, another) for another in stretches_of_second):
            return True
    return False


def _is_slow_finding(conclusion: Conclusion) -> bool:
    """Whether it is about steps that were found to be slow. They are told by their cause, which may
    name several of them, where there is one.
    """
    return conclusion.kind is Kind.SLOW_STEPS and conclusion.finding is not None


def _all(conclusion: Conclusion) -> tuple[Stretch, ...]:
    if conclusion.repeats:
        return conclusion.repeats
    return () if conclusion.stretch is None else (conclusion.stretch,)


def _is_same(first: Stretch, second: Stretch) -> bool:
    return first.host == second.host and same_stretch(first.span, second.span)


def _explains_epoch(part: Conclusion, epoch: Conclusion) -> bool:
    """Whether an epoch is long for what one stretch of it took, or drew."""
    if epoch.kind is not Kind.LONG_EPOCH or epoch.stretch is None or part.stretch is None:
        return False
    if part.stretch.host != epoch.stretch.host or part.kind is Kind.LONG_EPOCH:
        return False
    lo, hi = epoch.stretch.span
    start, end = part.stretch.span
    inside = min(hi, end) - max(lo, start)
    if 2 * inside < end - start:
        return False
    explains_time = _is_half_of(part.cost.seconds, epoch.cost.seconds)
    explains_energy = _is_half_of(part.cost.joules, epoch.cost.joules)
    return explains_time and explains_energy


def _is_half_of(part: float | None, total: float | None) -> bool:
    """Whether a part is at least half of the total, where there is one."""
    return total is None or 2 * (part or 0.0) >= total
