"""The window of a mean by the gaps that it leaves in the spectrum of its readings.

A mean over a window w knows nothing of what repeats exactly within it, so that the spectrum has
gaps at 1/w, 2/w …, whatever the power did.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from powertui.data.energy import settings
from powertui.data.model import Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple

# Tuned on simulated trainings (test_smear); what half and twice do is not recorded.

# ── which windows are tried ──
_MIN_READINGS = 96  # fewer leave too few lines beside a gap
_MAX_GAPS = 8
_MAX_WINDOW_REFRESHES = 64
_MAX_WINDOW_SHARE = 1 / 16  # of all readings: each gap then has lines of its own
_MIN_WINDOW_REFRESHES = 4.0  # of a shorter window no two gaps can be seen
_WIDTH_STEP = 0.015  # relative, from one width to the next
_REFINED_WIDTHS = np.linspace(0.97, 1.03, 25)  # of the best one

# ── where a gap is, in parts of the distance 1/w between gaps ──
# Half-width of a gap: there a mean lets less than a fortieth pass.
_GAP_HALF_WIDTH = 0.09
# What a gap would hold if it were none, is read around the middle between two gaps.
_MIDDLE_FROM = 0.35
_MAX_FREQUENCY = 0.5  # per refresh: no reading shows faster changes
_GAP_ROUNDING = settings.SLIGHT_SHARE  # by which the last gap may be beyond that

# ── when gaps count ──
_MAX_GAP_DEPTH = 0.22  # power in the gaps as a share of that between them
_RIVAL_GAP_SHARE = 0.7  # of the best log likelihood, from which on a longer window is preferred
_MIN_GAP_LOG_LIKELIHOOD = 14.0  # that gaps must gain
_SAME_WIDTH_LOG = settings.NOTABLE_SHARE  # difference of logarithms: nearer widths are one
_PEAK_WIDTHS = 10  # before a width that may be the same peak of likelihood: 15 %
# The sharpest steps take at least this share of a window that is believed.
_MIN_RISE_OF_RIVAL = 0.55


def window_from_gaps(level: Floats, rise: float) -> float | None:
    """The window in refreshes (more than two) by the gaps that it leaves in the spectrum; None when
    there are none.

    `rise`: refreshes that the sharpest steps take. A pause, or a burst, of two windows has gaps of
    its own between those of the mean.
    """
    moved = np.diff(level)
    count = len(moved)
    if count < _MIN_READINGS or not moved.any():
        return None
    longest = min(_MAX_WINDOW_REFRESHES, count * _MAX_WINDOW_SHARE)
    if longest <= _MIN_WINDOW_REFRESHES:
        return None
    spectrum = _spectrum(moved)
    widths, gaps = _usual_gaps(spectrum.size, longest)
    gain = _gap_gain(spectrum, gaps)
    if gain.max() < _MIN_GAP_LOG_LIKELIHOOD:
        return None
    best = _longest_clear(gain)
    if rise < _MIN_RISE_OF_RIVAL * widths[best]:
        best = _fraction_that_rises(widths, gain, best, rise)
    finer = float(widths[best]) * _REFINED_WIDTHS
    finer_gain = _gap_gain(spectrum, _gaps_of(spectrum.size, finer))
    return float(finer[np.argmax(finer_gain)])


class _Spectrum(NamedTuple):
    """The power spectrum of readings, summed up."""

    readings: int
    size: int  # of the transform: the readings, and zeros
    above: Floats  # prefix sums of its lines, which are independent and spread like exponentials


def _spectrum(moved: Floats) -> _Spectrum:
    count = len(moved)
    size = 1 << (2 * count - 1).bit_length()
    lines = np.abs(np.fft.rfft(moved * _taper(count), size)) ** 2
    return _Spectrum(
        readings=count,
        size=size,
        above=np.concatenate(([0.0], np.cumsum(lines))),
    )


def _longest_clear(gain: Floats) -> int:
    """The longest window with clear gaps: those of half of it are among its own."""
    enough = max(_MIN_GAP_LOG_LIKELIHOOD, _RIVAL_GAP_SHARE * gain.max())
    clear_rows = np.flatnonzero(gain >= enough)
    longest = int(clear_rows[-1])
    first = max(0, longest - _PEAK_WIDTHS)
    peak = gain[first : longest + 1]
    return first + int(peak.argmax())


def _fraction_that_rises(
    widths: Floats,
    gain: Floats,
    best: int,
    rise: float,
) -> int:
    """A half or a third of the best window, where steps rise too fast for all of it."""
    multiples = widths[:, None] * np.array([2.0, 3.0])
    from_best = np.abs(np.log(multiples / widths[best]))
    is_fraction = (from_best < _SAME_WIDTH_LOG).any(axis=1)
    is_fast_enough = _MIN_RISE_OF_RIVAL * widths <= rise
    is_credible = is_fraction & is_fast_enough
    fraction = int(np.where(is_credible, gain, 0.0).argmax())
    if not is_fraction[fraction]:
        return best
    around = gain[max(0, fraction - 2) : fraction + 3]
    least = max(_MIN_GAP_LOG_LIKELIHOOD, around.max())
    if gain[fraction] >= least:
        return fraction
    return best


@functools.lru_cache(maxsize=4)
def _taper(count: int) -> Floats:
    """The same for all channels of a log, as a rule."""
    return np.hanning(count)


class _Lines(NamedTuple):
    """From which line of a spectrum to which, for some widths and the first gaps of each."""

    first: Int64s
    last: Int64s

    def mean(self, above: Floats) -> Floats:
        """What the spectrum holds there, by its prefix sums; NaN where no line is."""
        count = self.last - self.first
        total = above[self.last] - above[self.first]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / count
        return np.where(count > 0, mean, np.nan)


class _Gaps(NamedTuple):
    """Where the gaps of means over some widths are in a spectrum, and what is around them."""

    width: Floats
    exists: Bools
    number: Int64s  # how many, up to each
    before: _Lines
    after: _Lines
    within: _Lines


def _gaps_of(size: int, widths: Floats) -> _Gaps:
    """The gaps of some widths in a spectrum of `size` readings."""
    number = np.arange(1.0, _MAX_GAPS + 1)[None, :]
    width = widths[:, None]
    last_number = _MAX_FREQUENCY * width
    exists = number <= last_number + _GAP_ROUNDING
    end = size // 2 + 1

    def line(gap_number: npt.NDArray[np.float64]) -> Int64s:
        nearest = np.round(gap_number / width * size)
        return np.minimum(nearest, end).astype(np.int64)

    after_end = np.minimum(number + 1 - _MIDDLE_FROM, last_number)
    gap_end = np.minimum(number + _GAP_HALF_WIDTH, last_number)
    return _Gaps(
        width=width,
        exists=exists,
        number=np.cumsum(exists, axis=1),
        before=_Lines(
            first=line(number - 1 + _MIDDLE_FROM),
            last=line(number - _MIDDLE_FROM),
        ),
        after=_Lines(
            first=line(number + _MIDDLE_FROM),
            last=line(after_end),
        ),
        within=_Lines(
            first=line(number - _GAP_HALF_WIDTH),
            last=line(gap_end),
        ),
    )


@functools.lru_cache(maxsize=4)
def _usual_gaps(size: int, longest: float) -> tuple[Floats, _Gaps]:
    """The widths that are looked at, and their gaps: the same for all channels of a log, as
    a rule.
    """
    shortest = np.log(_MIN_WINDOW_REFRESHES)
    widths = np.exp(np.arange(shortest, np.log(longest), _WIDTH_STEP))
    return widths, _gaps_of(size, widths)


def _gap_gain(spectrum: _Spectrum, gaps: _Gaps) -> Floats:
    """How much likelier the spectrum is with gaps at the multiples of 1/width than without, as a
    logarithm. What a gap would hold if it were none is read half-way to the next ones.
    """
    share = _gap_share(spectrum.above, gaps)
    log_share = np.log(np.maximum(share, 1e-6))
    by_line = (share - 1 - log_share) * np.sign(1 - share)
    by_line = np.where(gaps.exists, by_line, 0.0)
    # A taper leaves half as many independent lines. The further gaps may be in the noise of the
    # readings: as many as gain most.
    lines = _GAP_HALF_WIDTH / gaps.width * spectrum.readings
    gain = lines * np.cumsum(by_line, axis=1)
    number = np.maximum(gaps.number, 1)
    mean_share = np.cumsum(share, axis=1) / number
    largest_share = np.maximum.accumulate(share, axis=1)
    is_deep = (mean_share < _MAX_GAP_DEPTH) & (largest_share < 2 * _MAX_GAP_DEPTH)
    is_clear = is_deep & gaps.exists & (gaps.number >= 2)
    clear_gain = np.where(is_clear, gain, 0.0)
    best_gain: Floats = clear_gain.max(axis=1)
    return best_gain


def _gap_share(above: Floats, gaps: _Gaps) -> Floats:
    """What each gap holds as a share of what is around it; 0 where there is no such gap."""
    before = gaps.before.mean(above)
    after = gaps.after.mean(above)
    within = gaps.within.mean(above)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = within / np.fmin(before, after)
    share = np.where(np.isfinite(share), share, 1.0)
    return np.where(gaps.exists, share, 0.0)
