"""The op table with what each op drew, where a trace holds its devices' own power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from powertui.data.asked import Aligning
from powertui.data.opened import Profile
from powertui.data.table import Result
from powertui.data.tools import op_table
from powertui.data.tools.op_stats import OpStats, op_stats
from powertui.data.tools.registry import Question

if TYPE_CHECKING:
    from powertui.data.energy.aiu_scale import SumScale

ASSUMED = (
    "Energy is assumed: the AIU's power sum is taken as 12 V/512 a cycle, which IBM does not "
    "document. An aiu-smi log of the same time settles it: powertui record --source aiu-smi:"
)


def answer(question: Question) -> Result:
    """The op table of the window, most self time first."""
    lo, hi = question.window
    profile = question.profile
    stats = op_stats(profile.trace, lo, hi)
    return op_result(
        stats,
        profile,
        question.aligning,
        run=question.opened.name,
        host=question.host,
    )


def op_result(
    stats: OpStats,
    profile: Profile | None,
    aligning: Aligning,
    *,
    run: str = "",
    host: int = 0,
) -> Result:
    """The op table, with joules where the trace holds the power of its devices."""
    if profile is None or not any(counter.unit == "W" for counter in stats.trace.counters):
        return op_table.result(stats, run, host)
    from powertui.data.tools import op_joules

    scale = own_scale(profile, aligning)
    energy = op_joules.op_joules(stats, scale.factor if scale is not None else 1.0)
    if energy is None:
        return op_table.result(stats, run, host)
    note = ASSUMED
    if scale is not None:
        note = f"Energy is by the AIU's power sum; {scale.sentence()}."
    return op_table.result(stats, run, host, energy=energy, notes=(note,))


def own_scale(profile: Profile, aligning: Aligning) -> SumScale | None:
    """What a log beside the trace makes of its devices' own power; None where nothing does."""
    from powertui.data.energy import account, aiu_scale

    return profile.cached(
        ("own scale", aligning),
        lambda: aiu_scale.found_scale(account.placed_as_read(profile, aligning)),
    )
