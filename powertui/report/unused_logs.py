"""What a person may type for a log that lies beside a run and was recorded at another time.

Clocks of BMCs are rarely right, so the log may be the run's all the same: its readings tell by how
much its clock would be off. It is said and not believed. The log of another training of the same
program fits as well.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.asked import Aligning
from powertui.data.energy import account as accounts
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.trace_account import Account
from powertui.data.model import NS_PER_S, PS_PER_S, Trace
from powertui.data.opened import Profile
from powertui.units import duration

# A clock that is further off is another day's, and so is its log. Chosen: a wrong date is rarer
# than a zone or an hour of summer time.
_MAX_OFF_S = 26 * 3600.0


def way_on(profile: Profile, account: Account, aligning: Aligning) -> str:
    """Whether the readings of a log that is not used fit this run, and the option that takes them;
    "" where they do not, and beside a log that is used.
    """
    is_used = any(not channel.alignment.elsewhere for channel in account.placed)
    if is_used or aligning.mode != "auto":
        return ""
    by_readings = accounts.energy_account(profile, replace(aligning, mode="signal"))
    for channel in by_readings.placed:
        words = _off_in_words(channel, profile.trace)
        if words:
            return f"Its readings fit this run if its clock is {words}: --align signal takes that."
    return ""


def _off_in_words(channel: Placed, trace: Trace) -> str:
    """How far the clock of a log would be off: "47.0 s ahead (± 0.25 s)"."""
    clock = channel.power.series.clock
    alignment = channel.alignment
    if not (clock.known and trace.clock.known and alignment.is_sure):
        return ""
    assert alignment.offset_s is not None
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    ahead_s = (clock.mid_ns - trace.clock.mid_ns) / NS_PER_S - alignment.offset_s
    if abs(ahead_s) > _MAX_OFF_S:
        return ""
    way = "ahead" if ahead_s > 0 else "behind"
    half_s = (alignment.hi_s - alignment.lo_s) / 2
    by = duration(round(abs(ahead_s) * PS_PER_S), 3)
    half = duration(round(half_s * PS_PER_S), 2)
    return f"{by} {way} (± {half})"
