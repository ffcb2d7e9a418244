"""Where a power log lies on a trace when no clock tells: by what ran.

For every offset in question the readings are fitted by the kinds of work that would have filled
their windows (`placement_score`). What an offset costs says how likely it is, once it is divided
by how alike neighboring residuals are: a likelihood that takes them for independent believes itself
far too much. The answer is a set of places with weights; it is sure when nearly all of the weight
lies in one.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import alignment_verdict, coarse_search, settings
from powertui.data.energy.alignment_places import Fit
from powertui.data.energy.offset_costs import MIN_SAMPLES
from powertui.data.energy.offset_search import OffsetRange, OffsetSearch
from powertui.data.energy.samples import Samples
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Bools, Floats

# Share of the shorter of log and profile that must overlap: a log may begin or end within the
# profile. Chosen: with less, few readings are left to fit.
_MIN_OVERLAP_SHARE = 0.2
# Readings at either end of all that are odd: two, and one in a thousand.
_ODD_READINGS, _ODD_SHARE = 2, settings.NEGLIGIBLE_WEIGHT


def search(
    data: Samples,
    shares: WindowShares,
    *,
    within: tuple[float, float] | None = None,
    step_s: float | None = None,
) -> Fit | str:
    """The offset that explains the samples best, or why there is none.

    `step_s`: the usual step, for aliases.
    """
    data = data.gathered(settings.INSTANT_S).listened()
    lo, hi = _offsets(data, shares, within)
    if len(data) < MIN_SAMPLES:
        return f"only {len(data)} different samples"
    if hi <= lo:
        return "log and profile do not overlap enough at any offset"
    if alignment_verdict.is_flat(_swing(data.watts), data):
        return "the power hardly changes, so there is no edge to align by"
    base_w = _lowest(data.watts)
    rough = coarse_search.candidates(data, shares, lo, hi, base_w)
    if not len(rough):
        return f"no offset puts {MIN_SAMPLES} samples inside the profile"
    is_near = _near(data, shares, rough)
    model = OffsetSearch(data[is_near], shares, step_s, base_w)
    searched = model.run(rough, OffsetRange(lo, hi))
    if isinstance(searched, str):
        return searched
    return alignment_verdict.fit(model, searched)


def _swing(watts: Floats) -> float:
    """From the lowest power to the highest, odd readings left aside."""
    in_order = np.sort(watts)
    odd = int(_ODD_SHARE * len(watts)) + _ODD_READINGS
    lowest_w = in_order[odd]
    highest_w = in_order[-1 - odd]
    return float(highest_w - lowest_w)


def _lowest(watts: Floats) -> float:
    """The lowest power that the log ever had, a single odd reading left aside: no idle machine
    draws less.
    """
    odd = min(2, len(watts) // 40)
    return float(np.sort(watts)[odd])


def _near(data: Samples, shares: WindowShares, offsets: Floats) -> Bools:
    """The samples that are on or around the profile at one of these offsets: of a day of log the
    others say nothing.
    """
    first, last = shares.span
    margin = coarse_search.margin(data, last - first)
    around_begin = first - margin
    around_end = last + margin
    is_near = np.zeros(len(data), np.bool_)
    for offset in offsets.tolist():
        ends_after = data.hi + offset > around_begin
        begins_before = data.lo + offset < around_end
        is_near |= ends_after & begins_before
    return is_near


def _offsets(
    data: Samples,
    shares: WindowShares,
    within: tuple[float, float] | None,
) -> tuple[float, float]:
    """The offsets at which enough of the shorter one is overlapped."""
    if not len(data):
        return 0.0, 0.0
    first, last = shares.span
    log_begin = float(data.lo[0])
    log_end = float(data.hi[-1])
    shorter_s = min(last - first, log_end - log_begin)
    least = _MIN_OVERLAP_SHARE * shorter_s
    lo = first + least - log_end
    hi = last - least - log_begin
    if within is not None:
        lo = max(lo, within[0])
        hi = min(hi, within[1])
    return lo, hi
