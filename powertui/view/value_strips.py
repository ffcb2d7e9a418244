"""Values over time that can be drawn above the timeline: scalars, counters, the step rate."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import PS_PER_NS, Int64s
from powertui.value_types import dataclass
from powertui.view.curve import Envelope
from powertui.view.step_curve import StepCurve, curve_of_means, curve_of_points

if TYPE_CHECKING:  # names alone: importing all this would be time until the first picture
    from powertui.data.model import Counter
    from powertui.data.training import training_parts
    from powertui.data.training.training_on_axis import TrainingOnAxis

STEP_RATE = "steps a second"

# A curve is made once for each series, however many models show it.
_curves: weakref.WeakKeyDictionary[object, StepCurve] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Strip:
    """Values over time that can be drawn above the timeline: a scalar, a counter, the step rate.

    Its moments are ns on the training's axis, so that it serves every profile in it; callers ask in
    ps on the profile's axis.
    """

    name: str
    make: Callable[[], StepCurve]  # by moments in ns: made when it is first drawn
    zero_ns: int
    unit: str = ""

    @property
    def curve(self) -> StepCurve:
        return self.make()

    def value(self, ps: int) -> float:
        """The value at a moment; NaN where it is not known."""
        return self.curve.value(ps // PS_PER_NS + self.zero_ns)

    def envelope(self, edges: Int64s) -> Envelope:
        """The lowest and the highest value in each [edge, next edge)."""
        return self.curve.envelope(edges // PS_PER_NS + self.zero_ns)


def counter_strips(counters: Sequence[Counter]) -> tuple[Strip, ...]:
    """The counters that a trace recorded beside its events, as strips on the trace's own axis."""
    several_processes = len({counter.process for counter in counters}) > 1
    strips = []
    for counter in counters:
        if not len(counter):
            continue
        name = counter.name
        if several_processes and counter.process:
            name = f"{counter.process} {counter.name}"
        make = functools.partial(_counter_curve, counter)
        strips.append(Strip(name, make, zero_ns=0, unit=counter.unit))
    return tuple(strips)


def training_strips(on_axis: TrainingOnAxis) -> tuple[Strip, ...]:
    """The step rate and the scalars that have values."""
    strips = []
    if len(on_axis.rate) > 1:
        make = functools.partial(_rate_curve, on_axis.rate)
        strips.append(Strip(name=STEP_RATE, make=make, zero_ns=on_axis.zero_ns, unit="/s"))
    for scalar in sorted(on_axis.strips, key=_importance):
        if len(scalar.at_ns):
            label = scalar.label.replace("validation/", "val/")
            strips.append(Strip(label, functools.partial(_scalar_curve, scalar), on_axis.zero_ns))
    return tuple(strips)


def _importance(scalar: training_parts.ScalarStrip) -> tuple[bool, bool, bool, bool, str]:
    """The order of scalars: losses of training first, those of every few steps before epochs'.

    A scalar of a single record comes last: its strip is a flat line.
    """
    tag = scalar.tag.casefold()
    return (
        len(scalar.at_ns) < 2,
        "loss" not in tag,
        scalar.group not in ("", "train", "training"),
        scalar.unit != "steps",
        tag,
    )


def _scalar_curve(scalar: training_parts.ScalarStrip) -> StepCurve:
    curve = _curves.get(scalar)
    if curve is None:
        # A value logged at the end of an epoch describes that epoch; one of a step holds from
        # there on.
        build = curve_of_means if scalar.unit == "epochs" else curve_of_points
        curve = _curves[scalar] = build(scalar.at_ns, scalar.values)
    return curve


def _counter_curve(counter: Counter) -> StepCurve:
    curve = _curves.get(counter)
    if curve is None:
        curve = _curves[counter] = curve_of_points(counter.times // PS_PER_NS, counter.values)
    return curve


def _rate_curve(rate: training_parts.Rate) -> StepCurve:
    curve = _curves.get(rate)
    if curve is None:
        # float32 is enough for a picture, at half the memory
        curve = _curves[rate] = StepCurve(rate.at_ns, rate.per_s.astype(np.float32))
    return curve
