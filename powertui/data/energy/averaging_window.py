"""How long each reading looks back, told from the readings themselves: a log seldom says it, and
its joules depend on it.

A mean over a window w leaves three marks. It knows nothing of what repeats exactly within it, so
that the spectrum of its readings has gaps at 1/w, 2/w …, whatever the power did. It needs w to
follow a step of power. And where it is no longer than the time between two readings, a reading that
falls on a step lies between the levels before and after it, as often as w is long.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from powertui.data.model import Bools, Floats, Int64s

# Tuned on simulated trainings; what half and twice do is recorded for UNSEEN_S only.

# ── which readings are looked at ──
MAX_READINGS = 4096  # the liveliest part of a longer log
_MIN_READINGS = 24
_PLENTY_READINGS = 128  # without a pause: then no pause needs to be bridged
_MAX_PAUSE_READINGS = 17  # nothing is read across a longer pause

# ── what a step's rise shows ──
# A slower rise is power that is slow itself: sensors that forget do so within seconds.
_MAX_RISE_S = 3.0
# One standard deviation of a window of which nothing was seen: meters are known that average over
# a second, or lag by 0.5 to 0.8 s. Half and twice: no change in findings.
UNSEEN_S = 0.9
# Power takes its time, too. A reading between two levels may have met a step on its way, and its
# window may be shorter by this time, or this share of it.
_RAMP_S = 0.05
_RAMP_SHARE = 0.4
_STEP_RANK = 3  # of the sharpest steps: the first two may be chance
_SHARP_SHARE = 0.7  # of a step that one move must make to be called sharp
_LARGE_STEP_SHARE = 0.25  # of the range of all readings, from which on a step is looked at
# The same for a step whose rise is measured: what is shorter than the window rises faster, but less
# far.
_RISING_STEP_SHARE = 0.5
_QUIET_SHARE = 0.12  # of a step, that its neighbors may move
_VISIBLE_STEP_SHARE = 1 - 2 * _QUIET_SHARE  # of the readings on a step that differ from its levels
# Of a window: power that is shorter moves it less than the steps that are looked at.
_MIN_RISE_OF_WINDOW = 0.25
_SLOW_RISE_SIGMAS = 1.5  # standard deviations by which a rise may exceed its window
# Window per time in which a sharp step rises by `_SHARP_SHARE`: that of a plain mean is 1.4, twice
# what a filter forgets in is 1.7.
_WINDOW_PER_RISE = 1.3
# The same where the fastest step of all is slow, which leaves any window open from none to that of
# a filter, and its standard deviation.
_SLOW_WINDOW_PER_RISE, _SLOW_SIGMA_PER_RISE = 0.9, 0.75
_RISE_SIGMA_SHARE = 0.5  # of a window: one standard deviation where only a rise shows it
_SAME_DISTANCE_REFRESHES = 0.5  # distances between steps that differ by less are equal

# ── what gaps in the spectrum show ──
_MAX_GAPS = 8
_MAX_WINDOW_REFRESHES = 64
_MIN_WINDOW_REFRESHES = 4.0  # of a shorter window no two gaps can be seen
# Half-width of a gap in 1/w: there a mean lets less than a fortieth pass.
_GAP_HALF_WIDTH = 0.09
_MAX_GAP_DEPTH = 0.22  # power in the gaps as a share of that between them
_RIVAL_GAP_SHARE = 0.7  # of the best log likelihood, from which on a longer window is preferred
_MIN_GAP_LOG_LIKELIHOOD = 14.0  # that gaps must gain
_SAME_WIDTH_LOG = 0.05  # difference of logarithms: nearer widths are one
# A sharp step rises by `_SHARP_SHARE` in at least this share of a rival's window.
_MIN_RISE_OF_RIVAL = 0.55


class Smear(NamedTuple):
    """The window in s, how far it may be from that (one standard deviation), and by which mark it
    was told.
    """

    window_s: float
    sd_s: float
    by: Literal["gaps", "rise", "steps", "slow", "nothing"]


def look(watts: Floats, refresh_s: float, *, held: bool = False) -> Smear | None:
    """The window of readings that follow one another every `refresh_s`. None when they are too few
    to say anything.

    `held`: asked more often than it changes, as meters are that tell of the time since they last
    did.
    """
    stretch = _liveliest(watts)
    if len(stretch.level) < _MIN_READINGS:
        return None
    steps, larger = _steps(stretch)
    seen_at_once = steps[0] >= max(2.0, 0.5 * (steps[1] + steps[2]))
    rise = _rise(stretch)
    if larger[0] + larger[1] < 2:  # a long mean goes so far in two readings only by chance
        window = _from_gaps(stretch.level, rise)
        if (
            window is not None and not rise < _MIN_RISE_OF_WINDOW * window
        ):  # a burst of power has such a spectrum, too, but begins at once
            # A mean so long rises within it. What rises more slowly is slow power, or the gaps are
            # the power's own.
            longer = (
                min((rise / _SHARP_SHARE - window) / _SLOW_RISE_SIGMAS, _RISE_SIGMA_SHARE * window)
                if rise > window
                else 0.0
            )
            return Smear(
                _round(window) * refresh_s, max(0.03 * window, 0.2, longer) * refresh_s, "gaps"
            )
    forgets = (
        steps[2] > steps[0] + steps[1]
    )  # a sensor that forgets goes on after the two readings that were seen
    least = 2.0 if forgets else 3.0
    # No step shows at once: a slow sensor, or power that is slow itself.
    if least <= rise <= _MAX_RISE_S / (1.2 * refresh_s) and not seen_at_once:
        return Smear(
            _round(_WINDOW_PER_RISE * rise) * refresh_s,
            _RISE_SIGMA_SHARE * _WINDOW_PER_RISE * rise * refresh_s,
            "rise",
        )
    prior = 0.75 if held else 0.5
    own_share = steps.own
    share = (own_share * (steps[1] / _VISIBLE_STEP_SHARE + 2 * steps[2]) + 2 * prior) / (
        own_share * steps.all + 2
    )
    share = min(1.0, share) if steps[2] < 2 else share
    variance_share = min(share, 1.0)
    if steps[0] + steps[1] < 2 and np.isnan(
        rise
    ):  # nothing was seen to rise at once: means over a second would look just so
        rising = (
            _rise(stretch.alone(), 1) if refresh_s < UNSEEN_S else 0.0
        )  # a slower one shows nothing faster than itself
        slowest = min(
            rising * refresh_s, _MAX_RISE_S
        )  # and a filter, if nothing at all rises faster
        if not (rising > least and slowest * _SLOW_SIGMA_PER_RISE > UNSEEN_S):
            return Smear(_round(share) * refresh_s, max(UNSEEN_S, refresh_s), "nothing")
        return Smear(
            _round(_SLOW_WINDOW_PER_RISE * slowest / refresh_s) * refresh_s,
            _SLOW_SIGMA_PER_RISE * slowest,
            "slow",
        )
    sd = (
        max(variance_share * (1 - variance_share), 0.04) / (own_share * steps.all + 3) + 0.05**2
    ) ** 0.5
    if forgets:
        sd = max(sd, _RISE_SIGMA_SHARE * share)
    elif steps.all > 1:
        sd = max(sd, min(_RAMP_S / refresh_s, _RAMP_SHARE * share))
    return Smear(_round(share) * refresh_s, sd * refresh_s, "steps" if steps.all > 1 else "nothing")


def _round(refreshes: float) -> float:
    """No finer than it is known, so that channels of one log mean the same: tenths, and two digits
    of longer ones.
    """
    return round(refreshes, 1) if refreshes < 10 else float(f"{refreshes:.2g}")


class _Stretch(NamedTuple):
    """Readings that follow one another.

    Short pauses between them are drawn straight, and nothing is read from what crosses one.
    """

    level: Floats
    drawn: Floats  # up to each reading, how many are drawn instead of read
    # W from the lowest to the highest, of all of the log: what hardly moves there may be noise
    swing: float

    @property
    def whole(self) -> bool:
        """Every reading was read."""
        return bool(self.drawn[-1] == 0)

    def alone(self) -> _Stretch:
        """The same with its first and last reading going on, so that steps near the ends of a short
        log are looked at, too.
        """
        pad = len(self.level)
        level = np.pad(self.level, pad, mode="edge")
        return self._replace(level=level, drawn=np.pad(self.drawn, pad, mode="edge"))

    def read(self, first: Int64s, last: Int64s) -> Bools:
        """Whether all readings from one to another were."""
        return np.asarray(self.drawn[last + 1] == self.drawn[first])


def _liveliest(watts: Floats) -> _Stretch:
    """The longest stretch without a gap, or its liveliest part when it is very long.

    Where pauses leave none that is long, the longest with no more than short ones.
    """
    there = np.isfinite(watts)
    if not there.any():
        return _Stretch(watts[:0], np.zeros(1), 0.0)
    first, last = _best(watts, there)
    if last - first < min(_PLENTY_READINGS, there.sum()):
        rows = np.flatnonzero(there)
        near = np.flatnonzero(np.diff(rows) <= _MAX_PAUSE_READINGS)
        ends = np.zeros(len(watts) + 1, np.int64)
        ends[rows[near]] += 1
        ends[rows[near + 1]] -= 1
        wide = _best(watts, (np.cumsum(ends)[:-1] > 0) | there)
        if there[slice(*wide)].sum() > 2 * (last - first):
            first, last = wide
    level, read = watts[first:last], there[first:last]
    if not read.all():
        level = np.interp(np.arange(len(level)), np.flatnonzero(read), level[read])
    if len(level) > MAX_READINGS:
        moved = np.concatenate(([0.0], np.cumsum(np.diff(level) ** 2)))
        start = int(np.argmax(moved[MAX_READINGS - 1 :] - moved[: len(moved) - MAX_READINGS + 1]))
        level, read = level[start : start + MAX_READINGS], read[start : start + MAX_READINGS]
    low, high = np.percentile(watts[there], (1, 99))
    return _Stretch(level, np.concatenate(([0.0], np.cumsum(~read))), float(high - low))


def _best(watts: Floats, there: Bools) -> tuple[int, int]:
    """From where to where they follow one another.

    Of the stretches that are half as long as the longest, the one in which most happens.
    """
    edges = np.diff(np.concatenate(([0], there.astype(np.int8), [0])))
    runs = np.flatnonzero(edges).reshape(-1, 2)
    first, last = runs[:, 0], runs[:, 1]
    if len(runs) == 1:
        return int(first[0]), int(last[0])
    squares = np.nan_to_num(np.diff(watts)) ** 2
    moved = np.concatenate(([0.0], np.cumsum(squares), [0.0]))
    length = last - first
    is_long = length >= length.max() / 2
    happened = np.where(is_long, moved[last - 1] - moved[first], -1.0)
    best = int(happened.argmax())
    return int(first[best]), int(last[best])


# ── gaps in the spectrum ─────────────────────────────────────────────────────────────────────────


def _from_gaps(level: Floats, rise: float) -> float | None:
    """The window in refreshes (more than two) by the gaps that it leaves in the spectrum; None when
    there are none.

    `rise`: refreshes that the sharpest steps take. A pause, or a burst, of two windows has gaps of
    its own between those of the mean.
    """
    moved = np.diff(level)
    count = len(moved)
    if count < 4 * _MIN_READINGS or not moved.any():
        return None
    size = 1 << (2 * count - 1).bit_length()
    longest = min(_MAX_WINDOW_REFRESHES, count / 16)
    if longest <= _MIN_WINDOW_REFRESHES:
        return None
    spectrum = np.abs(np.fft.rfft(moved * _taper(count), size)) ** 2
    above = np.concatenate(([0.0], np.cumsum(spectrum)))
    widths, gaps = _usual_gaps(size, longest)
    gain = _gap_gain(above, count, gaps)
    if gain.max() < _MIN_GAP_LOG_LIKELIHOOD:
        return None
    # The gaps of half a window are among its own: the longest that tells is the one, unless steps
    # rise too fast for that.
    top = int(
        np.flatnonzero(gain >= max(_MIN_GAP_LOG_LIKELIHOOD, _RIVAL_GAP_SHARE * gain.max()))[-1]
    )
    first = max(0, top - 10)
    top = first + int(gain[first : top + 1].argmax())
    if rise < _MIN_RISE_OF_RIVAL * widths[top]:
        is_fraction = (
            np.abs(np.log(widths[:, None] * np.array([2.0, 3.0]) / widths[top])) < _SAME_WIDTH_LOG
        ).any(axis=1)
        at = int(np.where(is_fraction & (_MIN_RISE_OF_RIVAL * widths <= rise), gain, 0.0).argmax())
        top = (
            at
            if is_fraction[at]
            and gain[at] >= max(_MIN_GAP_LOG_LIKELIHOOD, gain[max(0, at - 2) : at + 3].max())
            else top
        )
    finer = float(widths[top]) * np.linspace(0.97, 1.03, 25)
    return float(finer[np.argmax(_gap_gain(above, count, _gaps_of(size, finer)))])


@functools.lru_cache(maxsize=4)
def _taper(count: int) -> Floats:
    """The same for all channels of a log, as a rule."""
    return np.asarray(np.hanning(count))


class _Lines(NamedTuple):
    """From which line of a spectrum to which, for some widths and the first gaps of each."""

    first: Int64s
    last: Int64s

    def mean(self, above: Floats) -> Floats:
        """What the spectrum holds there, by its prefix sums; NaN where no line is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                np.where(
                    self.last > self.first,
                    (above[self.last] - above[self.first]) / (self.last - self.first),
                    np.nan,
                )
            )


