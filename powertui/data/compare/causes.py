"""Where a difference comes from: parts that add up to it, in seconds and in joules.

There are two accounts of one difference of the mean step. By category each second of a step has one
category, so they add up by themselves. By op they do not: ops run side by side, and there is time
in which none runs. The rest is a row of its own, so that this account closes, too.

Joules: time that a part takes longer is paid at A's power; what B's power is above A's while its
steps run is a row of its own. Together they are the difference of the joules of a step.
"""

from __future__ import annotations

from powertui.data.compare import op_figures, power_figures, step_figures
from powertui.data.compare.figure import LEAST_MEASURED, Family, FigureVerdict
from powertui.data.compare.matching import Matched
from powertui.value_types import dataclass

BY_CATEGORY = "category"
BY_OP = "op"
POWER = "Power while steps run"
OTHER_OPS = "Other ops"
OUTSIDE_OPS = "Overlap, and time without ops"
_MAX_OPS = 12  # that are named; the others are one row
# Of the largest part: smaller ones that differ by themselves stay in their place, as the sentence
# names none that explains so little.
_LEAST_SHARE_FIRST = 0.25
_ROUNDING_S = 1e-12  # below it an account is closed
# Categories of the step breakdown that are work of devices, and are explained by ops there.
_DEVICE_CATEGORIES = (
    "Device compute",
    "Device to device",
    "Device collective communication",
)

_Seconds = dict[str, float]  # by name


@dataclass(frozen=True)
class Cause:
    """A part of the difference of a step. All parts of one account add up to it."""

    account: str  # BY_CATEGORY or BY_OP
    name: str
    seconds: float
    share: float | None  # of the difference; None where there is none
    joules: float | None  # None without power on both sides
    differs: bool = False  # whether the part differs by itself, and is no small one
    name_b: str = ""  # what B calls an op that has another name there


def causes(matched: Matched) -> tuple[Cause, ...]:
    """Both accounts; first what differs by itself, then the largest part. () without steps."""
    step = matched.figure(step_figures.STEP)
    if step is None or step.difference is None:
        return ()
    categories = _by_category(matched, step.difference)
    ops = _by_op(matched, step.difference, _where_ops_explain(categories))
    return (
        *_account(matched, BY_CATEGORY, categories),
        *_account(matched, BY_OP, ops),
    )


def _by_category(matched: Matched, step_s: float) -> _Seconds:
    # Where the steps of a side are not divided, its categories are not 0 s but unknown.
    if not any(figure.family is Family.CATEGORY for figure in matched.figures):
        return {}
    parts = _differences(matched, Family.CATEGORY)
    rest_s = step_s - sum(parts.values())
    # Runs of a side that lack the breakdown leave a rest.
    if parts and abs(rest_s) > _ROUNDING_S:
        parts[step_figures.BETWEEN] = parts.get(step_figures.BETWEEN, 0.0) + rest_s
    return parts


def _where_ops_explain(categories: _Seconds) -> str:
    """On which side ops explain the category that differs most."""
    largest = max(categories, key=lambda name: abs(categories[name]), default="")
    if largest in _DEVICE_CATEGORIES:
        return op_figures.ON_DEVICE
    return op_figures.ON_HOST


def _by_op(matched: Matched, step_s: float, where: str) -> _Seconds:
    parts = _largest(_differences(matched, Family.OP, where))
    if parts:
        parts[OUTSIDE_OPS] = step_s - sum(parts.values())
    return parts


def _account(matched: Matched, account: str, parts: _Seconds) -> tuple[Cause, ...]:
    """The rows of one account, and at its end what the power alone makes of the joules."""
    if not parts:
        return ()
    rates = _Rates.of_sides(matched)
    names_b = {}
    if account == BY_OP:
        for row in matched.figures:
            if row.family is Family.OP:
                names_b[row.name] = row.name_b
    differing = _differing_names(matched, account)
    rows = []
    # What differs by itself comes first: a larger part may be one slow run.
    least_s = _LEAST_SHARE_FIRST * max(map(abs, parts.values()))
    first = set()
    for name in differing & set(parts):
        if abs(parts[name]) >= least_s:
            first.add(name)
    for name in sorted(parts, key=lambda name: (name not in first, -abs(parts[name]))):
        seconds = parts[name]
        if abs(seconds) <= _ROUNDING_S or (name == step_figures.BETWEEN and _is_nothing(seconds)):
            continue  # "Between steps 0 s"
        rows.append(
            Cause(
                account=account,
                name=name,
                seconds=seconds,
                share=rates.share(seconds),
                joules=rates.joules(seconds),
                differs=name in first,
                name_b=names_b.get(name, ""),
            )
        )
    if rates.more_power_j is not None:
        power = Cause(
            account=account,
            name=POWER,
            seconds=0.0,
            share=None,
            joules=rates.more_power_j,
        )
        rows.append(power)
    return tuple(rows)


def _is_nothing(seconds: float) -> bool:
    return abs(seconds) < LEAST_MEASURED["s"]


@dataclass(frozen=True)
class _Rates:
    """What a second of a part is worth."""

    step_s: float  # the difference of a step
    usual_watts: float | None  # of A
    more_power_j: float | None  # what B's power makes of a step's joules

    @classmethod
    def of_sides(cls, matched: Matched) -> _Rates:
        step = matched.figure(step_figures.STEP)
        watts = matched.figure(power_figures.WATTS)
        joules = matched.figure(power_figures.JOULES)
        step_s = 0.0
        if step is not None and step.difference is not None:
            step_s = step.difference
        if watts is None or watts.a is None or joules is None or joules.difference is None:
            return cls(step_s, None, None)
        return cls(step_s, watts.a, joules.difference - step_s * watts.a)

    def share(self, seconds: float) -> float | None:
        return seconds / self.step_s if self.step_s else None

    def joules(self, seconds: float) -> float | None:
        if self.usual_watts is None:
            return None
        return seconds * self.usual_watts


def _differing_names(matched: Matched, account: str) -> set[str]:
    if account == BY_CATEGORY:
        family = Family.CATEGORY
    else:
        family = Family.OP
    names = set()
    for figure in matched.figures:
        if figure.family is family and figure.verdict is FigureVerdict.DIFFERS:
            names.add(figure.name)
    names.update(row.name for row in matched.unmatched if row.family is family and row.differs)
    return names


def _differences(matched: Matched, family: Family, within: str = "") -> _Seconds:
    """B less A by name; what one side lacks counts as 0 there."""
    parts: _Seconds = {}
    for figure in matched.figures:
        is_meant = figure.family is family and figure.within == within
        if is_meant and figure.difference is not None:
            parts[figure.name] = figure.difference
    for row in matched.unmatched:
        if row.family is family and row.within == within:
            if row.side == "b":
                parts[row.name] = row.value
            else:
                parts[row.name] = -row.value
    return parts


def _largest(differences: _Seconds) -> _Seconds:
    """The largest of them by name, and the sum of the others."""
    names = sorted(differences, key=lambda name: -abs(differences[name]))
    parts = {name: differences[name] for name in names[:_MAX_OPS]}
    if len(names) > _MAX_OPS:
        parts[OTHER_OPS] = sum(differences[name] for name in names[_MAX_OPS:])
    return parts
