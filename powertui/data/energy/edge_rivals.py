"""Other places of a log on a training whose edges explain its jumps about as well.

The weight of an offset adds up what every jump and every reading of a log says. Between some places
that sum decides nothing:

    another stretch   a run of the same program that the log holds whole is seen better than the
                      training itself, within which the log begins or ends: a slow sensor may show
                      no more of that than one edge
    the same turn     where only the ends of epochs are recorded, all of them fit the start of
                      validation as well, which is at the same place of every epoch
    close by          two places fit nearly as well, of which a search looked at one

So the best place is held against each other one edge by edge, on the edges that both have readings
of. Vuong's test says whether one of two models is better than their differences scatter; where it
does not, the other place is a rival of the best one. Within a stretch each edge that one of them
lacks counts, too, and the levels of power between them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.alignment_places import MAX_PLACES
from powertui.data.model import Z95, Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Edges at which power jumps: in another stretch of the log, and where the same jumps fit.
_MIN_MATCHED_ELSEWHERE = settings.MIN_REPEATS
# Edges that any place needs: one sets it, another one confirms it.
MIN_EDGES = settings.CONFIRMING_VALUES


class EdgeEvidence(NamedTuple):
    """What the jumps of a log say of each edge at one offset."""

    log_likelihood: Floats  # 0: no jump is nearest to this edge
    late_s: Floats  # by how much its best jump is after the edge
    is_inside: Bools  # whether the log has readings on both sides

    @property
    def is_matched(self) -> Bools:
        """Which edges with readings on both sides explain a jump."""
        return np.asarray(self.is_inside & (self.log_likelihood > 0))


class PlaceEvidence(Protocol):
    """What the readings of a log say of its place on a training."""

    @property
    def length_s(self) -> float:
        """From the first to the last edge."""

    @property
    def turn_s(self) -> float:
        """From one edge to the next where nothing shows which part of a turn an edge is; else 0."""

    @property
    def apart_s(self) -> float:
        """Offsets that are closer are one place."""

    @property
    def temper(self) -> float:
        """The part of the evidence that counts: not all of it is independent."""

    def meetings(self) -> tuple[Floats, float]:
        """The offsets at which some edge meets some jump, and how well each is known (s)."""

    def by_edge(self, offset: float) -> EdgeEvidence:
        """What the jumps say of each edge."""

    def level_cost(self, offset: float) -> float:
        """What the levels of power cost."""

    def cut_meetings(self) -> Floats:
        """The offsets at which a jump is the start or the end, and the log has no readings of the
        other one.
        """

    def is_at_work(self, best_s: float, offset: float) -> bool:
        """Whether power is as high there, while the training ran, as it is at the best offset."""

    def is_by_chance(self, offset: float) -> bool:
        """Whether as many jumps are at edges in one place of a log whose jumps are anywhere."""


def meeting_places(places: PlaceEvidence) -> Floats:
    """The offsets at which most edges meet a jump."""
    meetings, width_s = places.meetings()
    ordered = np.sort(meetings)
    first = ordered.searchsorted(ordered - width_s, side="left")
    end = ordered.searchsorted(ordered + width_s, side="right")
    chosen: list[float] = []
    for row in np.argsort(first - end, kind="stable").tolist():
        middle = float(ordered[first[row] : end[row]].mean())
        if all(abs(middle - other) >= places.apart_s for other in chosen):
            chosen.append(middle)
        if len(chosen) == MAX_PLACES:
            break
    return np.array(chosen)


def rivals(places: PlaceEvidence, best_s: float, candidates: Floats) -> tuple[float, ...]:
    """The candidates that explain their jumps about as well as the best offset does."""
    best = places.by_edge(best_s)
    # Log of how many times likelier a place has to be than one nearby.
    sure_log_odds = -float(np.log1p(-settings.SURE_WEIGHT))
    found: list[float] = []
    for candidate in candidates.tolist():
        # Of the middle place other jumps may be at edges, so that it is asked for once more.
        offset = _middle(places, _middle(places, candidate))
        distance_s = abs(offset - best_s)
        if distance_s < places.apart_s:
            continue
        other = places.by_edge(offset)
        if distance_s >= places.length_s:
            is_rival = _is_rival_elsewhere(best, other) and not places.is_by_chance(offset)
        else:
            levels = places.level_cost(offset) - places.level_cost(best_s)
            least = sure_log_odds / places.temper - levels
            is_rival = _is_rival_nearby(best, other, least, may_turn=distance_s < places.turn_s)
        if is_rival:
            found.append(offset)
    # Where the log begins or ends within the training, a slow sensor shows one edge and a level.
    for offset in places.cut_meetings().tolist():
        if abs(offset - best_s) < places.length_s:
            continue
        if places.is_at_work(best_s, offset) and not _is_better(best, places.by_edge(offset)):
            found.append(offset)
    return tuple(found)


def _middle(places: PlaceEvidence, offset: float) -> float:
    """The offset in the middle of what the jumps at edges say."""
    evidence = places.by_edge(offset)
    late_s = evidence.late_s[evidence.is_matched]
    if not len(late_s):
        return offset
    return offset - median_of_column(late_s)


def _is_rival_elsewhere(best: EdgeEvidence, other: EdgeEvidence) -> bool:
    if np.count_nonzero(best.is_inside & other.is_matched) < _MIN_MATCHED_ELSEWHERE:
        return False
    return not _is_better(best, other)


def _is_rival_nearby(
    best: EdgeEvidence,
    other: EdgeEvidence,
    least: float,
    *,
    may_turn: bool,
) -> bool:
    """`least`: by how much the best place has to be likelier by its edges alone."""
    if np.count_nonzero(other.is_matched) < MIN_EDGES:
        return False
    better_by = float((best.log_likelihood - other.log_likelihood).sum())
    return better_by < least or (may_turn and not _is_better(best, other))


def _is_better(best: EdgeEvidence, other: EdgeEvidence) -> bool:
    """Whether one place explains the edges that both have readings of better than the other does:
    by more than chance, given how much the difference varies from edge to edge.
    """
    in_both = best.is_inside & other.is_inside
    better_by = best.log_likelihood[in_both] - other.log_likelihood[in_both]
    if len(better_by) < 2:
        return False
    scatter = float(better_by.std(ddof=1) * np.sqrt(len(better_by)))
    return float(better_by.sum()) > Z95 * scatter