class _Gaps(NamedTuple):
    """Where the gaps of means over some widths lie in a spectrum, and what lies around them."""

    width: Floats
    there: Bools
    many: Int64s
    before: _Lines
    after: _Lines
    within: _Lines


def _gaps_of(size: int, widths: Floats) -> _Gaps:
    number, width = np.arange(1.0, _MAX_GAPS + 1)[None, :], widths[:, None]
    there = number <= 0.5 * width + 0.02

    def lines(low: Any, high: Any) -> _Lines:
        return _Lines(
            *(
                np.minimum(np.round(x / width * size), size // 2 + 1).astype(np.int64)
                for x in (low, high)
            )
        )

    before, after = (
        lines(number - 0.65, number - 0.35),
        lines(number + 0.35, np.minimum(number + 0.65, 0.5 * width)),
    )
    within = lines(number - _GAP_HALF_WIDTH, np.minimum(number + _GAP_HALF_WIDTH, 0.5 * width))
    return _Gaps(width, there, np.cumsum(there, axis=1), before, after, within)


@functools.lru_cache(maxsize=4)
def _usual_gaps(size: int, longest: float) -> tuple[Floats, _Gaps]:
    """The widths that are looked at, and their gaps: the same for all channels of a log, as
    a rule.
    """
    widths = np.exp(np.arange(np.log(_MIN_WINDOW_REFRESHES), np.log(longest), 0.015))
    return widths, _gaps_of(size, widths)


def _gap_gain(above: Floats, count: int, gaps: _Gaps) -> Floats:
    """How much likelier the spectrum is with gaps at the multiples of 1/width than without, as a
    logarithm.

    `above`: the spectrum's prefix sums. Lines of it are independent and spread like exponentials;
    what a gap would hold if it were none is told by what lies half-way to the next ones.
    """
    exists, numbers = gaps.there, gaps.many
    around = np.fmin(gaps.before.mean(above), gaps.after.mean(above))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = gaps.within.mean(above) / around
    share = np.where(exists, np.where(np.isfinite(share), share, 1.0), 0.0)
    gain = np.where(exists, (share - 1 - np.log(np.maximum(share, 1e-6))) * np.sign(1 - share), 0.0)
    # A taper leaves half as many independent lines. The further gaps may lie in the noise of the
    # readings: as many as tell most.
    total = _GAP_HALF_WIDTH / gaps.width * count * np.cumsum(gain, axis=1)
    deep = (np.cumsum(share, axis=1) / np.maximum(numbers, 1) < _MAX_GAP_DEPTH) & (
        np.maximum.accumulate(share, axis=1) < 2 * _MAX_GAP_DEPTH
    )
    return np.asarray(np.where(deep & exists & (numbers >= 2), total, 0.0).max(axis=1))


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


def _rise(stretch: _Stretch, which: int = _STEP_RANK) -> float:
    """Refreshes that the sharpest steps take, the first or the third of them; 1 when one comes
    within a refresh.

    NaN when there is no step worth the name.
    """
    level = stretch.level
    large = _RISING_STEP_SHARE * stretch.swing
    if large <= 0:
        return float("nan")
    ranges = _Ranges(level)
    span, before = 1, 0
    while 8 * span < len(level):
        if _may_be_sharp(level, span, large):
            share = _sharpest(stretch, ranges, span, large, which)
            if share >= _SHARP_SHARE:
                if not before:
                    return float(span)
                was = _sharpest(stretch, ranges, before, large, which)
                return before + (span - before) * (_SHARP_SHARE - was) / max(share - was, 1e-9)
        before, span = span, max(span + 1, round(span * 1.4))
    return float("nan")


def _may_be_sharp(level: Floats, span: int, large: float) -> bool:
    """Whether any step moves so far in `span` refreshes that it could be sharp: a look that costs
    little.
    """
    around, start, right, every = _around(span)
    size = len(level) - 2 * around
    if size < 1:
        return False
    moved = level[right : right + size][every] - level[start : start + size][every]
    return bool(max(moved.max(), -moved.min()) >= _SHARP_SHARE * large * (1 - 1e-9))


def _around(span: int) -> tuple[int, int, int, slice]:
    """Readings on either side of a step's middle; where it begins and ends, from the first of them;
    and which middles are tried.
    """
    around = 4 * span
    return (
        around,
        around - span // 2,
        around + (span + 1) // 2,
        slice(None, None, max(1, span // 3)),
    )


def _sharpest(stretch: _Stretch, ranges: _Ranges, span: int, large: float, which: int) -> float:
    """The share of a step that `span` refreshes make of what eight such spans around do: of the
    sharpest step, or the third.
    """
    level = stretch.level
    around, left, right, every = _around(span)
    size = len(level) - 2 * around
    if size < 1:
        return 0.0
    most = ranges.means(2 * around + 1, every)
    rows = np.flatnonzero(most >= large)  # seldom many: a step is rare
    if not stretch.whole:
        middle = rows * every.step + around
        rows = rows[stretch.read(middle - span // 2, middle + (span + 1) // 2)]
    which = min(which, len(most))
    if len(rows) < which:
        return 0.0
    moved = np.abs(
        level[right : right + size][every][rows] - level[left : left + size][every][rows]
    )
    return float(np.sort(moved / np.maximum(most[rows], 1e-12))[-which])


class _Ranges:
    """From the least to the most of any number of readings in a row: of 1, 2, 4 … of them, each put
    together once.
    """

    def __init__(self, level: Floats) -> None:
        self._doubled = [(level, level)]  # most and least

    def means(self, width: int, every: slice) -> Floats:
        """Of each `width` readings in a row, or of every so many of those."""
        power = width.bit_length() - 1
        while len(self._doubled) <= power:
            half = 1 << len(self._doubled) - 1
            most, least = self._doubled[-1]
            self._doubled.append(
                (np.maximum(most[:-half], most[half:]), np.minimum(least[:-half], least[half:]))
            )
        most, least = self._doubled[power]
        later = width - (1 << power)
        count = len(most) - later
        high = np.maximum(most[:count][every], most[later:][every])
        return np.asarray(high - np.minimum(least[:count][every], least[later:][every]))


class _Steps(NamedTuple):
    """Clear steps between two quiet levels: how many show at once, with a reading between the
    levels, and with two.
    """

    at_once: int
    between: int
    two: int
    all: int
    own: float  # share of all that met the readings in a phase of their own


_NO_STEPS = _Steps(0, 0, 0, 0, 1.0)


def _steps(stretch: _Stretch) -> tuple[_Steps, _Steps]:
    """The large ones, and of these the larger ones."""
    level = stretch.level
    large = _LARGE_STEP_SHARE * stretch.swing
    if large <= 0 or len(level) < 9:
        return _NO_STEPS, _NO_STEPS
    moves = np.abs(np.diff(level))
    clear = [_between(stretch, moves, inner, large) for inner in range(3)]
    return _counted(clear), _counted(
        [steps.larger(_RISING_STEP_SHARE * stretch.swing) for steps in clear]
    )


class _Clear(NamedTuple):
    """Clear steps with so many readings between the levels."""

    at: Floats  # refreshes
    up: Bools
    jump: Floats

    def larger(self, least: float) -> _Clear:
        """Those of so many W."""
        some = self.jump >= least
        return _Clear(self.at[some], self.up[some], self.jump[some])


def _between(stretch: _Stretch, moves: Floats, inner: int, large: float) -> _Clear:
    level = stretch.level
    size = len(level) - 5 - inner  # two readings before, two after
    left, right = level[2 : 2 + size], level[3 + inner : 3 + inner + size]
    jump = np.abs(right - left)
    rows = np.flatnonzero(jump >= large)
    if len(rows):
        jump = jump[rows]
        still = [moves[at + rows] < _QUIET_SHARE * jump for at in (0, 1, 3 + inner, 4 + inner)]
        clear = still[1] & still[2] & (still[0] | still[3])
        if not stretch.whole:
            clear &= stretch.read(rows + 1, rows + 4 + inner)
        last = np.zeros(len(rows))
        for k in range(inner):
            with np.errstate(divide="ignore", invalid="ignore"):
                part = (level[3 + k + rows] - left[rows]) / (right[rows] - left[rows])
            clear &= (part > last + _QUIET_SHARE / (k + 1)) & (
                part < 1 - _QUIET_SHARE / (inner - k)
            )
            last = part
        rows, jump = rows[clear], jump[clear]
    return _Clear(
        np.asarray(rows + inner / 2, np.float64),
        np.asarray(right[rows] > left[rows]),
        jump[: len(rows)],
    )


def _counted(clear: Sequence[_Clear]) -> _Steps:
    counts = [len(steps.at) for steps in clear]
    if not sum(counts):
        return _NO_STEPS
    middle, up = (
        np.concatenate([steps.at for steps in clear]),
        np.concatenate([steps.up for steps in clear]),
    )
    own_phases = sum(_phases(np.sort(middle[steps])) for steps in (up, ~up))
    return _Steps(counts[0], counts[1], counts[2], len(middle), own_phases / len(middle))


def _phases(at: Floats) -> float:
    """How many of these steps, by when they came (in refreshes), met the readings in a phase of
    their own.

    A program's steps are of one length: one that is nearly a whole number of refreshes meets the
    sensor alike again and again, and all of them together say no more than one. Each time the phase
    has moved by what cannot be seen of a step it counts as another.
    """
    if len(at) < 3:
        return float(len(at))
    distances = np.diff(at)
    ends = np.concatenate(
        (
            [0],
            np.flatnonzero(np.abs(np.diff(distances)) > _SAME_DISTANCE_REFRESHES) + 1,
            [len(distances)],
        )
    )
    phases = 1.0
    for first, last in itertools.pairwise(ends.tolist()):
        steps = last - first
        length = float(at[last] - at[first]) / steps
        phases += (
            1.0
            if steps == 1
            else steps * min(abs(length - round(length)) / (2 * _QUIET_SHARE), 1.0)
        )
    return phases
