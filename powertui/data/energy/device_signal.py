"""Which channel's power follows what ran on a device.

A program numbers its GPUs as `CUDA_VISIBLE_DEVICES` orders them, a log as the driver does. Where
the numbers may not fit, power that rises when something runs tells which GPU it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from powertui.data.energy import expected_work, samples, settings
from powertui.data.energy.expected_work import Intervals
from powertui.data.energy.robust_stats import running_sums
from powertui.data.model import PS_PER_S, Floats, PowerOnTrace, Process, Trace, TrackKind

_Windows = list[tuple[Floats, Floats, Floats]]  # (from, to, ps; watts) for each possible length
Scores = dict[int, list[tuple[float, int]]]  # by device: (standard errors, channel)

# ── when power follows a device. Chosen: five standard errors are chance once in three million, so
# that among the pairs of eight GPUs none is taken for another's ──
_MIN_FOLLOW_ERRORS = settings.OUTLIER_SIGMAS  # that the correlation must be above none …
_MIN_LEAD_ERRORS = settings.FAR_SIGMAS  # … and above any other channel's
_MIN_CORRELATION = settings.MAJORITY_SHARE  # below it something else decides what the device draws
_MAX_CORRELATION = 0.999999  # so that its standard error is finite
# Of the share of a window in which something ran: else nothing can follow.
_MIN_BUSY_RANGE = settings.MINOR_SHARE
_MIN_READINGS = settings.MIN_INDEPENDENT_READINGS
_MAX_OPEN_S = settings.FOREIGN_OPEN_S  # between the first and the last place of a log
_MIN_INDEPENDENT = settings.MIN_SPREAD_VALUES
# Power that does not follow, however late its readings are. Chosen: a GPU that runs during half of
# the time and rests in the other half, and draws the same, is none that was ever seen.
_MIN_TELLING_RANGE = settings.MAJORITY_SHARE  # of the share of a window in which something ran
_MAX_STRAY_CORRELATION = settings.LESSER_SHARE
_LATENESS_S = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
_MAX_READINGS = 20_000  # that are compared: a bound of time


def follow_scores(
    trace: Trace,
    planes: Mapping[int, Sequence[Process]],
    power: Mapping[int, PowerOnTrace],
) -> Scores:
    """For each device how surely each channel's power follows what ran there, the surest first.

    Empty where that cannot be said.
    """
    scores: Scores = {number: [] for number in planes}
    if len(power) < 2 or not all(_is_placed(channel) for channel in power.values()):
        return scores
    windows = {row: _windows(channel, trace.span) for row, channel in power.items()}
    for number, processes in planes.items():
        busy = _busy(processes)
        if not len(busy):
            continue
        by_channel = [(_follows(busy, windows[row]), row) for row in power]
        by_channel.sort(reverse=True)
        scores[number] = by_channel
    return scores


def follows_alone(
    trace: Trace,
    processes: Sequence[Process],
    channel: PowerOnTrace,
) -> bool | None:
    """Whether a channel's power follows what ran on a device; None where that cannot be said."""
    busy = _busy(processes)
    if not len(busy) or not _is_placed(channel):
        return None
    windows = _windows(channel, trace.span)
    if _follows(busy, windows) >= _MIN_FOLLOW_ERRORS:
        return True
    return False if _strays(busy, windows) else None


def _strays(busy: Intervals, windows: _Windows) -> bool:
    """Whether readings plainly do not go along with what ran, however late they are."""
    is_told = False
    for lo, hi, watts in windows:
        for late_s in _LATENESS_S:
            late_ps = late_s * PS_PER_S
            share = _busy_shares(busy, lo - late_ps, hi - late_ps)
            if len(watts) < _MIN_READINGS or np.ptp(share) < _MIN_TELLING_RANGE:
                continue
            is_told = True
            if np.ptp(watts) > 0 and _correlation(share, watts) > _MAX_STRAY_CORRELATION:
                return False
    return is_told


def _correlation(share: Floats, watts: Floats) -> float:
    matrix = np.corrcoef(share, watts)
    return float(matrix[0, 1])


def _is_placed(channel: PowerOnTrace) -> bool:
    """Whether a channel is at one place: a clock that is believed to two seconds is enough, for
    power that is elsewhere follows nothing.
    """
    if channel.status == "aligned":
        return True
    open_ps = channel.offset_hi_ps - channel.offset_lo_ps
    return channel.status == "ambiguous" and open_ps <= _MAX_OPEN_S * PS_PER_S


def by_signal(scores: Mapping[int, Sequence[tuple[float, int]]]) -> dict[int, int | None]:
    """For each device the one channel whose power follows what ran there, clearly more than any
    other's; None for no such.
    """
    best: dict[int, int | None] = {}
    for number, by_channel in scores.items():
        best[number] = _clear_winner(by_channel)
    winners = list(best.values())
    for number, row in best.items():
        if winners.count(row) > 1:
            best[number] = None
    return best


