"""What is around the shapes of a chart: its title, its scale, its axis and its legend, as words of
the page.

Words in a stretched picture would be stretched, so they are elements beside it that are placed by
shares of its width and height.
"""

from __future__ import annotations

from collections.abc import Iterable

from powertui.html.markup import Markup, element, optional, percent, text
from powertui.value_types import dataclass

_EDGE_SHARE = 0.02  # of an axis: about half of a word


@dataclass(frozen=True)
class AxisMark:
    """Words at a place of an axis, which is a share of its length."""

    share: float
    words: str


@dataclass(frozen=True)
class LegendEntry:
    """A color of the chart, and what it stands for."""

    class_: str  # of the style sheet
    words: str


def figure(
    title: str,
    body: Iterable[str | None],
    *,
    aside: str = "",
    notes: Iterable[str] = (),
) -> Markup:
    """A chart below its title, with notes below it; `aside` stands at the right of the title."""
    heading = element("h3", title, optional("small", aside))
    remarks = [element("p", note, class_="note") for note in notes]
    return element(
        "figure",
        element("figcaption", heading),
        *body,
        *remarks,
    )


def plot(
    picture: Markup,
    *,
    scale: Iterable[AxisMark],
    axis: Iterable[AxisMark] = (),
    above: Iterable[Markup] = (),
    low: bool = False,
) -> Markup:
    """The picture with its scale at the left and its axis below; `above` lies on the picture.

    `low`: as high as a line of text or two.
    """
    levels = [element("span", mark.words, style=f"bottom:{percent(mark.share)}") for mark in scale]
    return element(
        "div",
        element("div", *levels, class_="scale", aria_hidden="true"),
        element("div", picture, *above, class_="shapes low" if low else "shapes"),
        _axis_row(axis),
        class_="plot",
    )


def _axis_row(marks: Iterable[AxisMark]) -> Markup | None:
    """Words along a width. None without any."""
    words = []
    for mark in marks:
        place = f"left:{percent(mark.share)}"
        words.append(element("span", mark.words, class_=_edge(mark.share), style=place))
    if not words:
        return None
    return element("div", *words, class_="axis", aria_hidden="true")


def _edge(share: float) -> str | None:
    """At which end of an axis a place is: words there must not reach beyond it."""
    if share < _EDGE_SHARE:
        return "first"
    if share > 1 - _EDGE_SHARE:
        return "last"
    return None


def legend(entries: Iterable[LegendEntry]) -> Markup:
    """Colors and their words in a row."""
    rows = []
    for entry in entries:
        rows.append(element("li", element("i", class_=entry.class_), text(entry.words)))
    return element("ul", *rows, class_="legend")
