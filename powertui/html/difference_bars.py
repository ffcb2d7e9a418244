"""Pictures in the rows of a comparison: an interval as a dot with whiskers, a cause as its part
of a waterfall.

All rows of a table share one scale, and a line shows where nothing differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from powertui.data.compare.causes import Cause
from powertui.data.compare.figure import ComparedFigure
from powertui.html import svg_shapes
from powertui.html.markup import Markup, element
from powertui.value_types import dataclass

_WIDTH = 1000
_PAD_SHARE = 0.06  # of the scale, at either side
# Of A: what reaches farther is cut, so that one figure that doubled does not press all others flat.
_MAX_SHARE = 1.0


@dataclass(frozen=True)
class Scale:
    """From which to which value a picture reaches; 0 is always inside."""

    lo: float
    hi: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Scale:
        """A scale that holds these and 0."""
        known = [0.0, *values]
        lo = min(known)
        hi = max(known)
        pad = (hi - lo) * _PAD_SHARE or 1.0
        return cls(lo - pad, hi + pad)

    def x(self, value: float) -> int:
        """Where a value is."""
        share = (value - self.lo) / (self.hi - self.lo)
        return round(min(1.0, max(0.0, share)) * _WIDTH)


def interval_scale(figures: Iterable[ComparedFigure]) -> Scale:
    """The scale of the figures of one table, as shares of A."""
    ends = []
    for figure in figures:
        for value in (figure.difference, figure.judgement.lo, figure.judgement.hi):
            if value is not None and figure.a:
                ends.append(min(_MAX_SHARE, max(-_MAX_SHARE, value / abs(figure.a))))
    return Scale.around(ends)


def interval_bar(figure: ComparedFigure, scale: Scale) -> Markup | None:
    """The difference as a dot, its interval as a line. None where A is nothing or unknown."""
    if not figure.a or figure.difference is None:
        return None
    size_of_a = abs(figure.a)
    middle = svg_shapes.HEIGHT // 2
    shapes = [_zero(scale)]
    lo = figure.judgement.lo
    hi = figure.judgement.hi
    if lo is not None and hi is not None:
        left = scale.x(lo / size_of_a)
        right = scale.x(hi / size_of_a)
        shapes.append(svg_shapes.line(f"M{left} {middle}H{right}", "whisker"))
    share = figure.difference / size_of_a
    # A line of no length has round ends: a dot that stays round when the picture is stretched.
    shapes.append(svg_shapes.line(f"M{scale.x(share)} {middle}h0", "point"))
    kind = figure.verdict.value.replace(" ", "-")
    label = f"{100 * share:+.3g} %"
    return element(
        "div",
        svg_shapes.stretched(_WIDTH, shapes, label),
        class_=f"inline {kind}",
    )


def waterfall_scale(causes: Sequence[Cause]) -> Scale:
    """The scale of causes that are added up one after the other."""
    return Scale.around(_sums(causes))


def waterfall_bars(causes: Sequence[Cause], scale: Scale) -> list[Markup]:
    """A bar for each cause, which begins where the one before it ends; the last is all of them."""
    bars = []
    begin = 0.0
    for cause, end in zip(causes, _sums(causes), strict=True):
        bars.append(_part(begin, end, scale, cause.name))
        begin = end
    return [*bars, _part(0.0, begin, scale, "together")]


def _sums(causes: Iterable[Cause]) -> list[float]:
    total = 0.0
    sums = []
    for cause in causes:
        total += cause.seconds
        sums.append(total)
    return sums


def _part(
    begin: float,
    end: float,
    scale: Scale,
    label: str,
) -> Markup:
    kind = "more" if end >= begin else "less"
    start, stop = sorted((scale.x(begin), scale.x(end)))
    bar = svg_shapes.band(start, max(stop, start + 2), kind, 0.15, 0.85)
    picture = svg_shapes.stretched(_WIDTH, [bar, _zero(scale)], label)
    return element("div", picture, class_="inline")


def _zero(scale: Scale) -> Markup:
    """Where nothing differs."""
    return svg_shapes.line(f"M{scale.x(0.0)} 0V{svg_shapes.HEIGHT}", "zero")
