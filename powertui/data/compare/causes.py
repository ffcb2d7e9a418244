"""Where a difference comes from: parts that add up to it, in seconds and in joules.

There are two accounts of one difference of the mean step. By category each second of a step has one
category, so they add up by themselves. By op they do not: ops run side by side, and there is time
in which none runs. The rest is a row of its own, so that this account closes, too.

Joules: time that a part takes longer is paid at A's power; what B's power is above A's while its
steps run is a row of its own. Together they are the difference of the joules of a step.
"""

from __future__ import annotations

from powertui.data.compare import op_figures, power_figures, step_figures
from powertui.data.compare.figure import Family, Figure, Verdict
from powertui.data.compare.matching import Matched
from powertui.value_types import dataclass

BY_CATEGORY, BY_OP = "category", "op"
POWER = "Power while steps run"
OTHER_OPS = "Other ops"
OUTSIDE_OPS = "Side by side, or outside ops"
_MAX_OPS = 12  # that are named; the others are one row
_ROUNDING_S = 1e-12  # below it an account is closed


# Categories of the step breakdown that are work of devices, and are explained by ops there.
_DEVICE_CATEGORIES = ("Device compute", "Device to device", "Device collective communication")


@dataclass(frozen=True)
class Cause:
    """A part of the difference of a step. All parts of one account add up to it."""

    account: str  # BY_CATEGORY or BY_OP
    name: str
    seconds: float
    share: float | None  # of the difference; None where there is none
    joules: float | None  # None without power on both sides
    differs: bool = False  # whether the part differs by itself


def causes(matched: Matched) -> tuple[Cause, ...]:
    """Both accounts, the largest part first; () without steps."""
    step = matched.figure(step_figures.STEP)
    if step is None or step.difference is None:
        return ()
    categories = _differences(matched, Family.CATEGORY)
    rest = step.difference - sum(categories.values())
    if categories and abs(rest) > _ROUNDING_S:
        categories[step_figures.BETWEEN] = categories.get(step_figures.BETWEEN, 0.0) + rest
    largest = max(categories, key=lambda name: abs(categories[name]), default="")
    where = op_figures.ON_DEVICE if largest in _DEVICE_CATEGORIES else op_figures.ON_HOST
    ops = _largest(_differences(matched, Family.OP, where))
    if ops:
        ops[OUTSIDE_OPS] = step.difference - sum(ops.values())
    return (
        *_account(matched, step, BY_CATEGORY, categories),
        *_account(matched, step, BY_OP, ops),
    )


def _account(
    matched: Matched, step: Figure, account: str, parts: dict[str, float]
) -> tuple[Cause, ...]:
    if not parts:
        return ()
    step_s = step.difference or 0.0
    watts = matched.figure(power_figures.WATTS)
    joules = matched.figure(power_figures.JOULES)
    usual_watts = watts.a if watts is not None else None
    family = Family.CATEGORY if account == BY_CATEGORY else Family.OP
    differing = {
        figure.name
        for figure in matched.figures
        if figure.family is family and figure.verdict is Verdict.DIFFERS
    }
    rows = [
        Cause(
            account,
            name,
            seconds,
            share=seconds / step_s if step_s else None,
            joules=None if usual_watts is None else seconds * usual_watts,
            differs=name in differing,
        )
        for name, seconds in parts.items()
    ]
    rows.sort(key=lambda cause: -abs(cause.seconds))
    if usual_watts is not None and joules is not None and joules.difference is not None:
        more_power_j = joules.difference - step_s * usual_watts
        rows.append(Cause(account, POWER, 0.0, 0.0 if step_s else None, more_power_j))
    return tuple(rows)


def _differences(matched: Matched, family: Family, within: str = "") -> dict[str, float]:
    """B less A by name; what one side lacks counts as 0 there."""
    out = {
        figure.name: figure.difference
        for figure in matched.figures
        if (figure.family, figure.within) == (family, within) and figure.difference is not None
    }
    for row in matched.unmatched:
        if (row.family, row.within) == (family, within):
            out[row.name] = row.value if row.side == "b" else -row.value
    return out


def _largest(differences: dict[str, float]) -> dict[str, float]:
    """The largest of them by name, and the sum of the others."""
    names = sorted(differences, key=lambda name: -abs(differences[name]))
    out = {name: differences[name] for name in names[:_MAX_OPS]}
    if len(names) > _MAX_OPS:
        out[OTHER_OPS] = sum(differences[name] for name in names[_MAX_OPS:])
    return out
