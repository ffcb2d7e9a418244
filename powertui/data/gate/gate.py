"""Runs held against limits and a baseline: within, above or below, or "cannot say"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum

from powertui.data.compare.configuration import Setting, differing_settings
from powertui.data.compare.figure import Basis
from powertui.data.compare.run_scatter import MIN_RUNS
from powertui.data.gate import quantities
from powertui.data.gate.absent import NAME_CHARACTERS, missing, missing_in_baseline
from powertui.data.gate.limits_asked import FixedLimit, Tolerance
from powertui.data.gate.quantities import GateQuantity
from powertui.data.gate.run_values import BaselineRuns, GatedRun
from powertui.data.gate.samples import (
    GateInterval,
    GateSamples,
    difference_interval,
    may_hide_drift,
    mean_interval,
    runs_for_difference,
    runs_for_limit,
    samples_of_runs,
)
from powertui.plain import plain
from powertui.value_types import dataclass

# One job asks several questions of one pair of groups. "Above" is believed at 95 % of two of them;
# of more, each has to be surer, so that a job in which nothing changed is red in 5 of 100 at most.
_BELIEVED_AT_95 = 2
_SENSORS = "sensors"  # the setting: where it differs, gains do not cancel


class GateVerdict(str, Enum):
    """The answer of a row. The values are in the JSON: they stay."""

    WITHIN = "within"
    ABOVE = "above"  # the most that is allowed
    BELOW = "below"  # the least that is allowed
    CANNOT_SAY = "cannot say"


@dataclass(frozen=True)
class GateRow:
    """One limit, and what the runs say of it."""

    quantity: GateQuantity
    kind: str  # "max", "min" or "against"
    limit: float | None  # in the quantity's unit; of a baseline, its mean with the tolerance
    verdict: GateVerdict
    runs: int = 0  # that have the quantity
    interval: GateInterval | None = None  # of the quantity; of a baseline, of the difference
    value: float | None = None
    baseline: float | None = None
    baseline_runs: int = 0
    tolerance: float | None = None
    is_watched: bool = False
    why: str = ""  # why it cannot be said, as a fragment
    needs: str = ""  # which recording would tell

    @property
    def is_broken(self) -> bool:
        return self.verdict in (GateVerdict.ABOVE, GateVerdict.BELOW)

    @property
    def is_open(self) -> bool:
        """Whether nobody can say, and somebody has to."""
        return self.verdict is GateVerdict.CANNOT_SAY and not self.is_watched


@dataclass(frozen=True)
class Gate:
    """The answer of a check."""

    rows: tuple[GateRow, ...]
    runs: tuple[str, ...]
    sessions: int = 0  # profiles of these runs
    baseline: str = ""  # its name
    baseline_runs: int = 0
    configuration: tuple[Setting, ...] = ()  # that differs from the baseline's
    notes: tuple[str, ...] = ()
    allows_open: bool = False

    @property
    def verdict(self) -> GateVerdict:
        """The worst of all rows."""
        for row in self.rows:
            if row.is_broken:
                return row.verdict
        if any(row.is_open for row in self.rows):
            return GateVerdict.CANNOT_SAY
        return GateVerdict.WITHIN

    @property
    def exit_code(self) -> int:
        """0 within, 1 above or below, 3 cannot say."""
        if self.verdict is GateVerdict.WITHIN:
            return 0
        if self.verdict is GateVerdict.CANNOT_SAY:
            return 0 if self.allows_open else 3
        return 1


def held_against(
    runs: Sequence[GatedRun],
    limits: Sequence[FixedLimit],
    tolerances: Sequence[Tolerance] = (),
    baseline: BaselineRuns | None = None,
    *,
    allows_open: bool = False,
) -> Gate:
    """A row for each limit, and for each quantity that is compared with the baseline."""
    rows = [_limit_row(runs, limit) for limit in limits]
    configuration: tuple[Setting, ...] = ()
    if baseline is not None:
        configuration = differing_settings(
            [run.settings for run in baseline.runs], [run.settings for run in runs]
        )
        other_sensors = any(row.name == _SENSORS for row in configuration)
        count = max(1, len(tolerances))
        level = 0.05 * min(1.0, _BELIEVED_AT_95 / count)
        for tolerance in tolerances:
            row = _against_row(runs, baseline, tolerance, other_sensors=other_sensors, level=level)
            rows.append(row)
    return Gate(
        rows=tuple(rows),
        runs=tuple(run.name for run in runs),
        sessions=sum(run.sessions for run in runs),
        baseline="" if baseline is None else baseline.name,
        baseline_runs=0 if baseline is None else len(baseline.runs),
        configuration=configuration,
        notes=tuple(_notes(runs, rows, baseline)),
        allows_open=allows_open,
    )


# ── a fixed limit ────────────────────────────────────────────────────────────────────────────────


def _limit_row(runs: Sequence[GatedRun], limit: FixedLimit) -> GateRow:
    samples = samples_of_runs(runs, limit.quantity.name)
    row = GateRow(
        quantity=limit.quantity,
        kind="min" if limit.is_least else "max",
        limit=limit.value,
        verdict=GateVerdict.CANNOT_SAY,
        runs=len(samples.values),
    )
    if not samples.values:
        return replace(row, why=missing(runs, limit.quantity.name))
    interval = mean_interval(samples)
    row = replace(row, interval=interval, value=interval.value)
    if interval.lo is None or interval.hi is None:
        why = "nothing shows how much it varies within a run"
        return replace(row, why=why, needs=_at_least(MIN_RUNS))
    broken = GateVerdict.BELOW if limit.is_least else GateVerdict.ABOVE
    lo = interval.lo
    hi = interval.hi
    most = limit.value
    # The least is the most of the negative: one rule for both.
    if limit.is_least:
        lo, hi, most = -hi, -lo, -most
    if hi <= most:
        return replace(row, verdict=GateVerdict.WITHIN)
    if lo > most:
        return replace(row, verdict=broken)
    return replace(row, why="the limit is inside its interval", needs=_needs(samples, limit))


def _needs(samples: GateSamples, limit: FixedLimit) -> str:
    if not samples.decides_by_runs:
        return _at_least(MIN_RUNS)
    if abs(limit.value - samples.mean) <= max(samples.margins):
        return "a sensor whose gain is known better: more runs do not help"
    count = runs_for_limit(samples, limit.value)
    if count is None:
        return "more than 100 runs: the value is as good as the limit"
    return f"about {max(count, len(samples.values) + 1)} runs"


def _at_least(count: int) -> str:
    return f"at least {count} runs"


# ── against a baseline ───────────────────────────────────────────────────────────────────────────


def _against_row(
    runs: Sequence[GatedRun],
    baseline: BaselineRuns,
    tolerance: Tolerance,
    *,
    other_sensors: bool,
    level: float,
) -> GateRow:
    quantity = tolerance.quantity
    base = samples_of_runs(baseline.runs, quantity.name)
    new = samples_of_runs(runs, quantity.name)
    row = GateRow(
        quantity=quantity,
        kind="against",
        limit=None,
        verdict=GateVerdict.CANNOT_SAY,
        runs=len(new.values),
        baseline_runs=len(base.values),
        tolerance=tolerance.share,
        is_watched=tolerance.is_watched,
    )
    if not base.values:
        return replace(row, why=missing_in_baseline(baseline, quantity.name))
    row = replace(row, baseline=base.mean)
    if not new.values:
        return replace(row, why=missing(runs, quantity.name))
    interval = difference_interval(base, new, with_margins=other_sensors and quantity.is_power)
    if interval.lo is None or interval.hi is None:
        needs = f"{_at_least(MIN_RUNS)} in the baseline, and as many to check"
        why = "nothing shows how much it varies within a run"
        return replace(
            row,
            value=new.mean,
            interval=interval,
            why=why,
            needs=needs,
        )
    return _judged_row(replace(row, value=new.mean, interval=interval), base, new, level)


def _judged_row(row: GateRow, base: GateSamples, new: GateSamples, level: float) -> GateRow:
    """The row with its verdict, by the interval of its difference."""
    interval = row.interval
    assert interval is not None
    assert interval.lo is not None
    assert interval.hi is not None
    quantity = row.quantity
    worse = -1.0 if quantity.more_is_better else 1.0
    allowed = (row.tolerance or 0.0) * abs(base.mean)
    row = replace(row, limit=base.mean + worse * allowed)
    difference = worse * interval.value
    if worse > 0:
        most = interval.hi
    else:
        most = -interval.lo
    # One recording against another says nothing of either program, whatever the two measured.
    is_about_runs = interval.basis is Basis.RUN_TO_RUN
    if is_about_runs and most <= allowed:
        return replace(row, verdict=GateVerdict.WITHIN)
    # A difference above the tolerance is red only if chance alone would seldom make any.
    is_certain = interval.is_different and (interval.p is None or interval.p <= level)
    if is_certain and difference > allowed:
        broken = GateVerdict.BELOW if quantity.more_is_better else GateVerdict.ABOVE
        return replace(row, verdict=broken)
    return replace(
        row,
        why=_why_open(row, difference > allowed, may_hide_drift(base, new)),
        needs=_needs_against(base, new, max(allowed, difference)),
    )


def _why_open(row: GateRow, is_larger: bool, is_one_after_other: bool) -> str:
    assert row.interval is not None
    if row.interval.basis is Basis.WITHIN_RUN:
        return "two runs of one program may differ by 30 % and more, and there are too few to know"
    if not is_larger:
        return "a difference larger than the tolerance is inside its interval"
    if min(row.runs, row.baseline_runs) == 1:
        by_what = "one bad run"
    else:
        by_what = "chance"
    if is_one_after_other:
        by_what += ", or a drift of the machine since the baseline,"
    return f"the difference is larger than the tolerance, but {by_what} may make as much"


def _needs_against(base: GateSamples, new: GateSamples, allowed: float) -> str:
    return runs_for_difference(base, new, allowed) or "a machine that varies less from run to run"


def _notes(
    runs: Sequence[GatedRun],
    rows: Sequence[GateRow],
    baseline: BaselineRuns | None,
) -> Iterator[str]:
    for row in rows:
        if 0 < row.runs < len(runs):
            name = plain(row.quantity.name, NAME_CHARACTERS)
            lacking = len(runs) - row.runs
            yield f"{name}: {lacking} of {len(runs)} runs lack it."
    unresolved = [row.quantity.name for row in rows if _is_watched_in_vain(row)]
    if unresolved:
        if len(unresolved) == 1:
            be = "is"
        else:
            be = "are"
        yield (
            f"{' and '.join(unresolved)} {be} only watched, and too restless to say: a change of a "
            f"few slow steps would not be seen. To gate: --tolerance '{unresolved[0]}=3%'."
        )
    is_checked = any(row.quantity.is_power for row in rows)
    if baseline is not None and not is_checked and any(_has_power(run) for run in runs):
        yield "Energy is not checked: the baseline has no power."


def _is_watched_in_vain(row: GateRow) -> bool:
    """Whether a quantity that only makes a check red could not be told."""
    is_unresolved = row.verdict is GateVerdict.CANNOT_SAY and row.interval is not None
    return row.is_watched and is_unresolved


def _has_power(run: GatedRun) -> bool:
    return quantities.WATTS in run.values
