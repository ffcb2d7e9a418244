"""Ranks that come late to collectives, for which all others wait."""

from __future__ import annotations

from collections.abc import Iterator

from powertui import units
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Evidence, Kind
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import whole_percent
from powertui.data.energy.late_ranks import Late, joules_text, known_late
from powertui.data.model import PS_PER_S
from powertui.data.tools.rank_causes import LateCause
from powertui.data.tools.rank_lateness import LateRank
from powertui.plain import plain

_MAX_LATE_RANKS = 3  # that have a sentence of their own


def late_hosts(inquiry: Inquiry) -> Iterator[str]:
    """The hosts of late ranks."""
    late = known_late(inquiry.question)
    if late is None:
        return
    for rank in late.ranks[:_MAX_LATE_RANKS]:
        yield inquiry.opened.profiles[late.lateness.matched.ranks[rank.rank].host].host


def late_to_collectives(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The ranks that come to collectives later than the others, beyond noise."""
    late = known_late(inquiry.question)
    if late is None:
        return
    for number, rank in enumerate(late.ranks[:_MAX_LATE_RANKS]):
        yield _late_conclusion(inquiry, late, rank, cause=late.cause if number == 0 else None)


def _late_conclusion(
    inquiry: Inquiry,
    late: Late,
    rank: LateRank,
    cause: LateCause | None,
) -> Conclusion:
    name = plain(late.name(rank.rank), 80)
    by = units.duration(round(rank.late_ps), 3)
    total = len(late.lateness.matched)
    if rank.always:
        times_last = int((late.lateness.last == rank.rank).sum())
        words = f"{name} reaches collectives {by} after the other ranks on average"
        words += f", last in {times_last:,} of {total:,}"
    else:
        words = f"{name} reaches {rank.calls:,} of {total:,} collectives {by} after the other ranks"
    waited = units.duration(round(late.caused_s(rank) * PS_PER_S), 3)
    words += f": together these waited {waited} for it"
    joules = late.caused_joules(rank)
    if joules is not None:
        words += f" and drew {joules_text(joules)}"
    if cause is not None and cause.kind:
        words += f"; {cause.sentence}"
    seconds = late.held_up_s(rank)
    cost = inquiry.cost(seconds, None if joules is None else joules.joules)
    next_step = "See what runs on it beside the training: its input, other jobs, clocks, heat."
    if cause is not None and cause.kind:
        next_step = f"See why {cause.kind} takes longer there than on the other ranks."
    return Conclusion(
        kind=Kind.STRAGGLER,
        sentence=f"{words}.",
        short=f"late rank {whole_percent(cost.share or 0.0)}",
        confidence=Confidence.SURE,
        evidence=Evidence("late_ranks", "who came last to collectives", (late.name(rank.rank),)),
        cost=cost,
        next=next_step,
    )