def _clear_winner(by_channel: Sequence[tuple[float, int]]) -> int | None:
    if not by_channel:
        return None
    (score, row), (second_score, _) = by_channel[:2]
    is_clear = score >= _MIN_FOLLOW_ERRORS and score - second_score >= _MIN_LEAD_ERRORS
    return row if is_clear else None


def likelier_channels(by_channel: Sequence[tuple[float, int]], row: int | None) -> list[int]:
    """The channels whose power follows what ran on a device, where that of the one with its number
    (`row`) clearly does not.
    """
    if row is None:
        return []
    score_of_row = 0.0
    for score, channel in by_channel:
        if channel == row:
            score_of_row = score
    likelier = []
    for score, channel in by_channel:
        if score >= _MIN_FOLLOW_ERRORS and score - score_of_row >= _MIN_LEAD_ERRORS:
            likelier.append(channel)
    return sorted(likelier)


def _windows(power: PowerOnTrace, span: tuple[int, int]) -> _Windows:
    """The readings inside a trace (from, to, ps; watts), for every length that the sensor's window
    may have.
    """
    readings = samples.power_samples(power.series)
    if len(readings) > _MAX_READINGS:
        readings = readings[:_MAX_READINGS]
    length = 1.0
    if len(readings):
        length = samples.usual_window_s(readings)
    begin, end = span
    of_refresh = min(1.0, readings.refresh / length)
    out = []
    for factor in sorted({1.0, 0.5, 0.25, of_refresh}):
        scaled = readings if factor == 1.0 else readings.scaled(factor)
        lo = scaled.lo * PS_PER_S + power.offset_ps
        hi = scaled.hi * PS_PER_S + power.offset_ps
        is_inside = (lo >= begin) & (hi <= end)
        window = (lo[is_inside], hi[is_inside], scaled.watts[is_inside])
        out.append(window)
    return out


def _busy(processes: Sequence[Process]) -> Intervals:
    """When something ran on a device: its streams, without what the collector drew from them."""
    starts = [np.empty(0, np.int64)]
    ends = [np.empty(0, np.int64)]
    for process in processes:
        for track in process.tracks:
            if track.derived or track.kind in (TrackKind.STEPS, TrackKind.COUNTER):
                continue
            lane = track.lane(0)
            starts.append(lane.start)
            ends.append(lane.end)
    return expected_work.union(np.concatenate(starts), np.concatenate(ends))


def _follows(busy: Intervals, windows: _Windows) -> float:
    """How surely readings go along with the share of their windows in which something ran: in
    standard errors, 0 for not at all.

    Neighboring readings say much the same, so they count as fewer (Bartlett).
    """
    best = 0.0
    for lo, hi, watts in windows:
        if len(watts) < _MIN_READINGS or np.ptp(watts) <= 0:
            continue
        share = _busy_shares(busy, lo, hi)
        if np.ptp(share) < _MIN_BUSY_RANGE:
            continue
        correlation = _correlation(share, watts)
        in_common = _autocorrelation(share) * _autocorrelation(watts)
        common = float(in_common.sum())
        independent = len(share) / (1 + 2 * common)
        if correlation >= _MIN_CORRELATION and independent > _MIN_INDEPENDENT:
            # Fisher's z, whose standard error is 1 / sqrt(n - 3).
            z = float(np.arctanh(min(correlation, _MAX_CORRELATION)))
            best = max(best, z * (independent - 3) ** 0.5)
    return best


def _busy_shares(busy: Intervals, lo: Floats, hi: Floats) -> Floats:
    """The share of each window (ps) in which something ran."""
    bounds = np.column_stack([busy.start, busy.end])
    edges = bounds.reshape(-1).astype(np.float64)
    lengths = np.diff(edges)
    is_busy = np.arange(len(lengths)) % 2 == 0
    busy_until = running_sums(lengths * is_busy)
    ran_until_hi = np.interp(hi, edges, busy_until)
    ran_until_lo = np.interp(lo, edges, busy_until)
    window_ps = np.maximum(hi - lo, 1.0)
    return np.asarray((ran_until_hi - ran_until_lo) / window_ps)


def _autocorrelation(values: Floats) -> Floats:
    """How far a series goes along with itself, one reading later, two, and so on."""
    rest = values - values.mean()
    count = len(rest)
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(rest, size)) ** 2
    max_lag = max(2, count // 4)
    covariance = np.fft.irfft(spectrum, size)[1:max_lag]
    variation = max(float((rest * rest).sum()), 1e-12)
    return np.asarray(np.maximum(covariance / variation, 0.0))
