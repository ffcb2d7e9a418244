"""A screen as SVG: a line of text a row, and rectangles for grounds and blocks.

It holds no script, asks for no font, and takes nothing from anywhere else. Block characters are
drawn as rectangles: fonts leave gaps between their rows, and an area would be striped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from html import escape
from itertools import groupby

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI

from powertui.value_types import dataclass

_CELL_PX = 8.4  # of 14 px monospace
_ROW_PX = 17
_BASELINE_PX = 13
_NBSP = "\N{NO-BREAK SPACE}"  # several spaces are one in SVG

# What XML 1.0 cannot hold, and what changes the direction of a text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

# Block characters: left, top, width, height as shares of a cell, and how opaque.
_LOWER = {char: (0, 1 - (n + 1) / 8, 1, (n + 1) / 8, 1) for n, char in enumerate("▁▂▃▄▅▆▇█")}
_LEFT = {char: (0, 0, (n + 1) / 8, 1, 1) for n, char in enumerate("▏▎▍▌▋▊▉")}
_BLOCKS: dict[str, tuple[float, float, float, float, float]] = {
    **_LOWER,
    **_LEFT,
    "▀": (0, 0, 1, 0.5, 1),
    "▔": (0, 0, 1, 0.125, 1),
    "▐": (0.5, 0, 0.5, 1, 1),
    "▕": (0.875, 0, 0.125, 1, 1),
    "░": (0, 0, 1, 1, 0.25),
    "▒": (0, 0, 1, 1, 0.5),
    "▓": (0, 0, 1, 1, 0.75),
}
_BLOCK_PIECES = re.compile(f"([{''.join(_BLOCKS)}]+)")


@dataclass
class _Drawing:
    """What was drawn so far."""

    ink: str
    paper: str
    rects: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # rule of the style sheet → its class

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
    ) -> None:
        self.rects.append(
            f'<rect x="{_px(x)}" y="{_px(y)}" width="{_px(width)}" height="{_px(height)}" {fill}/>'
        )

    def row(self, y: int, segments: Iterable[Segment]) -> None:
        """One row of the screen."""
        x = 0
        spans: list[str] = []
        for text, style in _runs(segments):
            fore, back, rules = _looks(style, self.ink, self.paper)
            if back != self.paper:
                self.rect(
                    x=x * _CELL_PX,
                    y=y * _ROW_PX,
                    width=cell_len(text) * _CELL_PX,
                    height=_ROW_PX,
                    fill=f'fill="{back}"',
                )
            for piece in _BLOCK_PIECES.split(text):
                if piece and piece[0] in _BLOCKS:
                    self._blocks(x, y, piece, fore)
                elif piece.strip():
                    spans.append(self._span(x, piece, f"fill:{fore}{rules}"))
                x += cell_len(piece)
        if spans:
            baseline = y * _ROW_PX + _BASELINE_PX
            self.texts.append(f'<text y="{baseline}">{"".join(spans)}</text>')

    def _blocks(self, x: int, y: int, chars: str, fore: str) -> None:
        for char, same in groupby(chars):
            count = len(list(same))
            left, top, width, height, opacity = _BLOCKS[char]
            fill = f'fill="{fore}"'
            if opacity < 1:
                fill += f' fill-opacity="{opacity}"'
            # Blocks that fill their cells from side to side are one rectangle; others stand apart.
            starts = [x + number for number in range(count)]
            if width == 1:
                starts = [x]
                width = count
            for start in starts:
                self.rect(
                    x=(start + left) * _CELL_PX,
                    y=(y + top) * _ROW_PX,
                    width=width * _CELL_PX,
                    height=height * _ROW_PX,
                    fill=fill,
                )
            x += count

    def _span(self, x: int, piece: str, rule: str) -> str:
        words = piece.strip()
        blanks = len(piece) - len(piece.lstrip())
        next_class = f"c{len(self.classes)}"
        name = self.classes.setdefault(rule, next_class)
        first_cell = x + blanks
        start = _px(first_cell * _CELL_PX)
        length = _px(cell_len(words) * _CELL_PX)
        text = escape(words).replace(" ", _NBSP)
        return f'<tspan class="{name}" x="{start}" textLength="{length}">{text}</tspan>'


class SvgPage:
    """What pictures of one size and of one page's colors share: frame, style sheet, classes."""

    def __init__(self, columns: int, rows: int, ink: str, paper: str) -> None:
        self._size = columns * _CELL_PX, rows * _ROW_PX
        self._ink = ink
        self._paper = paper
        self._classes: dict[str, str] = {}  # rule of the style sheet → its class

    def drawn(self, rows: Sequence[Iterable[Segment]]) -> str:
        """These rows as elements, in the page's colors where they have none of their own."""
        drawing = _Drawing(ink=self._ink, paper=self._paper, classes=self._classes)
        for y, segments in enumerate(rows):
            drawing.row(y, segments)
        rects = "\n".join(drawing.rects)
        texts = "\n".join(drawing.texts)
        return f'<g shape-rendering="crispEdges">\n{rects}\n</g>\n{texts}\n'

    def whole(self, elements: str, more_rules: str = "") -> str:
        """The file around what was drawn."""
        width, height = self._size
        rules = "".join(f".{name}{{{rule}}}" for rule, name in self._classes.items())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}">'
            f"<style>text{{font:14px monospace;white-space:pre}}{rules}{more_rules}</style>"
            f'<rect width="100%" height="100%" fill="{self._paper}"/>\n{elements}</svg>\n'
        )


def svg_picture(rows: Sequence[Iterable[Segment]], columns: int, ink: str, paper: str) -> str:
    """These rows, in the colors of a page for what has none of its own."""
    page = SvgPage(columns, len(rows), ink, paper)
    return page.whole(page.drawn(rows))


def _px(value: float) -> str:
    """A length in as few characters as tell its hundredths."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def _runs(segments: Iterable[Segment]) -> Iterator[tuple[str, Style]]:
    """Neighbors of one style as one piece, without what no text can hold."""
    visible = ((text, style or Style()) for text, style, control in segments if not control)
    for style, same in groupby(visible, key=lambda piece: piece[1]):
        text = "".join(text for text, _ in same)
        yield _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text), style


def _looks(style: Style, ink: str, paper: str) -> tuple[str, str, str]:
    """Foreground, background, and what else a rule of the style sheet needs."""
    fore = _color(style.color, ink)
    back = _color(style.bgcolor, paper)
    if style.reverse:
        fore, back = back, fore
    rules = ""
    if style.bold:
        rules += ";font-weight:bold"
    if style.dim:
        rules += ";opacity:.6"
    if style.underline:
        rules += ";text-decoration:underline"
    return fore, back, rules


def _color(color: Color | None, instead: str) -> str:
    if color is None or color.is_default:
        return instead
    return color.get_truecolor(DIMMED_MONOKAI).hex
