"""Energy counters as joules per interval: what wrapped, what was reset, what is only a gap."""

from __future__ import annotations

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Floats, Int64s
from powertui.data.power.notes import Notes
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.named_tuples import NamedTuple

# ranges at which known counters start again, in joules: RAPL's 32 bits in units of 61.035 µJ and
# 15.259 µJ (sysfs says max_energy_range_uj: 262143328850, 65532610987, 262143999938 …) and of 1 µJ
# or 1 mJ
_RANGES = (
    262_143.328850,
    65_532.610987,
    262_143.999938,
    65_712.999613,
    4_294.967296,
    4_294_967.296,
    16_777.216,
)
# What a wrap may imply: so many times the usual power of the counter. A reset in the middle of
# the smallest range implies far more. Chosen, not measured.
_MAX_USUAL_RATIO = 4.0
_MIN_USUAL_W = 1.0  # the usual power of a counter that hardly moved is no measure
_NEAR_END_SHARE = 0.9  # of a known range. Chosen, not measured.
_MIN_GROWING_SHARE = 0.95  # of the rows of a counter that is read less often than it counts


# Share of the rows that repeat a value, from which on a counter is read more often than it counts.
# Fewer are single readings that came twice. Chosen, not measured.
_MIN_HELD_SHARE = 0.1
# A value that is held for so many times as long as is usual is that of a machine that is off.
_MAX_HELD_RUNS = 20


class Published(NamedTuple):
    """The rows of a counter at which it had counted on."""

    rows: Int64s
    held_j: float  # J that are usually counted from one look to the next, where it holds values


def published_rows(ns: Int64s, joules: Floats) -> Published:
    """The rows at which a counter shows something new, and the first.

    Nothing that runs draws exactly nothing: a row that repeats the one before is a look at a value
    that is not counted on yet, and what comes next is of the whole time since it was. Where that
    happens often, the first row is such a look, too.
    """
    row_count = len(joules)
    changes = np.flatnonzero(np.diff(joules) != 0) + 1
    if len(changes) < 3 or len(changes) == row_count - 1:
        return Published(np.arange(row_count), 0.0)
    run_ns = np.diff(ns[changes])
    longest_ns = _MAX_HELD_RUNS * median_of_column(run_ns)
    is_new = np.zeros(row_count, np.bool_)
    is_new[changes] = True
    for before, after in _long_runs(changes, run_ns > longest_ns):
        is_new[before:after] = True
    held_count = row_count - np.count_nonzero(is_new)
    if held_count <= _MIN_HELD_SHARE * row_count:
        is_new[0] = True
        return Published(np.flatnonzero(is_new), 0.0)
    rises = np.diff(joules[changes])
    is_rise = rises > 0
    counted = float(rises[is_rise].sum())
    seconds = float(run_ns[is_rise].sum()) / NS_PER_S
    poll_s = median_of_column(np.diff(ns)) / NS_PER_S
    held_j = 0.0
    if seconds > 0:
        held_j = counted / seconds * poll_s
    return Published(np.flatnonzero(is_new), held_j)


def _long_runs(changes: Int64s, is_long: Bools) -> list[tuple[int, int]]:
    """The rows at which values that were held for long began and ended."""
    starts = changes[:-1][is_long]
    ends = changes[1:][is_long]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def intervals(
    ns: Int64s,
    joules: Floats,
    notes: Notes,
    name: str = "the counter",
    wrap_j: float | None = None,
) -> tuple[Floats, Floats]:
    """(joules since the previous row, mean watts since then) of a counter's readings; the first one
    and every reset are NaN.

    A fall is a wrap when the power that a wrap implies is like the power around it, or when the
    range is known and the counter was near its end; else it was reset, and nobody knows what ran
    meanwhile.
    """
    delta = np.full(len(joules), np.nan)
    seconds = np.full(len(joules), np.nan)
    delta[1:] = np.diff(joules)
    seconds[1:] = np.diff(ns) / NS_PER_S
    has_length = seconds > 0
    falls = np.flatnonzero((delta < 0) & has_length)
    rises = (delta >= 0) & has_length
    usual = 0.0
    if rises.any():
        usual = median_of_column(delta[rises] / seconds[rises])
    wraps = resets = 0
    for row in falls:
        fall = float(delta[row])
        before = float(joules[row] - delta[row])
        fixed = _wrapped(fall, before, float(seconds[row]), usual, wrap_j)
        if fixed is None:
            delta[row] = np.nan
            resets += 1
        else:
            delta[row] = fixed
            wraps += 1
    if wraps:
        notes.say(f"{name} wrapped {wraps} time{_plural(wraps)}; corrected")
    if resets:
        notes.say(f"{name} was reset {resets} time{_plural(resets)}; left as a gap")
    with np.errstate(divide="ignore", invalid="ignore"):
        watts = np.where(has_length, delta / seconds, np.nan)
    return delta, watts


def _wrapped(
    delta: float,
    before: float,
    seconds: float,
    usual: float,
    wrap_j: float | None,
) -> float | None:
    for span in (wrap_j,) if wrap_j else _RANGES:
        if not before <= span * (1 + 1e-9):
            continue
        # What was counted if the counter passed its end once.
        energy = delta + span
        likely = _MAX_USUAL_RATIO * max(usual, _MIN_USUAL_W) * seconds
        is_near_end = bool(wrap_j) and before > _NEAR_END_SHARE * span
        if energy >= 0 and (energy <= likely or is_near_end):
            return energy
    return None


def _plural(count: int) -> str:
    return "s" if count > 1 else ""


def _starts_again(values: Floats, rises: Floats) -> bool:
    """A counter that is set to zero now and then: it always grows, and where it falls, it falls to
    what it counts between rows.

    Joules per interval rest at times where the load does, fall as often as they rise, and to no
    less than an idle machine's.
    """
    falls = np.flatnonzero(rises < 0)
    if not len(falls) or 3 * len(falls) > len(rises):
        return False
    grown = rises[rises >= 0]
    if not (grown > 0).mean() >= _MIN_GROWING_SHARE:
        return False
    high_step = percentile_of_column(grown, 90)
    typical_step = median_of_column(grown)
    values_before = values[falls]
    values_after = values[falls + 1]
    if not (values_after <= 2 * high_step).all():
        return False
    return bool((values_before >= 2 * typical_step).all())


def is_total_of_stretches(joules: Floats) -> bool:
    """Whether rows with a start and an end hold what was drawn since the first one began: a total
    that only grows, from no more than one of them draws.
    """
    valid = joules[np.isfinite(joules)]
    if len(valid) < 2 or not looks_like_counter(valid):
        return False
    largest_step = np.diff(valid).max()
    return bool(valid[0] <= 2 * largest_step)


def looks_like_counter(values: Floats) -> bool:
    """Joules that only grow (save for wraps and new starts) are a counter; joules that go up and
    down are per interval.
    """
    valid = values[np.isfinite(values)]
    if len(valid) < 2:
        return False
    if len(valid) == 2:
        first, second = valid
        return bool(0 < first <= second and second > 1.5 * first)
    rises = np.diff(valid)
    if _starts_again(valid, rises):
        return True
    if (rises >= 0).mean() < 0.97 or not (rises > 0).any():
        return False
    typical_step = np.median(np.abs(rises))
    size = abs(valid[-1]) + valid.max()
    return bool(size > 3 * typical_step)
